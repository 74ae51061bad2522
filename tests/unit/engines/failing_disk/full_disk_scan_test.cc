// Tests scans while the change buffer has rows that no commit can move to their leaves, because the
// disk is full, or the store is out of service.
#include <cerrno>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "device/error.h"
#include "engines/btree/store/store.h"
#include "engines/btree/tree/cursor.h"
#include "tests/unit/engines/btree/store_test.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed::btree {
namespace {

class FullDiskScanTest : public StoreTest {
 protected:
  static constexpr int kRows = 6000;  // more pages than the pool has; each other key has a row
  static std::string Key(uint64_t i) { return "row" + std::to_string(100000 + i); }

  void SetUp() override {
    StoreTest::SetUp();
    options_.cache_bytes = 200 << 10;
    options_.change_buffer_bytes = 150 << 10;
    Open();
    tree_ = store_->OpenTable("t");
    for (uint64_t i = 0; i < kRows; i += 100) {
      std::map<std::string, std::string> rows;
      for (uint64_t j = i; j < i + 100; ++j) rows[Key(2 * j)] = std::string(100, 'a');
      Commit(rows);
    }
    store_->Checkpoint();
    LetRowsWait();
  }
  // Commits the rows, and applies them to the model. A row without a value is erased.
  void Commit(const std::map<std::string, std::string>& rows) {
    StoreClient client(store_.get());
    std::vector<RowWrite> operations;
    for (const auto& [key, value] : rows) {
      operations.push_back({value.empty(), tree_->table(), key, value});
      if (value.empty()) {
        model_.erase(key);
      } else {
        model_[key] = value;
      }
    }
    client.Commit(operations);
  }
  // Overwrites, adds and erases rows all over the table, at both its ends too, erases all rows of
  // some leaves, and adds more to one than a commit moves at once.
  void LetRowsWait() {
    for (int i = 0; i < 60; ++i) {
      std::map<std::string, std::string> rows;
      for (uint64_t j = 0; j < 4; ++j) {
        rows[Key(random_() % (2 * kRows))] = random_() % 3 == 0 ? "" : std::string(50, 'n');
      }
      Commit(rows);
    }
    std::map<std::string, std::string> rows{{"", "first"}, {"z", "last"}, {Key(0), ""}};
    for (uint64_t i = 600; i < 800; ++i) rows[Key(i)] = "";
    for (int i = 0; i < 250; ++i) rows[Key(1500) + "/" + std::to_string(i)] = std::string(220, 'm');
    Commit(rows);
    waiting_ = store_->change_buffer()->rows();
    ASSERT_GT(waiting_, 500u);
  }
  void ExpectScans() {
    ExpectRows(tree_, model_);
    StoreClient client(store_.get());
    TreeCursor cursor(tree_, client.context(), options_.page_size);
    for (int i = 0; i < 300; ++i) {
      const std::string key = Key(random_() % (2 * kRows + 10));
      const bool beyond = i % 2 == 0;
      const auto after = beyond ? model_.upper_bound(key) : model_.lower_bound(key);
      ASSERT_EQ(cursor.SeekForward(key, beyond), after != model_.end()) << key;
      if (after != model_.end()) {
        ASSERT_EQ(cursor.key(), after->first);
        ASSERT_EQ(cursor.value(), after->second);
      }
      const auto before = beyond ? model_.lower_bound(key) : model_.upper_bound(key);
      ASSERT_EQ(cursor.SeekBackward(key, beyond), before != model_.begin()) << key;
      if (before != model_.begin()) {
        ASSERT_EQ(cursor.key(), std::prev(before)->first);
        ASSERT_EQ(cursor.value(), std::prev(before)->second);
      }
    }
  }

  Tree* tree_ = nullptr;
  Model model_;
  uint64_t waiting_ = 0;  // rows in the change buffer
};

TEST_F(FullDiskScanTest, AFullDiskRefusesNone) {
  FailingDisk disk(dir_);
  disk.Fail({DiskCall::kAllocate, 0, ENOSPC, true});
  uint64_t promised = 0;
  EXPECT_THROW(for (;; ++promised) store_->space()->Promise(1), Error);  // nothing is free any more
  ExpectScans();
  EXPECT_EQ(store_->change_buffer()->rows(), waiting_);
  EXPECT_THROW(Put("new", "1"), Error);
  ExpectScans();
  disk.Heal();
  store_->space()->Unpromise(promised);
  Commit({{"new", "1"}});
  ExpectScans();
  EXPECT_EQ(store_->change_buffer()->rows(), 0u);
  ExpectSound();
}

TEST_F(FullDiskScanTest, AStoreOutOfServiceRefusesNone) {
  FailingDisk disk(dir_);
  disk.Fail({DiskCall::kSync, 0, EIO, true, "btree.data"});
  EXPECT_THROW(store_->Checkpoint(), Error);
  EXPECT_THROW(Put("new", "1"), Error);
  ExpectScans();
  EXPECT_EQ(store_->change_buffer()->rows(), waiting_);
  disk.Heal();
  Open();
  tree_ = store_->OpenTable("t");
  ExpectScans();
  ExpectSound();
}

}  // namespace
}  // namespace testbed::btree

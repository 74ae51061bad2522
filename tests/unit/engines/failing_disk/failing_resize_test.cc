// Tests failures of calls that change the length or the holes of a data file. It is not known
// whether such a call has done anything, so the engine must take no more commits, and must not try
// again.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device/error.h"
#include "engines/btree/store/store.h"
#include "engines/mmapv1/files/preallocator.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class FailingResizeTest : public testing::Test {
 protected:
  FailingResizeTest() {
    std::string pattern = fs::current_path() / "failing_resize_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    options_.durability = Durability::kSync;
    options_.page_size = 8192;
    options_.cache_bytes = 4 << 20;
    options_.checkpoint_log_bytes = 256 << 20;
  }
  ~FailingResizeTest() override {
    client_.reset();
    store_.reset();
    fs::remove_all(dir_);
  }
  void Open() {
    client_.reset();
    store_.reset();
    store_ = btree::Store::Open(dir_ + "/db", options_);
    tree_ = store_->OpenTable("t");
    client_ = std::make_unique<btree::StoreClient>(store_.get());
  }
  // Commits rows with these numbers and of this length in one transaction.
  void Commit(int first, int rows, size_t length, bool compressible = true) {
    std::vector<std::string> keys, values;
    for (int i = first; i < first + rows; ++i) {
      keys.push_back("key" + std::to_string(i));
      values.emplace_back(length, 'v');
      if (compressible) continue;
      for (char& c : values.back()) c = static_cast<char>(random_());
    }
    std::vector<RowWrite> writes;
    for (size_t i = 0; i < keys.size(); ++i) {
      writes.push_back({false, tree_->table(), keys[i], values[i]});
    }
    client_->Commit(writes);
  }
  bool Has(int number) {
    std::string value;
    return client_->Get(tree_, "key" + std::to_string(number), &value);
  }
  static void ExpectRefused(const std::function<void()>& action) {
    try {
      action();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::kIo) << error.what();
      EXPECT_NE(std::string(error.what()).find("open it again to recover"), std::string::npos)
          << error.what();
    }
  }

  std::string dir_;
  std::mt19937_64 random_{3};
  btree::StoreOptions options_;
  std::unique_ptr<btree::Store> store_;
  std::unique_ptr<btree::StoreClient> client_;
  btree::Tree* tree_ = nullptr;
};

// A large transaction reserves more pages than it takes, and gives them back.
TEST_F(FailingResizeTest, AfterAFailedTruncationBtreeTakesNoCommits) {
  FailingDisk disk(dir_);
  Open();
  // The space that the commit was promised, and has not used, is given back by the next checkpoint.
  disk.Fail({DiskCall::kTruncate, 0, EIO});
  Commit(0, 20000, 20);
  ASSERT_EQ(disk.failed(), 0u);
  store_->Checkpoint();
  ASSERT_EQ(disk.failed(), 1u);
  ExpectRefused([&] { Commit(20000, 1, 20); });
  EXPECT_TRUE(Has(19999));
  disk.Heal();
  Open();
  EXPECT_TRUE(Has(19999));
  Commit(20000, 1, 20);
}

TEST_F(FailingResizeTest, AfterAFailedAllocationBtreeTakesNoCommits) {
  FailingDisk disk(dir_);
  Open();
  disk.Fail({DiskCall::kAllocate, 0, EIO});
  EXPECT_THROW(Commit(0, 20000, 20), Error);
  ASSERT_EQ(disk.failed(), 1u);
  ExpectRefused([&] { Commit(20000, 1, 20); });
  disk.Heal();
  Open();
  EXPECT_FALSE(Has(0));
  Commit(20000, 1, 20);
}

TEST_F(FailingResizeTest, AfterAFailedHoleBtreeTakesNoCommits) {
  options_.compression = btree::PageCodec::kLz4;
  FailingDisk disk(dir_);
  Open();
  Commit(0, 200, 1000, false);
  store_->Checkpoint();
  Commit(0, 200, 1000, true);
  disk.Fail({DiskCall::kAllocate, 0, EIO});
  EXPECT_THROW(store_->Checkpoint(), Error);
  ASSERT_EQ(disk.failed(), 1u);
  ExpectRefused([&] { Commit(500, 1, 20); });
  disk.Heal();
  Open();
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(Has(i)) << i;
  Commit(500, 1, 20);
}

// When the removal of the file fails as well, the file stays, and its name may not be durable.
TEST_F(FailingResizeTest, AFileOfMmapv1WhoseCreationFailedIsNotTakenLater) {
  FailingDisk disk(dir_);
  mmapv1::Preallocator preallocator(false);
  disk.Fail({DiskCall::kSyncDirectory, 0, EIO});
  EXPECT_THROW(preallocator.Take(dir_ + "/a.0", 1 << 16), Error);
  ASSERT_EQ(disk.failed(), 1u);
  EXPECT_THROW(preallocator.Take(dir_ + "/a.0", 1 << 16), Error);
  // A full disk may have room later.
  mmapv1::Preallocator other(false);
  disk.Fail({DiskCall::kAllocate, 0, ENOSPC});
  EXPECT_THROW(other.Take(dir_ + "/a.1", 1 << 16), Error);
  ASSERT_EQ(disk.failed(), 1u);
  other.Take(dir_ + "/a.1", 1 << 16);
  EXPECT_EQ(fs::file_size(dir_ + "/a.1"), 1u << 16);
  EXPECT_FALSE(fs::exists(dir_ + "/a.1.new"));
}

TEST_F(FailingResizeTest, AFileOfMmapv1ThatCannotBeNamedLeavesNothing) {
  FailingDisk disk(dir_);
  mmapv1::Preallocator preallocator(false);
  disk.Fail({DiskCall::kRename, 0, EIO});
  EXPECT_THROW(preallocator.Take(dir_ + "/a.0", 1 << 16), Error);
  ASSERT_EQ(disk.failed(), 1u);
  EXPECT_TRUE(fs::is_empty(dir_));
}

}  // namespace
}  // namespace testbed

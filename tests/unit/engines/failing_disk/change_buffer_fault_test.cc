// Tests a failed sync after a row has left the change buffer. The device may still have the row
// there, and reads before the power cut do not show it.
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "device/error.h"
#include "engines/btree/store/store.h"
#include "tests/unit/engines/btree/store_test.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed::btree {
namespace {

class ChangeBufferFaultTest : public StoreTest {
 protected:
  static constexpr int kRows = 3000;  // they need more pages than the pool has
  static std::string Key(int i) { return "row" + std::to_string(10000 + i); }

  void SetUp() override {
    StoreTest::SetUp();
    options_.torn_page = TornPage::kNone;
    options_.io = options_.log.mode = IoMode::kDirect;
    options_.durability = Durability::kSync;
    options_.cache_bytes = 40 * options_.page_size;
    options_.change_buffer_bytes = 20 << 10;
    options_.log.segment_bytes = 128 << 10;
  }
  // Writes every 300th row.
  void Write(const std::string& value) {
    for (int i = 0; i < kRows; i += 300) Put(Key(i), value);
  }
  void Load() {
    StoreClient client(store_.get());
    const uint32_t table = store_->OpenTable("t")->table();
    const std::string value(100, 'v');
    for (int i = 0; i < kRows; i += 50) {
      std::vector<std::string> keys;
      for (int j = i; j < i + 50; ++j) keys.push_back(Key(j));
      std::vector<RowWrite> rows;
      for (const std::string& key : keys) rows.push_back({false, table, key, value});
      client.Commit(rows);
    }
  }
};

TEST_F(ChangeBufferFaultTest, ARowThatLeftTheBufferStaysAwayFromIt) {
  Open();
  Load();
  Write("old");
  const uint64_t waiting = store_->change_buffer()->rows();
  EXPECT_GT(waiting, 5u);
  store_.reset();
  FailingDisk disk(dir_, true);
  Open();
  for (int i = 0; i < kRows; i += 300) {
    Get(Key(i));  // brings the leaf into the pool, so that the row moves there
    Put(Key(i), "new");
  }
  EXPECT_LT(store_->change_buffer()->rows(), waiting);
  disk.Fail({DiskCall::kSync, 0, EIO, true, "btree.data"});
  EXPECT_THROW(store_->Checkpoint(), Error);
  store_.reset();
  disk.Heal();
  Open();
  store_.reset();
  disk.Cut(5);
  const std::string cut = dir_ + ".cut";
  disk.CopyTo(cut);
  store_ = Store::Open(cut, options_);
  {
    StoreClient client(store_.get());
    for (int i = 0; i < kRows; i += 300) {
      std::string value;
      EXPECT_TRUE(client.Get(store_->OpenTable("t"), Key(i), &value));
      EXPECT_EQ(value, "new") << i;
    }
  }
  ExpectSound();
  store_.reset();
  std::filesystem::remove_all(cut);
}

}  // namespace
}  // namespace testbed::btree

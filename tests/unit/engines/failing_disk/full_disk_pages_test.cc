// Tests a disk that is full for the pages of the data file, which ask for space when they are
// written, while the log has space.
#include <cerrno>
#include <string>
#include <vector>

#include "engines/btree/store/store.h"
#include "tests/unit/engines/btree/store_test.h"
#include "tests/unit/engines/failing_disk/expect_refused.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed::btree {
namespace {

class FullDiskPagesTest : public StoreTest {
 protected:
  static constexpr int kRows = 2000;  // they need far more pages than the pool has

  void SetUp() override {
    StoreTest::SetUp();
    options_.page_size = 8192;
    options_.cache_bytes = 400 << 10;
    options_.compression = PageCodec::kLz4;
  }
  // Changes all rows by one commit.
  void ChangeAll(char content) {
    std::vector<std::string> keys;
    for (int i = 0; i < kRows; ++i) keys.push_back("row" + std::to_string(10000 + i));
    const std::string value(500, content);
    std::vector<RowWrite> rows;
    for (const std::string& key : keys) {
      rows.push_back({false, store_->OpenTable("t")->table(), key, value});
      model_[key] = value;
    }
    StoreClient(store_.get()).Commit(rows);
  }

  Model model_;
};

TEST_F(FullDiskPagesTest, ACommitThatTheLogHasFindsFramesAndCommitsGoOnWithSpace) {
  Open();
  ChangeAll('a');
  store_->Checkpoint();
  FailingDisk disk(dir_);
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE(round);
    disk.Fail({DiskCall::kWrite, 0, ENOSPC, true, "btree.data"});
    ASSERT_NO_THROW(ChangeAll(static_cast<char>('b' + round)));
    EXPECT_GT(store_->pool()->MemoryBytes(), store_->pool()->bytes());
    ExpectRefused([&] { Put("new", "1"); });
    ExpectRows(store_->OpenTable("t"), model_);
    disk.Heal();
    ASSERT_NO_THROW(Put("new", "1"));
    model_["new"] = "1";
    ExpectRows(store_->OpenTable("t"), model_);
    store_->ResizeCache(options_.cache_bytes);  // gives the additional frames back
    EXPECT_LE(store_->pool()->MemoryBytes(), store_->pool()->bytes());
  }
  Open();
  ExpectRows(store_->OpenTable("t"), model_);
  ExpectSound();
}

}  // namespace
}  // namespace testbed::btree

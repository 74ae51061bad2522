// Tests the log's reserve in fractal: a database that was killed on a full disk must open any
// number of times, because commits must not use a reserve that an opening could not give back.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "engines/fractal/store.h"
#include "tests/crashed_child.h"
#include "tests/unit/engines/failing_disk/expect_refused.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed::fractal {
namespace {

namespace fs = std::filesystem;

class FractalFullDiskTest : public testing::Test {
 protected:
  FractalFullDiskTest() {
    std::string pattern = fs::current_path() / "fractal_full_disk_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    options_.page_size = 4096;
    options_.durability = Durability::kSync;
    options_.cleaner_period_ms = 0;
    options_.checkpoint_period_ms = 1 << 30;
    options_.log.segment_bytes = options_.log.buffer_bytes = 64 << 10;
    options_.log.reserve = true;
  }
  ~FractalFullDiskTest() override {
    store_.reset();
    fs::remove_all(dir_);
  }

  void Open() {
    store_.reset();
    store_ = Store::Open(dir_, options_);
  }
  // Runs `body` in a process that opens the database, and then kills the process.
  void Kill(const std::function<void()>& body) {
    RunInCrashedChild([&] {
      Open();
      body();
    });
  }
  uint64_t Used() const {
    uint64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(dir_)) {
      if (entry.is_regular_file()) bytes += entry.file_size();
    }
    return bytes;
  }
  void Put(const std::string& key, const std::string& value) {
    StoreClient client(store_.get());
    const RowWrite row{false, store_->OpenTable("t")->table(), key, value};
    client.Commit({&row, 1});
  }
  std::string Get(const std::string& key) {
    StoreClient client(store_.get());
    std::string value = "(absent)";
    client.Get(store_->OpenTable("t"), key, &value);
    return value;
  }

  std::string dir_;
  StoreOptions options_;
  std::unique_ptr<Store> store_;
};

TEST_F(FractalFullDiskTest, NoCommitUsesTheReserve) {
  Kill([&] {
    for (int i = 0; i < 100; ++i) Put(std::to_string(i), std::string(300, 'x'));
  });
  FailingDisk disk(dir_);
  disk.Limit(Used());
  for (int opening = 0; opening < 3; ++opening) {
    Open();
    EXPECT_EQ(store_->recovery().transactions, 100u);
    EXPECT_EQ(store_->checkpoints(), 0u);
    for (int i = 0; i < 2; ++i) ExpectRefused([&] { Put("new", "1"); });
    ExpectRefused([&] { store_->OpenTable("u"); });
    EXPECT_EQ(Get("99"), std::string(300, 'x'));
    EXPECT_EQ(store_->log()->Counters().records, 0u);
  }
  disk.Limit(UINT64_MAX);
  Put("new", "1");
  EXPECT_EQ(store_->checkpoints(), 1u);
  EXPECT_EQ(Get("new"), "1");
}

// The frame that the opening writes takes the reserve. A checkpoint must then let the log recycle a
// segment.
TEST_F(FractalFullDiskTest, AnOpeningAtTheEndOfALogSegmentGivesTheReserveBack) {
  const auto left = [this] {
    const LogOptions& log = options_.log;
    return (log.segment_bytes - store_->log()->EndLsn() % log.segment_bytes) % log.segment_bytes;
  };
  Open();
  for (int i = 0; left() >= options_.log.write_size; ++i) Put("a", std::to_string(i));
  store_.reset();
  FailingDisk disk(dir_);
  disk.Limit(Used());
  Open();
  EXPECT_EQ(store_->recovery().transactions, 0u);
  EXPECT_EQ(store_->checkpoints(), 1u);
  EXPECT_FALSE(store_->log()->LacksReserve());
  Put("a", "b");
  EXPECT_EQ(Get("a"), "b");
}

// With a single segment, as when the reserve was removed, the log can recycle nothing.
TEST_F(FractalFullDiskTest, CommitsGoOnWhenThereIsSpaceForTheReserve) {
  options_.log.reserve = false;
  options_.log.min_segments = 1;
  Open();
  Put("a", "1");
  store_.reset();
  options_.log.reserve = true;
  FailingDisk disk(dir_);
  disk.Limit(Used());
  Open();
  EXPECT_TRUE(store_->log()->LacksReserve());
  for (int i = 0; i < 2; ++i) ExpectRefused([&] { Put("a", "2"); });
  EXPECT_EQ(Get("a"), "1");
  disk.Limit(UINT64_MAX);
  Put("a", "2");
  EXPECT_EQ(Get("a"), "2");
}

// The first checkpoint writes the other slot of the header than the creation of the database.
TEST_F(FractalFullDiskTest, BothSlotsOfTheHeaderHaveTheirSpaceFromTheBeginning) {
  Kill([] {});
  const int fd = ::open(DataPath(dir_).c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(::lseek(fd, 0, SEEK_DATA), 0);
  ::close(fd);
}

}  // namespace
}  // namespace testbed::fractal

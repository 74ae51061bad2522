// Tests that a cursor does not go on from an unknown place after a read that failed.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "device/error.h"
#include "device/file/file_faults.h"
#include "engines/registry.h"

namespace testbed {
namespace {

class FailedScanTest : public testing::TestWithParam<const char*> {
 protected:
  FailedScanTest() {
    std::string pattern = std::filesystem::current_path() / "failed_scan_test_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    EngineOptions options = DefaultEngineOptions(FindEngine(GetParam()));
    options.durability = Durability::kNone;
    options.cache_bytes = 1 << 20;
    engine_ = OpenEngine(GetParam(), dir_, options);
    table_ = engine_->OpenTable("t");
    session_ = engine_->NewSession();
  }
  ~FailedScanTest() override {
    FileFaults::Clear();
    session_.reset();
    engine_.reset();
    std::filesystem::remove_all(dir_);
  }

  std::string dir_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  TableId table_ = 0;
};

// The rows are several times as long as the cache. A later call may find that all can be read.
TEST_P(FailedScanTest, LeavesTheCursorOnNoRow) {
  constexpr uint64_t kRows = 20000;
  for (uint64_t row = 0; row < kRows;) {
    session_->Begin();
    for (const uint64_t end = row + 500; row < end; ++row) {
      session_->Put(table_, std::to_string(kRows + row), std::string(300, 'v'));
    }
    session_->Commit();
  }
  engine_->Settle();
  const std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
  ASSERT_TRUE(cursor->First());
  ASSERT_TRUE(cursor->Next());
  FileFaults::Set(0, UINT64_MAX, EIO);
  EXPECT_THROW(
      {
        while (cursor->Next()) {
        }
      },
      Error);
  FileFaults::Clear();
  EXPECT_FALSE(cursor->Next());
  EXPECT_FALSE(cursor->Prev());
  uint64_t rows = 0;
  for (bool on = cursor->First(); on; on = cursor->Next()) ++rows;
  EXPECT_EQ(rows, kRows);
}

INSTANTIATE_TEST_SUITE_P(Engines, FailedScanTest, testing::Values("btree", "fractal"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace testbed

// Tests which runs are refused for want of space.
#include "tools/run/run_checks.h"

#include <gtest/gtest.h>

#include <memory>

#include "device/error.h"

namespace testbed {
namespace {

// The file system of /proc has no space at all.
TEST(CheckSpaceTest, OnlyADatabaseThatTakesItsBytesNeedsThem) {
  const auto dataset = std::make_shared<const Dataset>(DatasetOptions());
  RunOptions options = ParseRunOptions({"--engine", "btree", "--workload", "insert"});
  EXPECT_THROW(CheckSpace(options, dataset, "/proc"), Error);
  options.engine.compression = "lz4";
  EXPECT_NO_THROW(CheckSpace(options, dataset, "/proc"));
  options = ParseRunOptions({"--engine", "null", "--workload", "insert"});
  EXPECT_NO_THROW(CheckSpace(options, dataset, "/proc"));
  options = ParseRunOptions({"--engine", "btree", "--workload", "replay-load:a.trace"});
  EXPECT_NO_THROW(CheckSpace(options, dataset, "/proc"));
}

}  // namespace
}  // namespace testbed

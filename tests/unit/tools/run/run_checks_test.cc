// Tests which runs are refused for want of space, and which have a note on short values.
#include "tools/run/run_checks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "device/error.h"
#include "device/machine/scratch.h"
#include "tools/trace/trace_options.h"
#include "workloads/trace/trace_format.h"

namespace testbed {
namespace {

TEST(CheckSpaceTest, OnlyADatabaseThatTakesItsBytesNeedsThem) {
  const auto dataset = std::make_shared<const Dataset>(DatasetOptions());
  RunOptions options = ParseRunOptions({"--engine", "btree", "--workload", "insert"});
  EXPECT_EQ(LeastSpace(options, dataset), dataset->key_bytes() + dataset->value_bytes());
  options.engine.compression = "lz4";
  EXPECT_EQ(LeastSpace(options, dataset), 0u);
  options = ParseRunOptions({"--engine", "null", "--workload", "insert"});
  EXPECT_EQ(LeastSpace(options, dataset), 0u);
  options = ParseRunOptions({"--engine", "btree", "--workload", "replay-load:a.trace"});
  EXPECT_EQ(LeastSpace(options, dataset), 0u);
}

#ifdef TESTBED_HAVE_MYSQL
TEST(CheckSpaceTest, AServerThatRunsAlreadyNeedsNoSpaceHere) {
  const auto dataset = std::make_shared<const Dataset>(DatasetOptions());
  RunOptions options = ParseRunOptions({"--engine", "mysql", "--workload", "insert"});
  EXPECT_GT(LeastSpace(options, dataset), 0u);
  options.engine.extra = {{"connect", "mysql://me@h/"}};
  EXPECT_EQ(LeastSpace(options, dataset), 0u);
}
#endif

TEST(ScratchSizeTest, AFileSystemGetsTheLeastSizeThatItNeeds) {
  const uint64_t least = ScratchDevice::MinimumBytes(FileSystem::kXfs);
  RunOptions options = ParseRunOptions({"--engine", "btree", "--scratch", "100M,xfs"});
  EXPECT_EQ(options.scratch_fs, FileSystem::kXfs);
  options.scratch_bytes = least;
  EXPECT_EQ(options.ToJson().at("scratch_fs"), "xfs");
  EXPECT_NO_THROW(options.Resolve());
  options = ParseRunOptions({"--engine", "btree", "--scratch", "100M,xfs"});
  options.scratch_bytes = least - 1;
  try {
    options.Resolve();
    ADD_FAILURE() << "it was accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.what(), std::string("--scratch with xfs takes 300M and more"));
  }
}

TEST(SameValuesNoteTest, ARunThatUpdatesValuesWithoutVersionsHasIt) {
  const auto note = [](const std::string& workload, size_t value_size) {
    DatasetOptions data;
    data.rows = 100;
    data.value_size = value_size;
    const RunOptions options = ParseRunOptions({"--engine", "btree", "--workload", workload});
    return SameValuesNote(options, std::make_shared<const Dataset>(data));
  };
  for (const char* updates : {"insert,ycsb-a", "ycsb-f", "overwrite", "readwhilewriting"}) {
    for (const size_t size : {0u, 1u}) {
      EXPECT_EQ(note(updates, size)
                    .find("--value-size " + std::to_string(size) +
                          ": a value of 0 or 1 byte is the same in all versions"),
                0u)
          << updates << ": " << note(updates, size);
    }
    EXPECT_EQ(note(updates, 2), "") << updates;
  }
  EXPECT_EQ(note("insert,ycsb-c,settle", 1), "");
}

TEST(SameValuesNoteTest, OfSeveralSizesTheSmallestCounts) {
  const RunOptions options = ParseRunOptions({"--engine", "btree", "--workload", "ycsb-a"});
  DatasetOptions data;
  data.rows = 100;
  data.value_sizes = ValueSizes::kUniform;
  data.most_value = 1000;
  for (const size_t least : {1u, 2u}) {
    data.least_value = least;
    const std::string note = SameValuesNote(options, std::make_shared<const Dataset>(data));
    EXPECT_EQ(note.find("--value-size 1-1000: "), least == 1 ? 0u : std::string::npos) << note;
  }
}

// The file system of /proc has no space at all.
TEST(CheckSpaceTest, ARefusalTellsWhatIsNeeded) {
  EXPECT_NO_THROW(CheckSpace(0, "/proc"));
  const auto refusal = [](size_t databases) -> std::string {
    try {
      CheckSpace(3 << 20, "/proc", databases);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal(1),
            "the file system of /proc has 0 free, and the database needs 3M at least; free space, "
            "or give fewer --rows or another --dir");
  EXPECT_EQ(refusal(2),
            "the file system of /proc has 0 free, and the databases of all sides need 3M at least; "
            "free space, or give fewer --rows or begin in another directory");
  EXPECT_NO_THROW(CheckSpace(3 << 20, "/proc", 1, 3 << 20)) << "the old database has the space";
  EXPECT_THROW(CheckSpace(3 << 20, "/proc", 1, 2 << 20), Error);
}

// A key that no row has ends with one byte more than the key of a row.
TEST(CheckRecordedRowsTest, TheLongestKeyOfATraceIsRecorded) {
  const auto load = [](size_t bytes) {
    DatasetOptions data;
    data.order = KeyOrder::kFile;
    data.keys_file = testing::TempDir() + "recorded_rows_" + std::to_string(::getpid()) + "_" +
                     std::to_string(bytes);
    std::ofstream(data.keys_file) << "pear\n" << std::string(bytes, 'x') << "\n";
    auto dataset = std::make_unique<const Dataset>(data);
    std::filesystem::remove(data.keys_file);
    return dataset;
  };
  // A process reads a file of keys once, so each text has a file of its own.
  const auto shorter = load(kMostTraceKey - 1), longest = load(kMostTraceKey),
             longer = load(kMostTraceKey + 1);
  const auto accepts = [](const Dataset& dataset, double hit_ratio) {
    RunOptions options = ParseRunOptions({"--engine", "null", "--workload", "insert,point-read"});
    options.record_file = "a.trace";
    options.workload.hit_ratio = hit_ratio;
    try {
      CheckRecordedRows(options, dataset);
      return true;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      return false;
    }
  };
  EXPECT_TRUE(accepts(*longest, 1));
  EXPECT_FALSE(accepts(*longer, 1));
  EXPECT_TRUE(accepts(*shorter, 0.5));
  EXPECT_FALSE(accepts(*longest, 0.5));
}

}  // namespace
}  // namespace testbed

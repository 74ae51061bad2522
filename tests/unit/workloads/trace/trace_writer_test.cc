// Tests what a trace's writer makes of a disk that refuses writes.
#include "workloads/trace/trace_writer.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <random>
#include <string>

#include "device/error.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class TraceWriterTest : public testing::Test {
 protected:
  TraceWriterTest() {
    std::string pattern = fs::current_path() / "trace_writer_test_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  ~TraceWriterTest() override { fs::remove_all(dir_); }
  // Writes 16 MiB that cannot be compressed, and the rest of a trace.
  static void Fill(TraceWriter* writer) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 16; ++i) {
      TraceWriter::Block block;
      block.bytes.resize(1 << 20);
      for (char& c : block.bytes) c = static_cast<char>(random());
      writer->Add(std::move(block));
    }
    writer->Finish(TraceFacts());
  }

  std::string dir_;
};

// The writer has the system write the file back as it grows. The kernel tells a descriptor of an error
// once, so that the sync at the end tells nothing.
TEST_F(TraceWriterTest, AWriteBackThatFailedIsAnError) {
  FailingDisk disk(dir_);
  TraceWriter writer(dir_ + "/a.trace");
  disk.FailWriteBack(".new");
  EXPECT_THROW(Fill(&writer), Error);
  EXPECT_FALSE(fs::exists(dir_ + "/a.trace"));
}

TEST_F(TraceWriterTest, ASyncThatFailsLeavesNothing) {
  FailingDisk disk(dir_);
  TraceWriter writer(dir_ + "/a.trace");
  disk.Fail({DiskCall::kSync, 0, EIO});
  EXPECT_THROW(Fill(&writer), Error);
  EXPECT_TRUE(fs::is_empty(dir_));
}

TEST_F(TraceWriterTest, TwoWritersDoNotShareAFile) {
  TraceWriter writer(dir_ + "/a.trace");
  EXPECT_THROW(CheckTracePlace(dir_ + "/a.trace"), Error);
  EXPECT_THROW(TraceWriter(dir_ + "/a.trace"), Error);
  Fill(&writer);
  EXPECT_TRUE(fs::exists(dir_ + "/a.trace"));
  CheckTracePlace(dir_ + "/a.trace");
}

TEST_F(TraceWriterTest, APipeOrADeviceIsRefusedAndStays) {
  const std::string pipe = dir_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(CheckTracePlace(pipe), Error);
  EXPECT_THROW(TraceWriter{pipe}, Error);
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_FALSE(fs::exists(pipe + ".new"));
}

}  // namespace
}  // namespace testbed

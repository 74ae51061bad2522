// Tests a trace's writer on a disk that refuses writes, and the files that it may replace.
#include "workloads/trace/trace_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include "device/error.h"
#include "device/file/file_faults.h"
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

// The writer starts the write-back of the file as it grows. The kernel reports an error only once
// to a descriptor, so the sync at the end would not report it again.
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

// A file without a head would be refused when the user has made room and records again.
TEST_F(TraceWriterTest, ADiskThatIsFullAtTheBeginLeavesNothing) {
  FileFaults::Set(1, UINT64_MAX, ENOSPC);  // call 0 creates the file
  EXPECT_THROW(TraceWriter(dir_ + "/a.trace"), Error);
  FileFaults::Clear();
  EXPECT_TRUE(fs::is_empty(dir_));
  TraceWriter(dir_ + "/a.trace").Finish(TraceFacts());
  EXPECT_TRUE(fs::exists(dir_ + "/a.trace"));
}

TEST_F(TraceWriterTest, TwoWritersDoNotShareAFile) {
  TraceWriter writer(dir_ + "/a.trace");
  EXPECT_THROW(TraceWriter(dir_ + "/a.trace"), Error);
  const auto refusal = [this] {
    try {
      CheckTracePlace(dir_ + "/a.trace");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  const std::string unfinished = dir_ + "/a.trace.new";
  EXPECT_EQ(refusal(), "the trace " + dir_ + "/a.trace cannot be written: another run is writing " +
                           unfinished + "; wait for its end");
  Fill(&writer);
  std::ofstream(unfinished) << "theirs";
  EXPECT_EQ(refusal(), "the trace " + dir_ + "/a.trace cannot be written: " + unfinished +
                           " is no unfinished trace; remove it or give another name");
  fs::remove(unfinished);
  EXPECT_TRUE(fs::exists(dir_ + "/a.trace"));
  CheckTracePlace(dir_ + "/a.trace");
}

// Another run that looks at the name locks the file for a moment, which must not leave the writer
// without its lock: a third run would take the file for one that a killed process left.
TEST_F(TraceWriterTest, AWriterHasItsLockWhoeverLooks) {
  const std::string path = dir_ + "/a.trace";
  for (int i = 0; i < 100; ++i) {
    std::atomic<bool> looks{false}, made{false};
    std::thread other([&] {
      while (!made.load()) {
        try {
          CheckTracePlace(path);
        } catch (const Error&) {
          // The writer is there.
        }
        looks.store(true);
      }
    });
    while (!looks.load()) {
    }
    const TraceWriter writer(path);
    made.store(true);
    other.join();
    const int fd = ::open((path + ".new").c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0) << i;
    EXPECT_NE(::flock(fd, LOCK_EX | LOCK_NB), 0) << i;
    ::close(fd);
  }
}

TEST_F(TraceWriterTest, APipeOrADeviceIsRefusedAndStays) {
  const std::string pipe = dir_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(CheckTracePlace(pipe), Error);
  EXPECT_THROW(TraceWriter{pipe}, Error);
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_FALSE(fs::exists(pipe + ".new"));
}

// An open file, such as standard output, has a name in /proc that cannot be replaced.
TEST_F(TraceWriterTest, AnOpenFileIsRefusedAndStays) {
  const std::string path = dir_ + "/open";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::write(fd, "theirs", 6), 6);
  const std::string name = "/dev/fd/" + std::to_string(fd);
  EXPECT_THROW(CheckTracePlace(name), Error);
  EXPECT_THROW(TraceWriter{name}, Error);
  ::close(fd);
  EXPECT_EQ(fs::file_size(path), 6u);
}

TEST_F(TraceWriterTest, ALinkIsFollowedAndTheFileThatItNamesGivesItsMode) {
  const std::string old = dir_ + "/d/old.trace", link = dir_ + "/link";
  fs::create_directory(dir_ + "/d");
  std::ofstream(old) << "old";
  ASSERT_EQ(::chmod(old.c_str(), 0640), 0);
  fs::create_symlink("d/old.trace", link);
  struct stat about {};
  {
    TraceWriter writer(link);
    EXPECT_EQ(UnfinishedTrace(link), fs::canonical(old).string() + ".new");
    ASSERT_EQ(::stat(UnfinishedTrace(link).c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600u) << "not for those who may not read the old file";
    EXPECT_EQ(fs::file_size(old), 3u);
    writer.Finish(TraceFacts());
  }
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_GT(fs::file_size(old), 3u);
  ASSERT_EQ(::stat(old.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0640u);
  // A link to nothing is followed, too.
  fs::create_symlink("d/new.trace", dir_ + "/first");
  TraceWriter(dir_ + "/first").Finish(TraceFacts());
  EXPECT_TRUE(fs::is_symlink(dir_ + "/first"));
  EXPECT_TRUE(fs::is_regular_file(dir_ + "/d/new.trace"));
}

TEST_F(TraceWriterTest, RootLeavesATraceToItsOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  constexpr uid_t kSomebody = 65534;
  const std::string path = dir_ + "/a.trace";
  std::ofstream(path) << "old";
  ASSERT_EQ(::chown(path.c_str(), kSomebody, kSomebody), 0);
  TraceWriter(path).Finish(TraceFacts());
  struct stat about {};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_uid, kSomebody);
  EXPECT_EQ(about.st_gid, kSomebody);
  EXPECT_GT(about.st_size, 3);
}

// In a directory such as /tmp, anybody can make a link under a name that is easy to guess before
// testbed writes there.
TEST_F(TraceWriterTest, ALinkOfSomebodyElseWhereEverybodyWritesIsNotFollowed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  const std::string open = dir_ + "/open", link = open + "/a.trace";
  fs::create_directory(open);
  ASSERT_EQ(::chmod(open.c_str(), 01777), 0);
  fs::create_symlink("../target", link);
  ASSERT_EQ(::lchown(link.c_str(), 65534, 65534), 0);
  EXPECT_THROW(CheckTracePlace(link), Error);
  EXPECT_THROW(TraceWriter{link}, Error);
  EXPECT_FALSE(fs::exists(dir_ + "/target"));
}

}  // namespace
}  // namespace testbed

// Tests a log whose device fails: every acknowledged record is durable, and after the first error
// no record is acknowledged.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>
#include <thread>

#include "tests/unit/device/log/log_test_util.h"

namespace testbed {
namespace {

using testing::HasSubstr;

LogOptions SmallOptions() {
  LogOptions options;
  options.segment_bytes = 64 << 10;
  options.buffer_bytes = 64 << 10;
  return options;
}

// Replaces the log's open files by another device, behind the log's back, until the object goes out
// of scope. /dev/full refuses writes; /dev/null accepts writes and refuses to sync.
class BrokenDevice {
 public:
  BrokenDevice(const std::string& directory, const char* device) {
    const int broken = ::open(device, O_RDWR | O_CLOEXEC);
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const std::string target = std::filesystem::read_symlink(entry.path(), gone);
      if (target.find(directory + "/log-") != 0) continue;
      const int fd = std::stoi(entry.path().filename());
      saved_.emplace_back(fd, ::fcntl(fd, F_DUPFD_CLOEXEC, 0));
      ::dup2(broken, fd);
    }
    ::close(broken);
  }
  ~BrokenDevice() {
    for (auto [fd, saved] : saved_) {
      ::dup2(saved, fd);
      ::close(saved);
    }
  }
  bool any() const { return !saved_.empty(); }

 private:
  std::vector<std::pair<int, int>> saved_;
};

std::string ErrorOf(const std::function<void()>& call, int code) {
  try {
    call();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kIo);
    EXPECT_EQ(e.code(), code);
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

class LogFaultTest : public LogTestDirectory {};

TEST_F(LogFaultTest, AFailedWriteKillsTheLog) {
  auto log = OpenLog(directory_, SmallOptions());
  const LogRange good = log->Append("good");
  log->WaitDurable(good.end);
  LogRange bad;
  {
    BrokenDevice broken(directory_, "/dev/full");
    ASSERT_TRUE(broken.any());
    bad = log->Append("bad");
    EXPECT_THAT(ErrorOf([&] { log->WaitDurable(bad.end); }, ENOSPC), HasSubstr("full"));
  }
  // The device works again, but the log must not: it cannot know which writes were lost.
  EXPECT_THAT(ErrorOf([&] { log->WaitDurable(bad.end); }, ENOSPC), HasSubstr("takes no more"));
  EXPECT_THAT(ErrorOf([&] { log->Write(bad.end); }, ENOSPC), HasSubstr("takes no more"));
  EXPECT_THAT(ErrorOf([&] { log->Append("more"); }, ENOSPC), HasSubstr("takes no more"));
  EXPECT_THAT(ErrorOf([&] { log->Sync(); }, ENOSPC), HasSubstr("takes no more"));
  EXPECT_THAT(ErrorOf([&] { log->TruncateBefore(good.end); }, ENOSPC), HasSubstr("takes no more"));
  log->WaitDurable(good.end);  // was durable before the error
  EXPECT_LT(log->DurableLsn(), bad.end);
  log.reset();
  std::vector<std::string> replayed;
  log = OpenLog(directory_, SmallOptions(), &replayed);
  EXPECT_THAT(replayed, testing::ElementsAre("good"));
  log->WaitDurable(log->Append("again").end);
  log.reset();
  EXPECT_THAT(ReadLog(directory_).records, testing::ElementsAre("good", "again"));
}

TEST_F(LogFaultTest, AFailedSyncIsNeverRetried) {
  auto log = OpenLog(directory_, SmallOptions());
  LogRange bad;
  const uint64_t syncs = log->Counters().syncs;
  {
    BrokenDevice broken(directory_, "/dev/null");
    ASSERT_TRUE(broken.any());
    bad = log->Append("bad");
    ErrorOf([&] { log->WaitDurable(bad.end); }, EINVAL);
  }
  ErrorOf([&] { log->WaitDurable(bad.end); }, EINVAL);
  ErrorOf([&] { log->Flush(); }, EINVAL);
  EXPECT_LT(log->DurableLsn(), bad.end);
  EXPECT_EQ(log->Counters().syncs, syncs);
}

TEST_F(LogFaultTest, EveryWaitingThreadIsTold) {
  for (const char* device : {"/dev/full", "/dev/null"}) {
    auto log = OpenLog(Fresh("log"), SmallOptions());
    BrokenDevice broken(directory_ + "/log", device);
    ASSERT_TRUE(broken.any());
    std::atomic<int> told{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&, t] {
        try {
          // The records exceed the buffer, so some threads wait for room and others for durability.
          for (int i = 0; i < 50; ++i) {
            const LogRange range = log->Append(NumberedRecord(t, 5000));
            if (t % 2) log->WaitDurable(range.end);
          }
          log->Flush();
          ADD_FAILURE() << "acknowledged";
        } catch (const Error& e) {
          ++told;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(told, 8);
  }
}

TEST_F(LogFaultTest, TheLogsOwnThreadLeavesItsErrorToTheCallers) {
  LogOptions options = SmallOptions();
  options.flush_interval_ms = 1;
  auto log = OpenLog(directory_, options);
  BrokenDevice broken(directory_, "/dev/full");
  ASSERT_TRUE(broken.any());
  const Lsn lost = log->Append("lost").end;
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  try {
    while (std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      log->Append("more");
    }
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ENOSPC);
    EXPECT_LT(log->DurableLsn(), lost);
  }
}

// Limits the memory of the process to its current size and `bytes` more, until the object goes out
// of scope.
class MemoryLimit {
 public:
  explicit MemoryLimit(uint64_t bytes) {
    ::malloc_trim(0);
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    ::getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    limit.rlim_cur = pages * static_cast<uint64_t>(::getpagesize()) + bytes;
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ~MemoryLimit() { ::setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_;
};

class LogMemoryTest : public LogTestInMemory {};

// The record that finds no memory would open the next segment.
TEST_F(LogMemoryTest, ARecordThatFindsNoMemoryLeavesTheLogAsItWas) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer ends the process when memory is refused";
#endif
  LogOptions options = SmallOptions();
  options.segment_bytes = 96 << 20;
  options.space = LogSpace::kGrowing;
  auto log = OpenLog(directory_, options);
  const auto fill = [](size_t n) { return [n](char* to) { std::memset(to, 'x', n); }; };
  // The second record is longer than a heap of a thread, which has 64 MiB.
  constexpr size_t kFirst = 8 << 20, kSecond = 90 << 20;
  log->WaitDurable(log->Append(kFirst, fill(kFirst)).end);
  {
    MemoryLimit limit(16 << 20);
    EXPECT_THROW(log->Append(kSecond, fill(kSecond)), std::bad_alloc);
  }
  for (int i = 0; i < 8; ++i) log->WaitDurable(log->Append(NumberedRecord(i, 3000)).end);
  log.reset();
  const ReadBack back = ReadLog(directory_);
  EXPECT_FALSE(back.damage) << *back.damage;
  ASSERT_EQ(back.records.size(), 9u);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(back.records[i + 1], NumberedRecord(i, 3000));
}

// The log gives the memory of a long record back, and asks for that of a usual group in its place.
TEST_F(LogMemoryTest, ALongRecordIsWrittenWhereThereIsNoMemoryForAnother) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer ends the process when memory is refused";
#endif
  LogOptions options = SmallOptions();
  options.segment_bytes = 96 << 20;
  options.space = LogSpace::kGrowing;
  options.buffer_bytes = 160 << 20;
  auto log = OpenLog(directory_, options);
  constexpr size_t kLong = 50 << 20;  // a group has 40 MiB
  const Lsn end = log->Append(kLong, [](char* to) { std::memset(to, 'x', kLong); }).end;
  {
    MemoryLimit limit(16 << 20);
    EXPECT_NO_THROW(log->WaitDurable(end));
  }
  log->WaitDurable(log->Append("later").end);
  log.reset();
  const ReadBack back = ReadLog(directory_);
  EXPECT_FALSE(back.damage) << *back.damage;
  ASSERT_EQ(back.records.size(), 2u);
  EXPECT_EQ(back.records[0].size(), kLong);
  EXPECT_EQ(back.records[1], "later");
}

class LogFullDeviceTest : public LogTestDirectory {
 protected:
  void SetUp() override {
    LogTestDirectory::SetUp();
    if (geteuid() != 0) GTEST_SKIP() << "a small file system can only be mounted by root";
    mount_ = Fresh("mount");
    if (::mount("tmpfs", mount_.c_str(), "tmpfs", 0, "size=1m") != 0) {
      mount_.clear();
      GTEST_SKIP() << "no permission to mount a small file system here";
    }
  }
  void TearDown() override {
    if (!mount_.empty()) ::umount2(mount_.c_str(), MNT_DETACH);
    LogTestDirectory::TearDown();
  }
  std::string mount_;
};

TEST_F(LogFullDeviceTest, NoRoomForTheFirstSegmentsIsAnErrorThatLeavesNothing) {
  for (LogSpace space : {LogSpace::kRecycled, LogSpace::kFallocated, LogSpace::kKeepSize}) {
    LogOptions options;
    options.space = space;
    EXPECT_THAT(ErrorOf([&] { OpenLog(mount_, options); }, ENOSPC), HasSubstr("full"));
    EXPECT_TRUE(std::filesystem::is_empty(mount_));
  }
}

TEST_F(LogFullDeviceTest, NoRoomForAnotherSegmentComesBeforeAnAcknowledgement) {
  for (LogSpace space :
       {LogSpace::kRecycled, LogSpace::kFallocated, LogSpace::kGrowing, LogSpace::kKeepSize}) {
    SCOPED_TRACE(LogSpaceName(space));
    LogOptions options = SmallOptions();
    options.space = space;
    const std::string directory = mount_ + "/log";
    std::filesystem::create_directory(directory);
    std::vector<std::string> acknowledged, replayed;
    {
      auto log = OpenLog(directory, options);
      ErrorOf(
          [&] {
            for (;;) {
              const std::string record = NumberedRecord(acknowledged.size(), 3000);
              log->WaitDurable(log->Append(record).end);
              acknowledged.push_back(record);
              ASSERT_LT(acknowledged.size(), 1000u);
            }
          },
          ENOSPC);
    }
    EXPECT_GT(acknowledged.size(), 100u);
    const ReadBack back = ReadLog(directory);
    EXPECT_FALSE(back.damage) << *back.damage;
    ASSERT_GE(back.records.size(), acknowledged.size());
    EXPECT_TRUE(std::equal(acknowledged.begin(), acknowledged.end(), back.records.begin()));
    std::filesystem::remove_all(directory);
  }
}

// Recovery must find the reserve for what it appends, although the log has filled the disk.
TEST_F(LogFullDeviceTest, ARecoveryFindsTheReserve) {
  LogOptions options = SmallOptions();
  options.reserve = true;
  const std::string directory = mount_ + "/log";
  std::filesystem::create_directory(directory);
  const auto fill = [&](Log* log) {
    uint64_t n = 0;
    ErrorOf(
        [&] {
          for (;; ++n) log->WaitDurable(log->Append(NumberedRecord(n, 3000)).end);
        },
        ENOSPC);
    return n;
  };
  const uint64_t first = fill(OpenLog(directory, options).get());
  EXPECT_GT(first, 100u);
  const uint64_t of_a_segment = options.segment_bytes / 4096;  // records, at least
  for (int crash = 0; crash < 3; ++crash) {
    uint64_t replayed = 0;
    const auto log = Log::Open(directory, options, 0, [&](const LogRecord&) { ++replayed; });
    EXPECT_GE(replayed, first);
    EXPECT_TRUE(log->LacksReserve());
    log->Append(NumberedRecord(crash, 3000));
    log->Flush();
  }
  const auto log = Log::Open(directory, options, 0, [](const LogRecord&) {});
  EXPECT_GE(fill(log.get()), of_a_segment - 10);
}

// A log that was closed in order at the end of a segment replays nothing, and its opening needs a
// segment for its own frame. From then on the disk must have room for another reserve, or the log
// for recycling.
TEST_F(LogFullDeviceTest, AnOpeningAtTheEndOfASegmentFindsTheReserve) {
  LogOptions options = SmallOptions();
  options.reserve = true;
  const std::string directory = mount_ + "/log";
  std::filesystem::create_directory(directory);
  Lsn end = 0;
  {
    const auto log = OpenLog(directory, options);
    const uint64_t frames = (options.segment_bytes - kSegmentHeaderBytes) / options.write_size;
    for (uint64_t n = 1; n < frames; ++n)
      log->WaitDurable(log->Append(NumberedRecord(n, 3000)).end);
    end = log->EndLsn();
    EXPECT_LT(options.segment_bytes - end, options.write_size);
  }
  const auto fill = [this] {
    std::ofstream file(mount_ + "/file", std::ios::app);
    while (file << std::string(512, 'x') << std::flush) {
    }
  };
  fill();
  for (int opening = 0; opening < 3; ++opening) {
    const auto log = OpenLog(directory, options, nullptr, end);
    EXPECT_TRUE(log->LacksReserve());
    ErrorOf([&] { log->Append("a"); }, ENOSPC);
  }
  const auto log = OpenLog(directory, options, nullptr, end);
  log->TruncateBefore(log->EndLsn());
  EXPECT_FALSE(log->LacksReserve());
  log->WaitDurable(log->Append("a").end);
  // The segment that was recycled is the reserve.
  ErrorOf(
      [&] {
        for (;;) log->WaitDurable(log->Append(NumberedRecord(1, 3000)).end);
      },
      ENOSPC);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory), {}), 2);
}

// Old segments of another size are removed, and none becomes the reserve.
TEST_F(LogFullDeviceTest, ARecoveryUnderAnotherSegmentSizeMakesAReserve) {
  LogOptions options = SmallOptions();
  options.reserve = true;
  {
    const auto log = OpenLog(mount_, options);
    for (uint64_t n = 0; n < 20; ++n) log->WaitDurable(log->Append(NumberedRecord(n, 3000)).end);
  }
  options.segment_bytes *= 2;
  std::vector<std::string> records;
  const auto log = OpenLog(mount_, options, &records);
  EXPECT_EQ(records.size(), 20u);
  EXPECT_TRUE(log->LacksReserve());
  log->TruncateBefore(log->EndLsn());
  EXPECT_FALSE(log->LacksReserve());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(mount_), {}), 2);
}

TEST_F(LogFullDeviceTest, ReadOnlyIsAnError) {
  { OpenLog(mount_, SmallOptions()); }
  ASSERT_EQ(::mount("tmpfs", mount_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=1m"), 0);
  ErrorOf([&] { OpenLog(mount_, SmallOptions()); }, EROFS);
  EXPECT_FALSE(ReadLog(mount_).damage);
}

}  // namespace
}  // namespace testbed

// Tests the copy of a log that is in use (device/log/log_copy.h).
#include "device/log/log_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "device/log/log.h"
#include "tests/unit/device/log/log_test_util.h"

namespace testbed {
namespace {

struct CopiedLog {
  IoMode mode;
  bool pad;
  LogSpace space;
};

class LogCopyTest : public LogTestDirectory, public testing::WithParamInterface<CopiedLog> {
 protected:
  void SetUp() override {
    LogTestDirectory::SetUp();
    source_ = Fresh("source");
    to_ = Fresh("copy");
    options_ = SmallLogOptions();
    options_.mode = GetParam().mode;
    options_.pad = GetParam().pad;
    options_.space = GetParam().space;
  }
  // Returns the log; null where the file system has no direct IO.
  std::unique_ptr<Log> Open() {
    try {
      return OpenLog(source_, options_);
    } catch (const Error& e) {
      if (e.kind() != Error::kUsage) throw;
      return nullptr;
    }
  }
  // Expects that the copy is a log with these records, and goes on as one.
  void ExpectRecords(const std::vector<std::string>& records, Lsn from) {
    const ReadBack back = ReadLog(to_, from);
    EXPECT_FALSE(back.damage) << *back.damage;
    EXPECT_EQ(back.records, records);
    std::vector<std::string> replayed;
    auto log = OpenLog(to_, options_, &replayed, from);
    EXPECT_EQ(replayed, records);
    log->WaitDurable(log->Append("one more").end);
    log.reset();
    EXPECT_EQ(ReadLog(to_, from).records.size(), records.size() + 1);
  }

  std::string source_, to_;
  LogOptions options_;
};

// The copy goes through several segments, and the log drops those that were copied.
TEST_P(LogCopyTest, HasAllRecordsUpToItsEndAndNoLaterOnes) {
  auto log = Open();
  if (!log) GTEST_SKIP() << "no direct IO here";
  std::vector<std::string> expected;
  uint64_t number = 0;
  const auto append = [&](int records, bool copied) {
    for (int i = 0; i < records; ++i, ++number) {
      const std::string record = NumberedRecord(number, number % 50 == 0 ? 20000 : 700);
      log->Append(record);
      if (copied) expected.push_back(record);
    }
  };
  append(150, false);
  log->Write(log->EndLsn());
  const Lsn from = log->EndLsn();
  LogCopy copy(log.get(), from, to_);
  const Lsn first = log->BeginLsn();
  for (int round = 0; round < 8; ++round) {
    append(60, true);
    if (round % 3 != 2) log->Write(log->EndLsn());
    if (round == 4) log->Sync();
    copy.Advance(UINT64_MAX);
    EXPECT_GE(copy.end(), from);
    log->TruncateBefore(copy.end() - 1);
  }
  const Lsn least = log->EndLsn();
  copy.Finish(least);
  EXPECT_GE(copy.end(), least);
  EXPECT_GT(log->BeginLsn(), first) << "nothing was truncated, so the test says little";
  append(100, false);
  log->Flush();
  ExpectRecords(expected, from);
  log.reset();
  EXPECT_FALSE(ReadLog(source_).damage);
}

// A database that nobody changes during its backup has no record behind the checkpoint.
TEST_P(LogCopyTest, WithoutARecordIsALogThatGoesOnAtItsBegin) {
  auto log = Open();
  if (!log) GTEST_SKIP() << "no direct IO here";
  log->Append("before");
  const Lsn from = log->EndLsn();
  LogCopy copy(log.get(), from, to_);
  copy.Advance(UINT64_MAX);
  copy.Finish(0);
  EXPECT_GE(copy.end(), from);
  log.reset();
  ExpectRecords({}, from);
}

// Each call ends wherever its bound is, in the middle of a record too.
TEST_P(LogCopyTest, TakesNoMoreAtOnceThanItIsTold) {
  auto log = Open();
  if (!log) GTEST_SKIP() << "no direct IO here";
  std::vector<std::string> expected = {"first"};
  const Lsn from = log->Append(expected.front()).begin;
  for (uint64_t i = 0; i < 400; ++i) {
    expected.push_back(NumberedRecord(i, 700));
    log->Append(expected.back());
  }
  log->Write(log->EndLsn());
  LogCopy copy(log.get(), from, to_);
  constexpr uint64_t kMost = 10'007;
  for (uint64_t end = from + kMost; end < from + 250'000; end += kMost) {
    copy.Advance(kMost);
    ASSERT_EQ(copy.end(), end);
    log->TruncateBefore(copy.end() - 1);
  }
  copy.Finish(log->EndLsn());
  EXPECT_GE(copy.end(), log->EndLsn());
  ExpectRecords(expected, from);
}

TEST_P(LogCopyTest, OfALogToWhichThreadsAppendEndsWithAWholeRecord) {
  auto log = Open();
  if (!log) GTEST_SKIP() << "no direct IO here";
  std::vector<std::jthread> threads;  // they end when the test throws, too
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t](const std::stop_token& stop) {
      for (uint64_t i = 0; !stop.stop_requested(); ++i) {
        const LogRange range = log->Append(NumberedRecord(i * 3 + static_cast<uint64_t>(t), 900));
        if (i % 16 == 0) log->WaitDurable(range.end);
      }
    });
  }
  const Lsn from = log->Append("first").begin;
  LogCopy copy(log.get(), from, to_);
  while (copy.end() < from + (1 << 20)) {
    copy.Advance(UINT64_MAX);
    log->TruncateBefore(copy.end() - 1);
    std::this_thread::yield();
  }
  const Lsn least = log->Append("last").end;
  copy.Finish(least);
  threads.clear();
  const ReadBack back = ReadLog(to_, from);
  EXPECT_FALSE(back.damage) << *back.damage;
  ASSERT_FALSE(back.records.empty());
  EXPECT_EQ(back.records.front(), "first");
  EXPECT_THAT(back.records, testing::Contains("last"));
  EXPECT_GT(back.records.size(), 100u);
}

TEST_P(LogCopyTest, TellsThatALogWasReadWrong) {
  auto log = Open();
  if (!log) GTEST_SKIP() << "no direct IO here";
  const LogRange first = log->Append("first");
  log->Write(first.end);
  LogCopy copy(log.get(), first.begin, to_);
  log->Write(log->Append(std::string(3000, 'x')).end);
  copy.Advance(UINT64_MAX);
  const std::string bytes = Slurp(LogSegmentPath(to_, 1));
  const size_t at = bytes.find("xxx");
  ASSERT_NE(at, std::string::npos);
  // The file stays the same, as the copy has it open.
  std::fstream file(LogSegmentPath(to_, 1), std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(at + 5));
  file.put('y');
  file.close();
  try {
    copy.Finish(log->EndLsn());
    FAIL() << "it was taken for whole";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kCorruption);
    EXPECT_THAT(e.what(), testing::HasSubstr("does not return what was written"));
  }
}

INSTANTIATE_TEST_SUITE_P(Logs, LogCopyTest,
                         testing::Values(CopiedLog{IoMode::kBuffered, true, LogSpace::kRecycled},
                                         CopiedLog{IoMode::kBuffered, false, LogSpace::kGrowing},
                                         CopiedLog{IoMode::kDirect, false, LogSpace::kRecycled},
                                         CopiedLog{IoMode::kDirect, true, LogSpace::kKeepSize}),
                         [](const auto& param) {
                           const CopiedLog& log = param.param;
                           return std::string(IoModeName(log.mode)) +
                                  (log.pad ? "_padded_" : "_unpadded_") +
                                  (log.space == LogSpace::kKeepSize ? "keepsize"
                                                                    : LogSpaceName(log.space));
                         });

}  // namespace
}  // namespace testbed

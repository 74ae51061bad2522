// Tests the truncation of a log: segments before an LSN that are no longer needed are recycled or
// removed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "device/log/log.h"
#include "tests/unit/device/log/log_test_util.h"

namespace testbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class LogTruncationTest : public LogTestDirectory {};

TEST_F(LogTruncationTest, TruncationWhileEightThreadsAppend) {
  LogOptions options = SmallLogOptions();
  auto log = OpenLog(directory_, options);
  std::atomic<int> running{8};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const LogRange range = log->Append(NumberedRecord(t * 1000 + i, 3000));
        if (i % 8 == 0) log->WaitDurable(range.end);
      }
      --running;
    });
  }
  while (running > 0) {
    log->TruncateBefore(log->DurableLsn());
    EXPECT_LE(log->BeginLsn(), log->EndLsn());
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  log->Flush();
  log->TruncateBefore(log->EndLsn());
  EXPECT_GT(log->Counters().segments_recycled, 10u);
  const LogRange last = log->Append("last");
  log->WaitDurable(last.end);
  log.reset();
  EXPECT_THAT(ReadLog(directory_, last.begin).records, ElementsAre("last"));
}

// One thread syncs all the time, while others fill all groups and write them themselves. So two
// threads use the files at once; no record may be lost or be called durable too early.
TEST_F(LogTruncationTest, WritesDuringSyncsLoseNothing) {
  LogOptions options = SmallLogOptions();
  options.flush_interval_ms = 1;
  auto log = OpenLog(directory_, options);
  constexpr int kThreads = 4, kRecords = 2000;
  std::atomic<bool> stop{false};
  std::thread syncer([&] {
    while (!stop) log->Sync();
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kRecords; ++i) {
        const LogRange range = log->Append(NumberedRecord(t * kRecords + i, 1000));
        if (i % 500 == 0) {
          log->WaitDurable(range.end);
          EXPECT_GE(log->DurableLsn(), range.end);
        }
        ASSERT_LE(log->DurableLsn(), log->WrittenLsn());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  syncer.join();
  log.reset();
  std::set<std::string> found;
  for (const std::string& record : ReadLog(directory_).records) found.insert(record);
  EXPECT_EQ(found.size(), static_cast<size_t>(kThreads * kRecords));
}

// Without prewriting, making a segment writes only its header, and the segment is recycled like any
// other.
TEST_F(LogTruncationTest, SegmentsNeedNotBeWrittenBeforeTheirFirstUse) {
  LogOptions options = SmallLogOptions();
  options.prewrite = false;
  auto log = OpenLog(directory_, options);
  const uint64_t ahead = log->Counters().preparation_bytes;
  const uint64_t created = log->Counters().segments_created;
  // Each new segment is recorded in the header of the one before it.
  EXPECT_EQ(ahead, (2 * created - 1) * kSegmentHeaderBytes);
  LogRange last;
  for (int i = 0; i < 600; ++i) {
    last = log->Append(NumberedRecord(i, 2000));
    log->WaitDurable(last.end);
    log->TruncateBefore(last.begin);
  }
  const LogCounters counters = log->Counters();
  EXPECT_GT(counters.segments_recycled, 10u);
  EXPECT_LT(counters.preparation_bytes,
            (counters.segments_created + counters.segments_recycled) * 2 * kSegmentHeaderBytes);
  log.reset();
  EXPECT_THAT(ReadLog(directory_, last.begin).records, ElementsAre(NumberedRecord(599, 2000)));
}

TEST_F(LogTruncationTest, TruncationRecyclesAndTheFilesStayTheSame) {
  LogOptions options = SmallLogOptions();
  options.min_segments = 3;
  auto log = OpenLog(directory_, options);
  EXPECT_EQ(ListLogSegments(directory_, IoMode::kBuffered).size(), 3u);
  std::vector<LogRange> ranges;
  std::vector<std::string> model;
  for (int i = 0; i < 600; ++i) {
    model.push_back(NumberedRecord(i, 2000));
    ranges.push_back(log->Append(model.back()));
    log->WaitDurable(ranges.back().end);
    if (i >= 10) log->TruncateBefore(ranges[i - 10].begin);
    ASSERT_LE(log->BeginLsn(), ranges[std::max(0, i - 10)].begin);
  }
  EXPECT_EQ(log->SizeOnDisk(), 3 * options.segment_bytes);
  const LogCounters c = log->Counters();
  EXPECT_EQ(c.segments_created, 3u);
  EXPECT_GT(c.segments_recycled, 30u);
  EXPECT_EQ(c.segments_removed, 0u);
  log.reset();
  const ReadBack back = ReadLog(directory_, ranges[590].begin);
  EXPECT_FALSE(back.damage) << *back.damage;
  EXPECT_EQ(back.records, std::vector<std::string>(model.begin() + 590, model.end()));
  EXPECT_THAT(ReadLog(directory_, ranges[100].begin).damage.value_or(""),
              HasSubstr("from which it is needed"));
}

TEST_F(LogTruncationTest, TruncationRemovesWhatIsNotRecycled) {
  for (LogSpace space :
       {LogSpace::kFallocated, LogSpace::kGrowing, LogSpace::kRecycled, LogSpace::kKeepSize}) {
    LogOptions options = SmallLogOptions();
    options.space = space;
    options.max_segments = 2;
    const std::string directory = Fresh("log");
    auto log = OpenLog(directory, options);
    for (int i = 0; i < 200; ++i) log->WaitDurable(log->Append(NumberedRecord(i, 2000)).end);
    EXPECT_GT(ListLogSegments(directory, IoMode::kBuffered).size(), 5u);
    log->TruncateBefore(log->EndLsn());
    EXPECT_GT(log->Counters().segments_removed, 3u);
    EXPECT_LE(ListLogSegments(directory, IoMode::kBuffered).size(), 2u);
  }
}

// A log without syncs of its own removes segments that are not synced, and a Sync may be syncing
// them. Each round has several, so that the Sync of one thread lasts while another removes them.
TEST_F(LogTruncationTest, TruncationDuringASyncDoesNotKillALogWithoutSyncs) {
  for (const LogSpace space : {LogSpace::kGrowing, LogSpace::kFallocated}) {
    LogOptions options = SmallLogOptions();
    options.sync = LogSync::kNone;
    options.space = space;
    auto log = OpenLog(Fresh("log"), options);
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 120; ++i) log->Append(NumberedRecord(i, 3000));
      log->Write(log->EndLsn());
      log->Append("a record that the Sync writes");
      const Lsn written = log->WrittenLsn();
      std::thread syncer([&] { EXPECT_NO_THROW(log->Sync()); });
      while (log->WrittenLsn() == written) std::this_thread::yield();
      EXPECT_NO_THROW(log->TruncateBefore(written));
      syncer.join();
      ASSERT_NO_THROW(log->Append("the log is in service"));
    }
    EXPECT_GT(log->Counters().segments_removed, 10u);
  }
}

TEST_F(LogTruncationTest, TruncationNeverTakesTheNewestFrame) {
  LogOptions options = SmallLogOptions();
  options.min_segments = 3;
  auto log = OpenLog(directory_, options);
  // The record ends where its segment ends, and the next segment is already prepared.
  const std::string record = NumberedRecord(1, log->MaxRecordBytes());
  const LogRange range = log->Append(record);
  log->WaitDurable(range.end);
  log->TruncateBefore(range.end);
  log->TruncateBefore(range.end + (1 << 30));
  EXPECT_LE(log->BeginLsn(), range.begin);
  log.reset();
  std::vector<std::string> replayed;
  log = OpenLog(directory_, options, &replayed, range.end);
  EXPECT_THAT(replayed, ElementsAre());
  EXPECT_GE(log->Append("next").begin, range.end);
  log.reset();
  EXPECT_THAT(ReadLog(directory_, range.begin).records, ElementsAre(record, "next"));
}

TEST_F(LogTruncationTest, LsnsGrowAcrossRestartsWhateverTheOptions) {
  Lsn last = 0;
  std::mt19937_64 random(11);
  std::vector<std::string> model;
  for (int i = 0; i < 40; ++i) {
    LogOptions options = SmallLogOptions();
    options.write_size = std::vector<uint32_t>{512, 4096, 8192}[random() % 3];
    options.pad = random() % 2;
    options.mode = random() % 2 ? IoMode::kBuffered : IoMode::kDirect;
    options.segment_bytes = (64 << 10) << random() % 3;
    options.space = static_cast<LogSpace>(random() % 3);
    std::vector<std::string> replayed;
    std::unique_ptr<Log> log;
    try {
      log = OpenLog(directory_, options, &replayed);
    } catch (const Error& e) {
      ASSERT_EQ(e.kind(), Error::kUsage) << e.what();
      continue;
    }
    ASSERT_EQ(replayed, model) << "session " << i;
    for (int j = 0; j < 20; ++j) {
      model.push_back(NumberedRecord(model.size(), random() % 3000));
      const LogRange range = log->Append(model.back());
      ASSERT_GE(range.begin, last);
      last = range.end;
      if (random() % 3 == 0) log->WaitDurable(range.end);
    }
  }
}

}  // namespace
}  // namespace testbed

#include "device/log/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <chrono>
#include <map>
#include <random>
#include <thread>

#include "tests/every_way.h"
#include "tests/unit/device/log/log_test_util.h"

namespace testbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

FileCounts LogFileCounts(const LedgerCounts& counts, OpKind op) {
  return counts.ops[op.id].file[static_cast<size_t>(FileKind::kLog)];
}

class LogTest : public LogTestDirectory {};

TEST_F(LogTest, ASegmentHasOneName) {
  EXPECT_EQ(LogSegmentNumber("log-000012"), 12u);
  EXPECT_EQ(LogSegmentNumber("log-1000000"), 1000000u);
  EXPECT_EQ(LogSegmentNumber("log-18446744073709551615"), UINT64_MAX);
  for (const char* name : {"", "12", "log", "log-", "log-12", "log-0000012", "log-000012~",
                           "log--00012", "log-18446744073709551616", "lag-000012"}) {
    EXPECT_FALSE(LogSegmentNumber(name)) << name;
  }
}

struct Setting {
  IoMode mode;
  uint32_t write_size;
  bool pad;
  LogSync sync;
  LogSpace space;
};

// Returns the settings of this run: all of them nightly, and otherwise a third, in which any two
// values of two settings occur together. The suite is one process.
std::vector<Setting> SettingsOfThisRun() {
  std::vector<Setting> settings;
  for (IoMode mode : {IoMode::kDirect, IoMode::kBuffered}) {
    for (uint32_t write_size : {512u, 4096u, 8192u}) {
      for (bool pad : {false, true}) {
        for (LogSync sync : {LogSync::kFdatasync, LogSync::kDsync, LogSync::kNone}) {
          for (LogSpace space : {LogSpace::kRecycled, LogSpace::kFallocated, LogSpace::kGrowing,
                                 LogSpace::kKeepSize}) {
            const uint32_t place = write_size / 4096 + static_cast<uint32_t>(sync) +
                                   static_cast<uint32_t>(space) + static_cast<uint32_t>(mode);
            if (place % 3 != 0 && !EveryWay()) continue;
            settings.push_back({mode, write_size, pad, sync, space});
          }
        }
      }
    }
  }
  return settings;
}

std::string SettingName(const testing::TestParamInfo<Setting>& info) {
  const Setting& s = info.param;
  return std::string(IoModeName(s.mode)) + std::to_string(s.write_size) +
         (s.pad ? "padded" : "unpadded") + LogSyncName(s.sync) +
         (s.space == LogSpace::kKeepSize ? "keepsize" : LogSpaceName(s.space));
}

class LogSettingTest : public LogTest, public testing::WithParamInterface<Setting> {
 protected:
  LogOptions Options() const {
    LogOptions options = SmallLogOptions();
    options.mode = GetParam().mode;
    options.write_size = GetParam().write_size;
    options.pad = GetParam().pad;
    options.sync = GetParam().sync;
    options.space = GetParam().space;
    return options;
  }
  std::unique_ptr<Log> Open(std::vector<std::string>* replayed = nullptr) {
    try {
      return OpenLog(directory_, Options(), replayed);
    } catch (const Error& e) {
      if (e.kind() != Error::kUsage) throw;
      reason_ = e.what();
      return nullptr;
    }
  }
  std::string reason_;
};

TEST_P(LogSettingTest, GivesBackEveryRecordAndCountsEveryByte) {
  std::mt19937_64 random(7);
  std::vector<std::string> model;
  for (int session = 0; session < 3; ++session) {
    const LedgerCounts before = Ledger::Get().Counts();
    std::vector<std::string> replayed;
    auto log = Open(&replayed);
    if (!log) GTEST_SKIP() << reason_;
    ASSERT_EQ(replayed, model);
    uint64_t payload = 0;
    const uint64_t records = 60;
    for (uint64_t i = 0; i < records; ++i) {
      // Most records are small, some are empty, and some exceed a group's memory of 16 KiB.
      size_t size = random() % 700;
      if (random() % 20 == 0) size = 0;
      if (random() % 15 == 0) size = random() % log->MaxRecordBytes();
      model.push_back(NumberedRecord(model.size(), size));
      const LogRange range = log->Append(model.back());
      payload += size;
      EXPECT_EQ(range.end - range.begin, size + kRecordHeaderBytes);
      EXPECT_EQ(log->EndLsn(), range.end);
      switch (random() % 4) {
        case 0:
          log->WaitDurable(range.end);
          EXPECT_GE(log->WrittenLsn(), range.end);
          EXPECT_TRUE(GetParam().sync == LogSync::kNone || log->DurableLsn() >= range.end);
          break;
        case 1:
          log->Write(range.end);
          EXPECT_GE(log->WrittenLsn(), range.end);
          break;
      }
    }
    log->Sync();
    EXPECT_GE(log->DurableLsn(), log->EndLsn());
    const LogCounters c = log->Counters();
    EXPECT_EQ(c.records, records);
    EXPECT_EQ(c.payload_bytes, payload);
    EXPECT_EQ(c.framing_bytes, c.groups * kFrameHeaderBytes + records * kRecordHeaderBytes);
    EXPECT_EQ(c.written_bytes,
              c.payload_bytes + c.framing_bytes + c.padding_bytes + c.rewritten_bytes);
    EXPECT_EQ(c.writes, c.groups);
    if (GetParam().mode == IoMode::kBuffered && !GetParam().pad) {
      EXPECT_EQ(c.padding_bytes + c.rewritten_bytes, 0u);
    }
    if (GetParam().pad && session > 0) {
      EXPECT_EQ(c.rewritten_bytes, 0u);
      EXPECT_EQ(c.written_bytes % GetParam().write_size, 0u);
    }
    EXPECT_EQ(c.syncs == 0, GetParam().sync == LogSync::kDsync);
    FileCounts file;
    const LedgerCounts delta = Ledger::Get().Counts() - before;
    for (OpKind op : DefinedOps()) file += LogFileCounts(delta, op);
    EXPECT_EQ(file.write_bytes, c.written_bytes + c.preparation_bytes);
    log.reset();
    const ReadBack back = ReadLog(directory_, 0, GetParam().mode);
    EXPECT_FALSE(back.damage) << *back.damage;
    ASSERT_EQ(back.records, model);
  }
}

TEST_P(LogSettingTest, SegmentsAreOfTheSizeThatTheirSpaceGivesThem) {
  auto log = Open();
  if (!log) GTEST_SKIP() << reason_;
  for (int i = 0; i < 30; ++i) log->WaitDurable(log->Append(NumberedRecord(i, 5000)).end);
  uint64_t total = 0, last = 0;
  for (const SegmentInfo& info : ListLogSegments(directory_, IoMode::kBuffered)) {
    const uint64_t size = std::filesystem::file_size(info.path);
    total += size;
    struct stat status;
    ASSERT_EQ(::stat(info.path.c_str(), &status), 0);
    const uint64_t held = static_cast<uint64_t>(status.st_blocks) * 512;
    EXPECT_TRUE(GetParam().space == LogSpace::kGrowing || held >= log->options().segment_bytes);
    if (GetParam().space == LogSpace::kRecycled || GetParam().space == LogSpace::kFallocated) {
      EXPECT_EQ(size, log->options().segment_bytes);
    }
    last = size;
  }
  EXPECT_EQ(log->SizeOnDisk(), total);
  if (GetParam().space == LogSpace::kGrowing || GetParam().space == LogSpace::kKeepSize) {
    // The files hold only headers and written records. A block that is rewritten takes space once.
    EXPECT_LT(last, log->options().segment_bytes);
    const LogCounters c = log->Counters();
    EXPECT_LE(total, c.segments_created * kSegmentHeaderBytes + c.written_bytes);
    EXPECT_GE(total, c.payload_bytes);
  }
}

// There must be no unwritten block between a new segment's header and its first frame, because the
// gap would be an extent of its own.
TEST_P(LogSettingTest, WrittenSpaceHasNoGapAtItsBeginning) {
  auto log = Open();
  if (!log) GTEST_SKIP() << reason_;
  const LogCounters c = log->Counters();
  const uint64_t filled = GetParam().space == LogSpace::kRecycled
                              ? c.segments_created * log->options().segment_bytes
                              : 0;
  const uint64_t made = filled + c.segments_created * kSegmentHeaderBytes;
  // The header of each segment but the last is written again, to say that there is a next one.
  const uint64_t again = c.segments_created - 1;
  EXPECT_GE(c.preparation_bytes, made + again * kSegmentHeaderBytes);
  EXPECT_LE(c.preparation_bytes, made + again * kSegmentHeaderBytes);
}

INSTANTIATE_TEST_SUITE_P(Settings, LogSettingTest, testing::ValuesIn(SettingsOfThisRun()),
                         SettingName);

// One commit of 300 bytes may cost no more than one write and one sync.
TEST_F(LogTest, OneSyncCommitOnRecycledSpaceIsOneWriteAndOneSync) {
  for (IoMode mode : {IoMode::kDirect, IoMode::kBuffered}) {
    for (uint32_t write_size : {512u, 4096u, 8192u}) {
      LogOptions options;
      options.mode = mode;
      options.write_size = write_size;
      options.segment_bytes = 1 << 20;
      std::unique_ptr<Log> log;
      try {
        log = OpenLog(Fresh("log"), options);
      } catch (const Error& e) {
        ASSERT_EQ(e.kind(), Error::kUsage);
        continue;  // the machine has no direct IO of this size; buffered IO is still tested
      }
      const OpKind op = DefineOp("log-commit", Ground::kForeground);
      const uint64_t size = log->SizeOnDisk();
      const std::string record = NumberedRecord(1, 300);
      const LedgerCounts before = Ledger::Get().Counts();
      constexpr uint64_t kCommits = 20;
      for (uint64_t i = 0; i < kCommits; ++i) {
        IoScope scope(op);
        log->WaitDurable(log->Append(record).end);
      }
      const LedgerCounts delta = Ledger::Get().Counts() - before;
      const FileCounts file = LogFileCounts(delta, op);
      EXPECT_EQ(file.writes, kCommits);
      EXPECT_EQ(file.write_bytes, kCommits * write_size);
      EXPECT_EQ(file.syncs, kCommits);
      EXPECT_EQ(file.reads, 0u);
      EXPECT_EQ(delta.ops[op.id].FileTotal().writes, kCommits);
      EXPECT_EQ(log->SizeOnDisk(), size);
    }
  }
}

// Returns the number of the file's pages that are in the page cache.
size_t CachedPages(const std::string& path, size_t bytes) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  void* map = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  std::vector<unsigned char> cached(bytes / 4096);
  EXPECT_EQ(::mincore(map, bytes, cached.data()), 0);
  ::munmap(map, bytes);
  return static_cast<size_t>(
      std::count_if(cached.begin(), cached.end(), [](auto c) { return c & 1; }));
}

TEST_F(LogTest, UncachedSegmentsAreNotInThePageCacheWhenTheyAreUsed) {
  for (const bool uncached : {false, true}) {
    LogOptions options = SmallLogOptions();
    options.uncached = uncached;
    options.min_segments = 3;
    const std::string directory = Fresh("log");
    auto log = OpenLog(directory, options);
    const std::string third = LogSegmentPath(directory, 3);
    EXPECT_EQ(CachedPages(third, options.segment_bytes) == 0, uncached);
    while (log->Counters().segments_recycled == 0) {
      log->WaitDurable(log->Append(NumberedRecord(1, 5000)).end);
      log->TruncateBefore(log->EndLsn());
    }
    const std::string recycled = ListLogSegments(directory, IoMode::kDirect).back().path;
    EXPECT_EQ(CachedPages(recycled, options.segment_bytes) == 0, uncached) << recycled;
  }
}

TEST_F(LogTest, SegmentsAreOpenedInTheModeThatWasAskedFor) {
  for (IoMode mode : {IoMode::kDirect, IoMode::kBuffered}) {
    for (LogSync sync : {LogSync::kFdatasync, LogSync::kDsync, LogSync::kNone}) {
      LogOptions options = SmallLogOptions();
      options.mode = mode;
      options.sync = sync;
      options.min_segments = 3;
      const std::string directory = Fresh("log");
      std::unique_ptr<Log> log;
      try {
        log = OpenLog(directory, options);
      } catch (const Error& e) {
        ASSERT_EQ(e.kind(), Error::kUsage);
        continue;  // no direct IO here
      }
      // 60 records reach recycled segments, too.
      for (int i = 0; i < 60; ++i) log->Append(NumberedRecord(i, 5000));
      log->Sync();
      log->TruncateBefore(log->EndLsn());
      int segments = 0;
      for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code gone;
        const std::string target = std::filesystem::read_symlink(entry.path(), gone);
        if (target.find(directory + "/log-") != 0) continue;
        const int flags = fcntl(std::stoi(entry.path().filename()), F_GETFL);
        EXPECT_EQ((flags & O_DIRECT) != 0, mode == IoMode::kDirect) << target;
        EXPECT_EQ((flags & O_DSYNC) != 0, sync == LogSync::kDsync) << target;
        ++segments;
      }
      EXPECT_GE(segments, 3);
    }
  }
}

TEST_F(LogTest, AGroupIsOneWriteAndOneSyncWhoeverWaits) {
  auto log = OpenLog(directory_, SmallLogOptions());
  const LogCounters before = log->Counters();
  const LogRange first = log->Append("one");
  for (int i = 0; i < 20; ++i) log->Append(NumberedRecord(i, 300));
  const Lsn end = log->EndLsn();
  log->WaitDurable(first.end);
  EXPECT_GE(log->DurableLsn(), end);
  log->WaitDurable(end);
  const LogCounters after = log->Counters();
  EXPECT_EQ(after.groups - before.groups, 1u);
  EXPECT_EQ(after.syncs - before.syncs, 1u);
  EXPECT_EQ(after.written_bytes - before.written_bytes, 8192u);
}

TEST_F(LogTest, PaddingIsZerosAndNotWhatTheMemoryHeldBefore) {
  for (IoMode mode : {IoMode::kBuffered, IoMode::kDirect}) {
    LogOptions options = SmallLogOptions();
    options.mode = mode;
    options.segment_bytes = 1 << 20;
    // Direct writes fill their last block even without padding.
    options.pad = mode == IoMode::kBuffered;
    const std::string directory = Fresh("log");
    std::unique_ptr<Log> log;
    try {
      log = OpenLog(directory, options);
    } catch (const Error& e) {
      ASSERT_EQ(e.kind(), Error::kUsage);
      continue;  // no direct IO here
    }
    LogRange range;
    for (int i = 0; i < 8; ++i) log->WaitDurable(log->Append(std::string(3000, 'x')).end);
    for (int i = 0; i < 8; ++i) {
      range = log->Append("y");
      log->WaitDurable(range.end);
    }
    log.reset();
    const std::string bytes = Slurp(LogSegmentPath(directory, 1));
    ASSERT_LT(range.end, bytes.size());
    EXPECT_EQ(bytes[range.end - 1], 'y');
    EXPECT_EQ(bytes.find_first_not_of('\0', range.end), std::string::npos);
  }
}

TEST_F(LogTest, PartsAreOneRecord) {
  auto log = OpenLog(directory_, SmallLogOptions());
  const std::string_view parts[] = {"write", "", "-ahead ", "log"};
  log->Append(parts);
  log->Append(std::span<const std::string_view>());
  log.reset();
  EXPECT_THAT(ReadLog(directory_).records, ElementsAre("write-ahead log", ""));
}

// Appends records from eight threads. Each record holds the number of its thread and its own
// number. All must be read back, in the order of each thread.
void HammerLog(const std::string& directory, LogOptions options, size_t largest) {
  constexpr int kThreads = 8;
  constexpr uint32_t kRecords = 250;
  std::map<Lsn, std::pair<int, uint32_t>> placed;
  std::mutex mutex;
  {
    auto log = OpenLog(directory, options);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937_64 random(t);
        Lsn last = 0;
        for (uint32_t i = 0; i < kRecords; ++i) {
          const uint32_t head[2] = {static_cast<uint32_t>(t), i};
          const std::string body = NumberedRecord(t * kRecords + i, random() % largest);
          const std::string_view parts[] = {{reinterpret_cast<const char*>(head), sizeof head},
                                            body};
          const LogRange range = log->Append(parts);
          EXPECT_GT(range.begin, last);
          last = range.begin;
          if (random() % 2) {
            log->WaitDurable(range.end);
            EXPECT_GE(options.sync == LogSync::kNone ? log->WrittenLsn() : log->DurableLsn(),
                      range.end);
          }
          if (random() % 50 == 0) {
            const Lsn written = log->WrittenLsn();  // first: the end goes on meanwhile
            EXPECT_LE(written, log->EndLsn() + kMaxLogWriteSize);
            EXPECT_GT(log->MemoryBytes(), 0u);
            EXPECT_GE(log->Counters().groups, 1u);
          }
          std::lock_guard lock(mutex);
          placed[range.begin] = {t, i};
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    log->Flush();
    const LogCounters c = log->Counters();
    EXPECT_EQ(c.records, uint64_t{kThreads} * kRecords);
  }
  LogReader reader(directory);
  LogRecord record;
  auto expected = placed.begin();
  while (reader.Next(&record)) {
    ASSERT_NE(expected, placed.end());
    ASSERT_EQ(record.lsn, expected->first);
    uint32_t head[2];
    ASSERT_GE(record.bytes.size(), sizeof head);
    memcpy(head, record.bytes.data(), sizeof head);
    EXPECT_EQ(head[0], static_cast<uint32_t>(expected->second.first));
    EXPECT_EQ(head[1], expected->second.second);
    const std::string_view body = record.bytes.substr(sizeof head);
    EXPECT_EQ(body, NumberedRecord(head[0] * kRecords + head[1], body.size()));
    ++expected;
  }
  EXPECT_EQ(expected, placed.end());
}

TEST_F(LogTest, EightThreadsCommitInGroups) {
  LogOptions options = SmallLogOptions();
  options.segment_bytes = 1 << 20;
  HammerLog(directory_, options, 600);
}

// The records in flight exceed the buffer by far. No thread may wait for a thread that waits for
// room itself, or all would hang.
TEST_F(LogTest, EightThreadsGetThroughAFullBuffer) {
  for (uint32_t interval : {0u, 1u}) {
    for (LogSync sync : {LogSync::kFdatasync, LogSync::kDsync, LogSync::kNone}) {
      LogOptions options = SmallLogOptions();
      options.flush_interval_ms = interval;
      options.sync = sync;
      options.pad = interval != 0;
      HammerLog(Fresh("log"), options, 5000);
    }
  }
}

TEST_F(LogTest, TheLogsOwnThreadMakesRecordsDurable) {
  LogOptions options = SmallLogOptions();
  options.flush_interval_ms = 2;
  auto log = OpenLog(directory_, options);
  for (int i = 0; i < 20; ++i) {
    const LogRange range = log->Append(NumberedRecord(i, 100));
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (log->DurableLsn() < range.end && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_GE(log->DurableLsn(), range.end);
  }
  // Without new records the log's thread must not write.
  const uint64_t groups = log->Counters().groups;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(log->Counters().groups, groups);
}

TEST_F(LogTest, WithoutSyncOnlySyncSyncs) {
  LogOptions options = SmallLogOptions();
  options.sync = LogSync::kNone;
  auto log = OpenLog(directory_, options);
  const uint64_t syncs = log->Counters().syncs;
  const Lsn durable = log->DurableLsn();
  for (int i = 0; i < 100; ++i) log->WaitDurable(log->Append(NumberedRecord(i, 2000)).end);
  EXPECT_EQ(log->Counters().syncs, syncs);
  EXPECT_EQ(log->DurableLsn(), durable);
  EXPECT_GE(log->WrittenLsn(), log->EndLsn());
  log->Sync();
  EXPECT_GE(log->DurableLsn(), log->EndLsn());
  // Sync must sync each segment that was written since the last sync.
  EXPECT_EQ(log->Counters().syncs - syncs, ListLogSegments(directory_, IoMode::kBuffered).size());
}

TEST_F(LogTest, WaitingForTheFutureWaitsForThePresent) {
  auto log = OpenLog(directory_, SmallLogOptions());
  const LogRange range = log->Append("x");
  log->WaitDurable(range.end + 1000000);
  EXPECT_GE(log->DurableLsn(), range.end);
}

TEST_F(LogTest, ImpossibleOptionsAreUsageErrorsThatLeaveNothing) {
  using Change = void (*)(LogOptions&);
  const std::pair<Change, const char*> cases[] = {
      {[](LogOptions& o) { o.mode = IoMode::kMmap; }, "mmap"},
      {[](LogOptions& o) { o.write_size = 1024; }, "512, 4096, 8192"},
      {[](LogOptions& o) { o.write_size = 0; }, "512, 4096, 8192"},
      {[](LogOptions& o) { o.segment_bytes = 100000; }, "segment_bytes 100000"},
      {[](LogOptions& o) { o.segment_bytes = 8192; }, "segment_bytes 8192"},
      {[](LogOptions& o) { o.segment_bytes = 2ull << 30; }, "segment_bytes"},
      {[](LogOptions& o) { o.max_segments = 1; }, "max_segments 1"},
      {[](LogOptions& o) { o.min_segments = 9, o.max_segments = 4; }, "max_segments 4"},
      {[](LogOptions& o) { o.buffer_bytes = 1000; }, "buffer_bytes 1000"},
  };
  for (const auto& [change, sentence] : cases) {
    LogOptions options;
    change(options);
    try {
      OpenLog(directory_, options);
      ADD_FAILURE() << "no error for " << sentence;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      EXPECT_THAT(e.what(), HasSubstr(sentence));
    }
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
  EXPECT_THROW(OpenLog(directory_ + "/absent", LogOptions()), Error);
}

TEST_F(LogTest, ARecordThatFitsNoSegmentIsAUsageError) {
  auto log = OpenLog(directory_, SmallLogOptions());
  const std::string largest = NumberedRecord(1, log->MaxRecordBytes());
  try {
    log->Append(largest + "x");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    EXPECT_THAT(e.what(), HasSubstr(std::to_string(largest.size() + 1)));
  }
  log->Append(largest);
  log->Append("after");
  // The memory of the long record is freed after it is written.
  log->Flush();
  EXPECT_LE(log->MemoryBytes(), log->options().buffer_bytes + kMaxLogWriteSize);
  log.reset();
  EXPECT_THAT(ReadLog(directory_).records, ElementsAre(largest, "after"));
}

TEST_F(LogTest, SettingsInForceAreTold) {
  LogOptions options = SmallLogOptions();
  options.sync = LogSync::kDsync;
  auto log = OpenLog(directory_, options);
  const auto settings = log->EffectiveSettings();
  EXPECT_THAT(settings, testing::Contains(testing::Pair("log_sync", "dsync")));
  EXPECT_THAT(settings, testing::Contains(testing::Pair("log_space", "recycled")));
  EXPECT_THAT(settings, testing::Contains(testing::Pair("log_write_size", "4096")));
}

}  // namespace
}  // namespace testbed

// Tests reading a log after crashes, power cuts and damage: every acknowledged record is found, or
// the damage is reported; bytes that are no record are never returned as one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/device/log/log_test_util.h"

namespace testbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LogOptions TinyOptions() {
  LogOptions options;
  options.segment_bytes = 64 << 10;
  options.buffer_bytes = 64 << 10;
  options.min_segments = 1;
  return options;
}

// A small log of several groups, closed cleanly, with the position of each group.
struct SmallLog {
  std::string file;  // path of its only segment
  std::vector<std::string> records;
  struct Group {
    uint64_t begin, end;  // the frame's place in the file, without padding
    size_t records;       // records in the log up to the end of this group
  };
  std::vector<Group> groups;
};

SmallLog MakeSmallLog(const std::string& directory, const LogOptions& options) {
  SmallLog small;
  small.file = LogSegmentPath(directory, 1);
  auto log = OpenLog(directory, options);
  small.groups.push_back({kSegmentHeaderBytes, kSegmentHeaderBytes + kFrameHeaderBytes, 0});
  std::mt19937_64 random(5);
  for (int g = 0; g < 6; ++g) {
    LogRange range;
    Lsn begin = 0;
    for (int i = 0; i <= g % 3; ++i) {
      small.records.push_back(NumberedRecord(small.records.size(), random() % 60));
      range = log->Append(small.records.back());
      if (i == 0) begin = range.begin - kFrameHeaderBytes;
    }
    log->WaitDurable(range.end);
    small.groups.push_back({begin, range.end, small.records.size()});
  }
  return small;
}

std::vector<LogOptions> Layouts() {
  std::vector<LogOptions> all;
  for (bool pad : {false, true}) {
    for (LogSpace space : {LogSpace::kGrowing, LogSpace::kRecycled}) {
      LogOptions options = TinyOptions();
      options.write_size = 512;
      options.pad = pad;
      options.space = space;
      all.push_back(options);
    }
  }
  LogOptions direct = TinyOptions();
  direct.mode = IoMode::kDirect;
  direct.pad = false;
  all.push_back(direct);
  return all;
}

class LogRecoveryTest : public LogTestInMemory {
 protected:
  // Runs `check` on a small log of each layout that this file system can have.
  template <typename Check>
  void ForEachLayout(Check check) {
    for (const LogOptions& options : Layouts()) {
      SCOPED_TRACE(std::string(IoModeName(options.mode)) + (options.pad ? " padded " : " ") +
                   LogSpaceName(options.space));
      const std::string directory = Fresh("log");
      SmallLog small;
      try {
        small = MakeSmallLog(directory, options);
      } catch (const Error& e) {
        ASSERT_EQ(e.kind(), Error::kUsage);
        continue;
      }
      check(directory, options, small);
      if (HasFatalFailure()) return;
    }
  }
};

class LogOnDiskTest : public LogTestDirectory {};

void ExpectPrefix(const std::vector<std::string>& records, const std::vector<std::string>& model,
                  size_t at_least, const std::string& what) {
  ASSERT_LE(records.size(), model.size()) << what;
  ASSERT_GE(records.size(), at_least) << what;
  for (size_t i = 0; i < records.size(); ++i) ASSERT_EQ(records[i], model[i]) << what;
}

TEST_F(LogRecoveryTest, CutOffAnywhereItEndsBeforeTheCut) {
  ForEachLayout(
      [&](const std::string& directory, const LogOptions& options, const SmallLog& small) {
        const std::string bytes = Slurp(small.file);
        const size_t used = small.groups.back().end;
        for (size_t cut = 0; cut <= std::min(bytes.size(), used + 20); ++cut) {
          const std::string what = "cut at " + std::to_string(cut);
          Spill(small.file, bytes.substr(0, cut));
          const ReadBack back = ReadLog(directory);
          // A file that had all of its bytes from the beginning cannot be shorter because of a
          // crash.
          const bool was_whole = bytes.size() == options.segment_bytes && cut < bytes.size();
          if (cut > 0 && (cut < kSegmentHeaderUsed || was_whole)) {
            ASSERT_TRUE(back.damage) << what;
            continue;
          }
          ASSERT_FALSE(back.damage) << what << ": " << *back.damage;
          size_t whole = 0;
          for (const SmallLog::Group& g : small.groups) {
            if (g.end <= cut) whole = g.records;
          }
          ExpectPrefix(back.records, small.records, whole, what);
          ASSERT_EQ(back.records.size(), whole) << what;
          if (cut % 97 != 0 && cut != bytes.size()) continue;
          // A log that is opened after the cut accepts records, and is read back with them.
          std::vector<std::string> replayed;
          auto log = OpenLog(directory, options, &replayed);
          ASSERT_EQ(replayed, back.records) << what;
          log->WaitDurable(log->Append("after").end);
          log.reset();
          replayed.push_back("after");
          ASSERT_EQ(ReadLog(directory).records, replayed) << what;
        }
      });
}

void PokeByte(const std::string& path, size_t at, char value) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(value);
}

TEST_F(LogRecoveryTest, EveryFlippedBitIsFoundOrHarmless) {
  ForEachLayout([&](const std::string& directory, const LogOptions&, const SmallLog& small) {
    std::string bytes = Slurp(small.file);
    const size_t used = std::min<size_t>(bytes.size(), small.groups.back().end + 20);
    // The rest of the header block has no meaning, so only some of its bytes are tried.
    for (size_t at = 0; at < used;
         at += at >= kSegmentHeaderUsed && at + 61 < kSegmentHeaderBytes ? 61 : 1) {
      // `hit` is the group that the byte belongs to. Padding and the space between belong to none.
      size_t hit = small.groups.size();
      for (size_t g = 0; g < small.groups.size(); ++g) {
        if (small.groups[g].begin <= at && at < small.groups[g].end) hit = g;
      }
      const int bits = hit < small.groups.size() || at < kSegmentHeaderUsed ? 8 : 1;
      for (int bit = 0; bit < bits; ++bit) {
        const std::string what = "bit " + std::to_string(bit) + " of " + std::to_string(at);
        PokeByte(small.file, at, static_cast<char>(bytes[at] ^ (1 << bit)));
        const ReadBack back = ReadLog(directory);
        PokeByte(small.file, at, bytes[at]);
        if (at < kSegmentHeaderUsed) {
          ASSERT_TRUE(back.damage) << what;
          ASSERT_THAT(*back.damage, HasSubstr("offset 0")) << what;
        } else if (hit == small.groups.size()) {
          ASSERT_FALSE(back.damage) << what << ": " << *back.damage;
          ASSERT_EQ(back.records, small.records) << what;
        } else {
          // The reader must return all records before the group that was hit, and none after.
          const size_t before = hit == 0 ? 0 : small.groups[hit - 1].records;
          ASSERT_EQ(back.records.size(), before) << what;
          ExpectPrefix(back.records, small.records, before, what);
          // Every group was synced before the next was written. So a bad group is damage, except
          // for the last, which may be a torn write.
          ASSERT_EQ(back.damage.has_value(), hit + 1 != small.groups.size()) << what;
          if (back.damage) {
            ASSERT_THAT(*back.damage,
                        HasSubstr("offset " + std::to_string(small.groups[hit].begin) + " "))
                << what;
            ASSERT_THAT(*back.damage, HasSubstr(small.file)) << what;
          }
        }
      }
    }
  });
}

TEST_F(LogRecoveryTest, DamageIsToldEachTimeAndToOpenToo) {
  const SmallLog small = MakeSmallLog(directory_, TinyOptions());
  std::string bytes = Slurp(small.file);
  bytes[small.groups[3].begin + 50] ^= 1;
  Spill(small.file, bytes);
  LogReader reader(directory_);
  LogRecord record;
  size_t n = 0;
  EXPECT_THROW(
      {
        while (reader.Next(&record)) ++n;
      },
      Error);
  EXPECT_EQ(n, small.groups[2].records);
  EXPECT_THROW(reader.Next(&record), Error);
  EXPECT_THROW(OpenLog(directory_, TinyOptions()), Error);
  EXPECT_EQ(Slurp(small.file), bytes) << "a damaged log was changed";
}

TEST_F(LogRecoveryTest, ATornGroupIsGoneAsAWhole) {
  LogOptions options = TinyOptions();
  options.write_size = 512;
  auto log = OpenLog(directory_, options);
  log->WaitDurable(log->Append("before").end);
  const std::string before = Slurp(LogSegmentPath(directory_, 1));
  LogRange first, last;
  for (int i = 0; i < 7; ++i) {
    last = log->Append(NumberedRecord(i, 400));
    if (i == 0) first = last;
  }
  log->WaitDurable(last.end);
  log.reset();
  const std::string after = Slurp(LogSegmentPath(directory_, 1));
  const size_t begin = first.begin - kFrameHeaderBytes;
  const size_t sectors = (last.end - begin + 511) / 512;
  ASSERT_EQ(sectors, 6u);
  for (unsigned lost = 1; lost < 1u << sectors; ++lost) {
    std::string torn = after;
    for (size_t s = 0; s < sectors; ++s) {
      if (lost & (1u << s)) torn.replace(begin + s * 512, 512, before, begin + s * 512, 512);
    }
    Spill(LogSegmentPath(directory_, 1), torn);
    const ReadBack back = ReadLog(directory_);
    EXPECT_FALSE(back.damage) << *back.damage;
    ASSERT_THAT(back.records, ElementsAre("before"));
  }
}

// Replaces the bytes [begin, end) of the log's only segment by those of `old`.
void Undo(const std::string& file, const std::string& old, uint64_t begin, uint64_t end) {
  std::string bytes = Slurp(file);
  bytes.replace(begin, end - begin, old, begin, end - begin);
  Spill(file, bytes);
}

TEST_F(LogRecoveryTest, AHoleInWhatWasNotSyncedIsATornTail) {
  const std::string file = LogSegmentPath(directory_, 1);
  auto log = OpenLog(directory_, TinyOptions());
  log->WaitDurable(log->Append("synced").end);
  const std::string old = Slurp(file);
  const LogRange lost = log->Append("lost");
  log->Write(lost.end);
  const LogRange later = log->Append("later");
  log->Write(later.end);
  CopyLog(directory_, Fresh("crash"));
  log.reset();
  const std::string crash = directory_ + "/crash";
  Undo(LogSegmentPath(crash, 1), old, lost.begin - kFrameHeaderBytes, lost.end);
  const ReadBack back = ReadLog(crash);
  EXPECT_FALSE(back.damage) << *back.damage;
  EXPECT_THAT(back.records, ElementsAre("synced"));
}

TEST_F(LogRecoveryTest, TheSameHoleIsDamageOnceALaterFrameKnewItSynced) {
  const std::string file = LogSegmentPath(directory_, 1);
  auto log = OpenLog(directory_, TinyOptions());
  const std::string old = Slurp(file);
  const LogRange lost = log->Append("lost");
  log->Write(lost.end);
  log->WaitDurable(log->Append("synced").end);
  log->Write(log->Append("knows").end);
  log.reset();
  Undo(file, old, lost.begin - kFrameHeaderBytes, lost.end);
  const ReadBack back = ReadLog(directory_);
  EXPECT_THAT(back.records, ElementsAre());
  ASSERT_TRUE(back.damage);
  EXPECT_THAT(*back.damage, HasSubstr("durable up to LSN"));
}

// The search for frames behind a hole passes over blocks of zeros. The frame behind them begins at
// any place of a block: just behind its begin, across its end, in the middle.
TEST_F(LogRecoveryTest, AHoleOfAnyLengthIsDamageOnceALaterFrameKnewItSynced) {
  LogOptions options = TinyOptions();
  options.pad = false;
  for (size_t size = 11900; size < 12500; size += 7) {
    const std::string directory = Fresh("hole");
    const std::string file = LogSegmentPath(directory, 1);
    auto log = OpenLog(directory, options);
    const LogRange lost = log->Append(std::string(size, 'x'));
    log->WaitDurable(lost.end);
    log->Write(log->Append("knows").end);
    log.reset();
    std::string bytes = Slurp(file);
    const uint64_t begin = lost.begin - kFrameHeaderBytes;
    std::fill(bytes.begin() + static_cast<ptrdiff_t>(begin),
              bytes.begin() + static_cast<ptrdiff_t>(lost.end), '\0');
    Spill(file, bytes);
    const ReadBack back = ReadLog(directory);
    EXPECT_THAT(back.records, ElementsAre());
    ASSERT_TRUE(back.damage) << size;
  }
}

// The search passes over space that the file system never wrote, whatever the page cache holds.
TEST_F(LogOnDiskTest, AFrameBehindAHoleOfTheFileSystemIsFound) {
  LogOptions options = TinyOptions();
  options.pad = false;
  for (size_t size = 11900; size < 12500; size += 97) {
    const std::string directory = Fresh("hole");
    const std::string path = LogSegmentPath(directory, 1);
    auto log = OpenLog(directory, options);
    const LogRange lost = log->Append(std::string(size, 'x'));
    log->WaitDurable(lost.end);
    log->Write(log->Append("knows").end);
    log.reset();
    FileOptions writable;
    writable.mode = IoMode::kBuffered;
    const uint64_t begin = lost.begin - kFrameHeaderBytes;
    if (!File::Open(path, writable)->Punch(begin, lost.end - begin)) {
      GTEST_SKIP() << "the file system of " << directory << " makes no holes";
    }
    Slurp(path);
    const ReadBack back = ReadLog(directory);
    EXPECT_THAT(back.records, ElementsAre());
    ASSERT_TRUE(back.damage) << size;
  }
}

// The tail that a crash cut off lies just where the log goes on. When the same record is appended
// again, so that even the lengths agree, the old tail must not be read as its successor.
TEST_F(LogRecoveryTest, WhatWasCutOffStaysDeadUnderTheSameBytesAgain) {
  for (bool crash_again : {false, true}) {
    for (bool pad : {false, true}) {
      LogOptions options = TinyOptions();
      options.pad = pad;
      options.write_size = 512;
      const std::string directory = Fresh("log"), file = LogSegmentPath(directory, 1);
      auto log = OpenLog(directory, options);
      const std::string old = Slurp(file);
      const LogRange a = log->Append("aaaa");
      log->Write(a.end);
      log->Write(log->Append("bbbb").end);
      const std::string crash = Fresh("crash");
      CopyLog(directory, crash);
      log.reset();
      Undo(LogSegmentPath(crash, 1), old, a.begin - kFrameHeaderBytes, a.end);
      // For some length of the filler, whatever the size of the epoch frame, "aaaa" of the next
      // epoch ends just before "bbbb" of the first.
      for (size_t filler = 0; filler < (pad ? 2 : 120); ++filler) {
        const std::string again = Fresh("again");
        CopyLog(crash, again);
        std::vector<std::string> replayed;
        if (crash_again) OpenLog(again, options, &replayed).reset();
        log = OpenLog(again, options, &replayed);
        ASSERT_THAT(replayed, ElementsAre());
        std::vector<std::string> model;
        if (filler > 0) model.push_back(NumberedRecord(1, filler));
        model.push_back("aaaa");
        for (const std::string& record : model) log->WaitDurable(log->Append(record).end);
        log.reset();
        const ReadBack back = ReadLog(again);
        ASSERT_FALSE(back.damage) << *back.damage;
        ASSERT_EQ(back.records, model);
      }
    }
  }
}

TEST_F(LogRecoveryTest, AnOpenThatIsCutShortLeavesTheLogAsItWas) {
  const SmallLog small = MakeSmallLog(directory_, TinyOptions());
  const std::string old = Slurp(small.file);
  OpenLog(directory_, TinyOptions()).reset();
  const std::string opened = Slurp(small.file);
  ASSERT_NE(old, opened);
  // The frame of the new epoch is torn: only its first n bytes were written.
  for (size_t n = 0; n < kFrameHeaderBytes; ++n) {
    std::string torn = old;
    const size_t at = (small.groups.back().end + 4095) / 4096 * 4096;
    torn.replace(at, n, opened, at, n);
    Spill(small.file, torn);
    const ReadBack back = ReadLog(directory_);
    ASSERT_FALSE(back.damage) << *back.damage;
    ASSERT_EQ(back.records, small.records);
  }
}

TEST_F(LogRecoveryTest, FilesThatACrashLeavesHalfMadeAreTakenOver) {
  const SmallLog small = MakeSmallLog(directory_, TinyOptions());
  const std::string bytes = Slurp(small.file);
  std::vector<std::string> replayed;
  const std::pair<const char*, std::string> leftovers[] = {
      {"empty", ""},
      {"zeros", std::string(64 << 10, '\0')},
      {"zeros of another size", std::string(12345, '\0')},
      {"renamed, its header not yet written", bytes},
  };
  for (const auto& [what, content] : leftovers) {
    for (uint64_t number : {2, 3, 7}) {
      SCOPED_TRACE(what + std::to_string(number));
      Spill(small.file, bytes);
      Spill(LogSegmentPath(directory_, number), content);
      const ReadBack back = ReadLog(directory_);
      ASSERT_FALSE(back.damage) << *back.damage;
      ASSERT_EQ(back.records, small.records);
      replayed.clear();
      auto log = OpenLog(directory_, TinyOptions(), &replayed);
      ASSERT_EQ(replayed, small.records);
      for (int i = 0; i < 40; ++i) {
        replayed.push_back(NumberedRecord(100 + i, 5000));
        log->WaitDurable(log->Append(replayed.back()).end);
      }
      log.reset();
      ASSERT_EQ(ReadLog(directory_).records, replayed);
      for (const SegmentInfo& info : ListLogSegments(directory_, IoMode::kBuffered)) {
        ASSERT_TRUE(info.in_use());
        std::filesystem::remove(info.path);
      }
    }
  }
}

// Half of the header is new, as after a write that failed in the middle. The segment before it does
// not record that this one was made.
TEST_F(LogRecoveryTest, ALastSegmentWhoseHeaderIsHalfWrittenIsTakenOver) {
  const SmallLog small = MakeSmallLog(directory_, TinyOptions());
  std::string half = Slurp(small.file);
  half.replace(20, 20, 20, 'x');
  Spill(LogSegmentPath(directory_, 2), half);
  EXPECT_EQ(ReadLog(directory_).records, small.records);
  std::vector<std::string> replayed;
  OpenLog(directory_, TinyOptions(), &replayed);
  EXPECT_EQ(replayed, small.records);
  // Half of a header is damage when another segment follows, or when its number is not the next.
  Spill(LogSegmentPath(directory_, 2), half);
  Spill(LogSegmentPath(directory_, 3), "");
  EXPECT_TRUE(ReadLog(directory_).damage);
  std::filesystem::remove(LogSegmentPath(directory_, 3));
  std::filesystem::rename(LogSegmentPath(directory_, 2), LogSegmentPath(directory_, 4));
  EXPECT_TRUE(ReadLog(directory_).damage);
}

class LogSegmentsLostTest : public LogRecoveryTest {
 protected:
  void SetUp() override {
    LogRecoveryTest::SetUp();
    auto log = OpenLog(directory_, TinyOptions());
    for (int i = 0; i < 60; ++i) {
      records_.push_back(NumberedRecord(i, 5000));
      ranges_.push_back(log->Append(records_.back()));
      log->WaitDurable(ranges_.back().end);
    }
    log.reset();
    ASSERT_EQ(ReadLog(directory_).records, records_);
    segments_ = ListLogSegments(directory_, IoMode::kBuffered);
    ASSERT_GE(segments_.size(), 5u);
  }
  std::vector<std::string> records_;
  std::vector<LogRange> ranges_;
  std::vector<SegmentInfo> segments_;
};

TEST_F(LogSegmentsLostTest, AMissingSegmentIsDamage) {
  std::filesystem::remove(segments_[2].path);
  const ReadBack back = ReadLog(directory_);
  ASSERT_TRUE(back.damage);
  EXPECT_THAT(*back.damage, HasSubstr(segments_[1].path));
}

// No later segment shows that the last one is missing, so the one before it must tell.
TEST_F(LogSegmentsLostTest, AMissingLastSegmentIsDamage) {
  const std::string last = segments_.back().path;
  const std::string bytes = Slurp(last);
  std::filesystem::remove(last);
  EXPECT_THAT(ReadLog(directory_).damage.value_or(""), HasSubstr(last));
  Spill(last, "");
  EXPECT_THAT(ReadLog(directory_).damage.value_or(""), HasSubstr(last));
  Spill(last, std::string(bytes.size(), '\0'));
  EXPECT_THAT(ReadLog(directory_).damage.value_or(""), HasSubstr(last));
  Spill(last, Slurp(segments_.front().path));
  EXPECT_THAT(ReadLog(directory_).damage.value_or(""), HasSubstr(last));
  Spill(last, bytes);
  EXPECT_EQ(ReadLog(directory_).records, records_);
}

TEST_F(LogSegmentsLostTest, ExchangedSegmentsAreDamage) {
  std::filesystem::rename(segments_[0].path, directory_ + "/away");
  std::filesystem::rename(segments_[1].path, segments_[0].path);
  std::filesystem::rename(directory_ + "/away", segments_[1].path);
  EXPECT_THAT(ReadLog(directory_).damage.value_or(""), HasSubstr(segments_[0].path));
}

// The segment has no frame any more, and later segments have some.
TEST_F(LogSegmentsLostTest, ASegmentOfZerosIsDamage) {
  for (size_t i = 0; i + 1 < segments_.size(); ++i) {
    const std::string bytes = Slurp(segments_[i].path);
    Spill(segments_[i].path, bytes.substr(0, kSegmentHeaderBytes) +
                                 std::string(bytes.size() - kSegmentHeaderBytes, '\0'));
    EXPECT_TRUE(ReadLog(directory_).damage) << i;
    Spill(segments_[i].path, bytes);
  }
}

TEST_F(LogSegmentsLostTest, ABlankedHeaderIsDamage) {
  for (size_t i = 1; i < segments_.size(); ++i) {
    std::string bytes = Slurp(segments_[i].path);
    Spill(segments_[i].path, std::string(4096, '\0') + bytes.substr(4096));
    // The last segment counts, too, because it holds more than one synced group.
    EXPECT_TRUE(ReadLog(directory_).damage) << i;
    Spill(segments_[i].path, bytes);
  }
}

TEST_F(LogSegmentsLostTest, WhatIsNeededAndNotThereIsDamage) {
  const Lsn middle = ranges_[30].begin;
  EXPECT_EQ(ReadLog(directory_, middle).records,
            std::vector<std::string>(records_.begin() + 30, records_.end()));
  EXPECT_THAT(ReadLog(directory_, ranges_.back().end).records, ElementsAre());
  EXPECT_FALSE(ReadLog(directory_, ranges_.back().end).damage);
  EXPECT_TRUE(ReadLog(directory_, ranges_.back().end + 100000).damage);
  std::filesystem::remove(segments_[0].path);
  EXPECT_TRUE(ReadLog(directory_, ranges_[0].begin).damage);
  EXPECT_FALSE(ReadLog(directory_, middle).damage);
  for (const SegmentInfo& info : segments_) std::filesystem::remove(info.path);
  EXPECT_THAT(ReadLog(directory_, middle).damage.value_or(""), HasSubstr("holds no log"));
  EXPECT_THROW(OpenLog(directory_, TinyOptions(), nullptr, middle), Error);
  EXPECT_TRUE(ReadLog(directory_).records.empty());
}

TEST_F(LogSegmentsLostTest, ASegmentOfAnotherLogIsNoticed) {
  const std::string other = Fresh("other");
  OpenLog(other, TinyOptions()).reset();
  std::filesystem::copy_file(LogSegmentPath(other, 1), LogSegmentPath(directory_, 99));
  EXPECT_THAT(ReadLog(directory_).damage.value_or(""), HasSubstr("two different databases"));
}

TEST_F(LogSegmentsLostTest, FramesOfAnotherLogAreNot) {
  const std::string other = Fresh("other");
  MakeSmallLog(other, TinyOptions());
  // The segment gets the header of this log, and frames of the other log at the same positions.
  std::string bytes = Slurp(LogSegmentPath(other, 1));
  bytes.replace(0, kSegmentHeaderBytes, Slurp(segments_[0].path), 0, kSegmentHeaderBytes);
  Spill(LogSegmentPath(Fresh("mixed"), 1), bytes);
  EXPECT_THAT(ReadLog(directory_ + "/mixed").records, ElementsAre());
}

TEST_F(LogRecoveryTest, AFrameIsValidInItsLogAtItsPositionOnly) {
  std::string frame(kFrameHeaderBytes + kRecordHeaderBytes + 3, 'r');
  const uint32_t n = 3;
  memcpy(frame.data() + kFrameHeaderBytes, &n, sizeof n);
  FrameHeader header;
  header.length = header.span = static_cast<uint32_t>(frame.size());
  header.records = 1;
  header.durable = 500;
  SealFrame(77, 100000, header, frame.data());
  FrameHeader read;
  ASSERT_TRUE(PlausibleFrame(100000, frame.size(), frame.data(), &read));
  EXPECT_TRUE(ValidFrame(77, 100000, read, frame.data()));
  EXPECT_FALSE(ValidFrame(78, 100000, read, frame.data()));
  for (Lsn other : {Lsn{0}, Lsn{99999}, Lsn{100000 + (64 << 10)}, Lsn{100000ull << 32}}) {
    EXPECT_FALSE(ValidFrame(77, other, read, frame.data())) << other;
  }
  EXPECT_FALSE(PlausibleFrame(100000, frame.size() - 1, frame.data(), &read)) << "no room for it";
  EXPECT_FALSE(PlausibleFrame(499, frame.size(), frame.data(), &read)) << "durable beyond itself";
}

TEST_F(LogRecoveryTest, AnotherFormatVersionIsAUsageError) {
  MakeSmallLog(directory_, TinyOptions());
  const std::string file = LogSegmentPath(directory_, 1);
  std::string bytes = Slurp(file);
  bytes[8] = 2;  // version; a program of that version would also write a matching checksum
  SegmentHeader header;
  EXPECT_EQ(DecodeSegmentHeader({bytes.data(), kSegmentHeaderUsed}, file, &header),
            HeaderState::kDamaged);
  const uint64_t checksum = SegmentHeaderChecksum(bytes.data());
  memcpy(bytes.data() + kSegmentHeaderUsed - 8, &checksum, 8);
  try {
    DecodeSegmentHeader({bytes.data(), kSegmentHeaderUsed}, file, &header);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    EXPECT_THAT(e.what(), HasSubstr("version 2"));
  }
}

}  // namespace
}  // namespace testbed

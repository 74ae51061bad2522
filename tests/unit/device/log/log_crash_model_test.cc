// Tests a log under random work and power cuts against a model. A power cut is simulated from two
// pictures of the files: one of the last moment at which everything written was durable, and one of
// now. Each sector that differs between them may have its old or its new contents. A disk may do no
// more than that, and a file system does less.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/unit/device/log/log_test_util.h"

namespace testbed {
namespace {

constexpr size_t kSector = 512;
using Files = std::map<std::string, std::string>;

Files Picture(const std::string& directory) {
  Files files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    files[entry.path().filename()] = Slurp(entry.path());
  }
  return files;
}

// Returns the durable contents of a segment that was made since the last picture: its header, and
// zeros.
std::string JustMade(const std::string& now, LogSpace space) {
  std::string made = now.substr(0, kSegmentHeaderUsed);
  if (space == LogSpace::kRecycled || space == LogSpace::kFallocated) made.resize(now.size());
  return made;
}

class LogCrashModelTest : public LogTestInMemory {
 protected:
  LogOptions RandomOptions() {
    LogOptions options;
    options.segment_bytes = (64 << 10) << Pick(2);
    options.buffer_bytes = 64 << 10;
    options.min_segments = static_cast<uint32_t>(Pick(4));
    options.reserve = Pick(2);
    options.write_size = std::vector<uint32_t>{512, 4096, 8192}[Pick(3)];
    options.pad = Pick(2);
    options.mode = Pick(4) == 0 ? IoMode::kDirect : IoMode::kBuffered;
    options.space = static_cast<LogSpace>(Pick(4));
    options.sync = static_cast<LogSync>(Pick(3));
    return options;
  }
  uint64_t Pick(uint64_t n) { return random_() % n; }

  // Returns files that the directory may hold after a power cut that loses each unsynced sector
  // with this probability.
  Files Cut(const Files& synced, const Files& now, LogSpace space, uint64_t percent) {
    Files cut;
    for (const auto& [name, bytes] : now) {
      auto found = synced.find(name);
      const std::string old = found != synced.end() ? found->second : JustMade(bytes, space);
      std::string& mixed = cut[name] = bytes;
      for (size_t at = 0; at < bytes.size(); at += kSector) {
        const size_t n = std::min(kSector, bytes.size() - at);
        std::string before = at < old.size() ? old.substr(at, n) : "";
        before.resize(n);
        if (bytes.compare(at, n, before) != 0 && Pick(100) < percent) mixed.replace(at, n, before);
      }
      // The size of a file is metadata, which a power cut can lose, too.
      if (bytes.size() > old.size() && Pick(100) < percent) mixed.resize(old.size());
    }
    return cut;
  }

  // Opens the log, compares the replay with the model, does random work, and makes a power cut into
  // a new directory.
  void Session(int number);

  std::mt19937_64 random_;
  std::vector<std::string> records_;  // the model of the log's records
  std::vector<LogRange> ranges_;
  size_t durable_ = 0;  // records_ that were acknowledged
  size_t base_ = 0;     // least number of records_ that were truncated away
  uint64_t next_ = 0;   // number of the next record
  std::string current_;
};

void LogCrashModelTest::Session(int number) {
  LogOptions options = RandomOptions();
  size_t replayed = 0;
  const Lsn from = base_ == 0 ? 0 : ranges_[base_].begin;
  std::unique_ptr<Log> log;
  try {
    log = Log::Open(current_, options, from, [&](const LogRecord& r) {
      const size_t i = base_ + replayed++;
      ASSERT_LT(i, records_.size());
      ASSERT_EQ(r.bytes, records_[i]);
      ASSERT_EQ(r.lsn, ranges_[i].begin);
      ASSERT_EQ(r.end, ranges_[i].end);
    });
  } catch (const Error& e) {
    // Direct IO, or that of this size, may be impossible on this machine. Nothing else may fail.
    ASSERT_EQ(e.kind(), Error::kUsage) << e.what();
    return;
  }
  ASSERT_FALSE(HasFatalFailure());
  ASSERT_GE(base_ + replayed, durable_) << "acknowledged records are lost";
  records_.resize(base_ + replayed);
  ranges_.resize(base_ + replayed);
  durable_ = records_.size();

  Files synced = Picture(current_);
  const uint64_t steps = Pick(25);
  for (uint64_t step = 0; step < steps; ++step) {
    switch (Pick(8)) {
      case 0:
        log->Sync();
        break;
      case 1:
        log->WaitDurable(log->EndLsn());
        break;
      case 2:
        log->Write(log->EndLsn());
        break;
      case 3:
        if (log->DurableLsn() >= log->EndLsn() && durable_ > base_ + 1) {
          base_ += Pick(durable_ - base_ - 1);
          log->TruncateBefore(ranges_[base_].begin);
          synced = Picture(current_);
        }
        break;
      default: {
        // Few sizes are used, so that frames of different sessions begin at the same positions.
        const size_t size = Pick(12) == 0 ? Pick(30000) : 100 * Pick(4);
        records_.push_back(NumberedRecord(next_++, size));
        ranges_.push_back(log->Append(records_.back()));
      }
    }
    if (log->DurableLsn() >= log->WrittenLsn()) synced = Picture(current_);
    while (durable_ < records_.size() && ranges_[durable_].end <= log->DurableLsn()) ++durable_;
  }
  const uint64_t percent = std::vector<uint64_t>{0, 100, 50, 10, 90}[Pick(5)];
  const Files cut = Cut(synced, Picture(current_), options.space, percent);
  // The log is still open in current_, and may make a segment there when it is closed.
  current_ = Fresh("after-" + std::to_string(number));
  for (const auto& [name, bytes] : cut) Spill(current_ + "/" + name, bytes);
}

TEST_F(LogCrashModelTest, NothingAcknowledgedIsLostAndNothingElseComesBack) {
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    random_.seed(seed);
    records_.clear();
    ranges_.clear();
    durable_ = base_ = 0;
    current_ = Fresh("start");
    for (int session = 1; session <= 10; ++session) {
      Session(session);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace testbed

// Tests a failed call of a log, and a power cut while the log is opened again. What the failed call
// has left can be read until the cut and be lost after it.
//
// TESTBED_FAULT_STRIDE is the distance between the cuts that are tried; without it, it is 3.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device/error.h"
#include "device/file/file.h"
#include "device/log/log.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

// The log is written by direct IO: what a failed sync has left stays readable until the cut.
class LogReopeningTest : public testing::Test {
 protected:
  LogReopeningTest() {
    options_.mode = IoMode::kDirect;
    options_.segment_bytes = options_.buffer_bytes = 64 << 10;
  }
  void SetUp() override {
    // Thousands of files are made in memory much faster, where its file system has direct IO.
    for (const std::string& parent : {std::string("/dev/shm"), fs::current_path().string()}) {
      std::string pattern = parent + "/log_reopening_XXXXXX";
      if (::mkdtemp(pattern.data()) == nullptr) continue;
      base_ = pattern;
      dir_ = base_ + "/disk";
      try {
        FileOptions direct;
        direct.mode = IoMode::kDirect;
        direct.create = FileOptions::kMustCreate;
        File::Open(base_ + "/file", direct);
        return;
      } catch (const Error&) {
        fs::remove_all(base_);
      }
    }
    GTEST_SKIP() << "no direct IO here";
  }
  ~LogReopeningTest() override { fs::remove_all(base_); }

  static uint64_t Stride() {
    const char* set = ::getenv("TESTBED_FAULT_STRIDE");
    return set == nullptr ? 3 : std::max<uint64_t>(1, std::strtoull(set, nullptr, 10));
  }

  void Start() {
    fs::remove_all(dir_);
    fs::create_directories(dir_ + "/log");
    FileOptions data;
    data.create = FileOptions::kMustCreate;
    const uint64_t none = 0;
    const auto file = File::Open(dir_ + "/data", data);
    file->Write(0, &none, sizeof none);
    file->Sync(true);
    from_ = acknowledged_ = 0;
    id_ = 0;
  }

  // Opens the log in `dir` like a database that applies each record to its data file at once.
  std::unique_ptr<Log> Open(const std::string& dir, const LogOptions& options) {
    const auto data = File::Open(dir + "/data", FileOptions{});
    replayed_.clear();
    auto log = Log::Open(
        dir + "/log", options, from_,
        [&](const LogRecord& record) {
          uint64_t number;
          std::memcpy(&number, record.bytes.data(), sizeof number);
          replayed_.push_back(number);
          data->Write(0, &number, sizeof number);
          data->Sync();
        },
        id_);
    id_ = log->id();
    return log;
  }

  // Writes records up to number `stop`, or until an error. The log keeps only the last ones.
  void Write(Log* log, uint64_t stop) {
    while (acknowledged_ < stop) {
      const uint64_t number = acknowledged_ + 1;
      std::string record(15000, static_cast<char>('a' + number % 26));
      std::memcpy(record.data(), &number, sizeof number);
      const LogRange range = log->Append(record);
      log->WaitDurable(range.end);
      acknowledged_ = number;
      from_ = range.begin;
      log->TruncateBefore(from_);
    }
  }

  // Runs a session, which an error ends. Returns whether it came to its end.
  bool Session(const LogOptions& options, uint64_t stop) {
    try {
      const auto log = Open(dir_, options);
      // A record that was replayed is durable, also when the session that wrote it was not told so.
      if (!replayed_.empty()) acknowledged_ = replayed_.back();
      Write(log.get(), stop);
      return true;
    } catch (const Error&) {
      return false;
    }
  }

  // Expects that the log as it is on the device opens and has what is needed.
  void ExpectAll(const FailingDisk& disk) {
    const std::string cut = base_ + "/cut";
    disk.CopyTo(cut);
    uint64_t applied = 0;
    File::Open(cut + "/data", FileOptions{})->Read(0, &applied, sizeof applied);
    try {
      Open(cut, options_);
    } catch (const Error& e) {
      ADD_FAILURE() << "does not open: " << e.what();
      return;
    }
    const uint64_t last = replayed_.empty() ? 0 : replayed_.back();
    EXPECT_GE(last, acknowledged_);
    EXPECT_LE(applied, last) << "was applied, and the log has lost it";
    for (size_t i = 1; i < replayed_.size(); ++i) EXPECT_EQ(replayed_[i], replayed_[i - 1] + 1);
  }

  // Calls `sessions` with each call of the kind failing in turn, and then opens the log with
  // `options` while the power is cut at each call in turn.
  void Sweep(DiskCall kind, const LogOptions& options,
             const std::function<void(FailingDisk*)>& sessions) {
    bool failed = true;
    uint64_t call = 0;
    for (; failed; ++call) {
      bool cut = true;
      for (uint64_t calls = 1 + call % Stride(); failed && cut; calls += Stride()) {
        SCOPED_TRACE("call " + std::to_string(call) + ", cut after " + std::to_string(calls));
        Start();
        FailingDisk disk(dir_);
        sessions_fault_ = {kind, call};
        sessions(&disk);
        failed = disk.failed() > 0;
        disk.Heal();
        disk.CutAfter(calls, call + calls);
        Session(options, 14);
        cut = disk.is_cut();
        disk.Cut(calls);
        ExpectAll(disk);
        if (HasFailure()) return;
      }
      ASSERT_LT(call, 1000u);
    }
    EXPECT_GT(call, 1u) << "there was no call of the kind that could fail";
  }

  std::string base_, dir_;
  LogOptions options_;
  DiskFault sessions_fault_;
  Lsn from_ = 0;
  uint64_t id_ = 0, acknowledged_ = 0;
  std::vector<uint64_t> replayed_;
};

TEST_F(LogReopeningTest, WhatAFailedCallLeftIsNotBuiltOn) {
  std::vector<DiskCall> kinds{DiskCall::kSync};
  if (::getenv("TESTBED_FAULT_STRIDE") != nullptr) {
    kinds.insert(kinds.end(), {DiskCall::kSyncDirectory, DiskCall::kRename, DiskCall::kWrite});
  }
  for (const DiskCall kind : kinds) {
    SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)));
    Sweep(kind, options_, [this](FailingDisk* disk) {
      EXPECT_TRUE(Session(options_, 2));
      disk->Fail(sessions_fault_);
      Session(options_, 12);
    });
  }
}

// Segments of another size are removed and not recycled. A call of the opening that removes them
// fails.
TEST_F(LogReopeningTest, ASegmentThatIsRemovedWasDisownedDurably) {
  LogOptions other = options_;
  other.segment_bytes = 128 << 10;
  Sweep(DiskCall::kSync, other, [this, other](FailingDisk* disk) {
    LogOptions many = options_;
    many.min_segments = 4;
    EXPECT_TRUE(Session(many, 2));
    disk->Fail(sessions_fault_);
    Session(other, 3);
  });
}

// Each write in turn ends in its middle, so that a header may be written by half.
TEST_F(LogReopeningTest, AHeaderThatWasWrittenByHalfIsPutBack) {
  options_.mode = IoMode::kBuffered;
  bool failed = true;
  uint64_t call = 0;
  for (; failed; ++call) {
    SCOPED_TRACE("call " + std::to_string(call));
    Start();
    FailingDisk disk(dir_);
    disk.Fail({DiskCall::kWrite, call});
    Session(options_, 14);
    failed = disk.failed() > 0;
    disk.Heal();
    const uint64_t acknowledged = acknowledged_;
    EXPECT_TRUE(Session(options_, 14)) << "does not open again";
    EXPECT_GE(acknowledged_, acknowledged);
    if (HasFailure()) return;
    ASSERT_LT(call, 1000u);
  }
  EXPECT_GT(call, 1u) << "there was no write that could fail";
}

}  // namespace
}  // namespace testbed

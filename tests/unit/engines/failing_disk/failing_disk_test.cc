// The sweep of failing calls. Each call of each kind fails in turn, alone or with all later ones,
// on a disk that fails as under Linux (failing_disk.h). Then the clients go on, or the database is
// opened again on the running machine. Then the power is cut, at once or at some later call. The
// database must open again, with every acknowledged commit and without half a commit.
//
// TESTBED_FAULT_STRIDE is the distance between the calls that are tried; 1 tries all. Without it, a
// few calls are tried, each in half of the ways: the half is chosen such that any two of the three
// choices of a way occur in all four combinations. The next call is tried in the other half.
#include "tests/unit/engines/failing_disk/failing_disk.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "device/error.h"
#include "tests/unit/engines/failing_disk/acknowledged.h"
#include "tests/unit/engines/failing_disk/disk_fault_database.h"
#include "tools/database/copy_tree.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

struct Fault {
  const char* name;
  DiskCall call;
  int error;
};

using FaultCase = std::tuple<FaultMode, Fault>;

class FailingDiskTest : public testing::TestWithParam<FaultCase> {
 protected:
  FailingDiskTest() {
    std::string pattern = fs::current_path() / "failing_disk_XXXXXX";
    base_ = ::mkdtemp(pattern.data());
    dir_ = base_ + "/disk";
    database_ = mode().make();
  }
  ~FailingDiskTest() override {
    database_.reset();
    fs::remove_all(base_);
  }
  static FaultMode mode() { return std::get<0>(GetParam()); }
  static Fault fault() { return std::get<1>(GetParam()); }
  // Returns the database's directory, which the engine creates together with its parent.
  std::string Database() const { return dir_ + "/new/db"; }

  // The variants in which a call is tried.
  struct Way {
    bool lasts, reopens;
    uint64_t cut;  // number of calls after which the power is cut; UINT64_MAX: at the end
  };

  void Commit(uint64_t range) {
    const int number = ++number_;
    std::map<std::string, FaultRow> rows;
    for (int j = 0; j < 4; ++j) {
      FaultRow& row = rows["key" + std::to_string(random_() % range)];
      if (random_() % 8 == 0) continue;
      std::string value(random_() % 30 == 0 ? 9000 : 50 + random_() % 250, 'v');
      if (number % 3 != 0) {
        for (char& c : value) c = static_cast<char>(random_());  // cannot be compressed
      }
      row = std::to_string(number) + ":" + value;
    }
    known_.Begin(number, rows);
    database_->Commit(rows);
    known_.End(number);
  }

  // Takes a checkpoint, and ignores its errors as a careless client does.
  void CheckpointOrGoOn() {
    try {
      database_->Checkpoint();
    } catch (const Error&) {
      std::this_thread::yield();
    }
  }

  // Opens the database, writes and closes it, going on after errors. Returns whether it opened.
  bool Run(int commits, uint64_t range) {
    bool opened = false;
    try {
      database_->Open(Database(), true);
      opened = true;
    } catch (const Error& e) {
      why_ = e.what();
      ++errors_;
    }
    std::atomic<bool> stop{false};
    std::vector<std::thread> checkpointers;
    for (int i = 0; opened && i < checkpointers_; ++i) {
      checkpointers.emplace_back([&] {
        while (!stop) CheckpointOrGoOn();
      });
    }
    for (int i = 0; opened && i < commits; ++i) {
      try {
        Commit(range);
        if (i % 40 == 20) database_->Checkpoint();
      } catch (const Error&) {
        ++errors_;
      }
    }
    stop = true;
    for (std::thread& thread : checkpointers) thread.join();
    database_->Close();
    return opened;
  }

  // Expects that a copy of the device after the cut is sound and has all rows.
  void ExpectAll(const FailingDisk& disk) {
    const std::string cut = dir_ + ".cut";
    disk.CopyTo(cut);
    const std::string copy = cut + "/new/db";
    if (!database_->Exists(copy)) {
      EXPECT_FALSE(known_.any()) << "the database is gone";
      if (known_.any()) ++unopened_;
      return;
    }
    try {
      database_->Open(copy, false);
      const auto [lost, halves] = known_.Lost(database_.get());
      EXPECT_EQ(lost, 0) << "of " << known_.rows() << " rows";
      EXPECT_EQ(halves, 0) << "commits are there by half";
      lost_ += lost;
    } catch (const Error& e) {
      ++unopened_;
      ADD_FAILURE() << "does not open: " << e.what();
    }
    database_->Close();
    EXPECT_EQ(database_->Check(copy), "");
  }

  void Start() {
    fs::remove_all(dir_);
    fs::create_directories(dir_);
    known_.Clear();
    errors_ = number_ = 0;
    random_.seed(7);
  }

  void Try(uint64_t call, const Way& way) {
    Start();
    FailingDisk disk(dir_, mode().whole_blocks);
    disk.Fail({fault().call, call, fault().error, way.lasts});
    if (way.cut != UINT64_MAX) disk.CutAfter(way.cut, call);
    Run(database_->commits(), 300);
    if (disk.failed() > 0) ++hit_;
    disk.Heal();
    if (way.reopens) {
      const bool opened = Run(database_->commits() / 3, 60);
      if (!opened && !disk.is_cut()) {
        ++unopened_;
        ADD_FAILURE() << "does not open again: " << why_;
      }
    }
    disk.Cut(call + 1);
    ExpectAll(disk);
    ++tried_;
  }

  // Returns the distance between the calls that are tried, of `places` calls.
  static uint64_t Stride(uint64_t places) {
    const char* set = ::getenv("TESTBED_FAULT_STRIDE");
    return std::max<uint64_t>(1, set != nullptr ? std::strtoull(set, nullptr, 10) : places / 2);
  }

  std::string base_, dir_, why_;
  std::unique_ptr<FaultDatabase> database_;
  Acknowledged known_;
  std::mt19937_64 random_{7};
  int errors_ = 0, number_ = 0;
  int checkpointers_ = 0;   // number of threads that take checkpoints beside the commits
  bool cut_short_ = false;  // the power was cut before the last session had ended
  uint64_t hit_ = 0, tried_ = 0, unopened_ = 0, lost_ = 0;
};

TEST_P(FailingDiskTest, LosesNothingThatWasAcknowledged) {
  Start();
  uint64_t calls = 0, all = 0;
  {
    FailingDisk disk(dir_, mode().whole_blocks);
    disk.Fail({fault().call, UINT64_MAX, fault().error});
    ASSERT_TRUE(Run(database_->commits(), 300)) << why_;
    ASSERT_EQ(errors_, 0);
    calls = disk.calls();
    all = disk.all_calls();
    disk.Cut(1);
    ExpectAll(disk);
  }
  if (calls == 0) GTEST_SKIP() << "makes no such calls";
  const bool sample = ::getenv("TESTBED_FAULT_STRIDE") == nullptr;
  const uint64_t stride = Stride(calls), first = sample ? stride / 2 : 0;
  const bool halves = sample && first + stride < calls;
  int number = 0;
  for (uint64_t call = first; call < calls; call += stride, ++number) {
    for (const bool lasts : {false, true}) {
      for (const bool reopens : {false, true}) {
        for (const uint64_t cut : {UINT64_MAX, random_() % (all + all / 3)}) {
          const int choices = int{lasts} + int{reopens} + int{cut != UINT64_MAX};
          if (halves && choices % 2 != number % 2) continue;
          SCOPED_TRACE("call " + std::to_string(call) + (lasts ? " and all after it" : "") +
                       (reopens ? ", opened again" : "") +
                       (cut == UINT64_MAX ? "" : ", cut at " + std::to_string(cut)));
          Try(call, {lasts, reopens, cut});
          // A few failures are enough to see the cause.
          if (HasFailure() && unopened_ + lost_ > 40) return;
        }
      }
    }
  }
  EXPECT_GT(hit_, tried_ / 4);
  RecordProperty("tried", static_cast<int>(tried_));
  RecordProperty("lost", static_cast<int>(lost_));
  RecordProperty("unopened", static_cast<int>(unopened_));
}

// Calls fail while a database recovers from a power cut. Whether that opening succeeds or not, the
// next one must find every acknowledged commit, and so must one after another power cut.
TEST_P(FailingDiskTest, RecoveryLosesNothingThatWasAcknowledged) {
  Start();
  uint64_t all = 0;
  {
    FailingDisk disk(dir_, mode().whole_blocks);
    ASSERT_TRUE(Run(database_->commits(), 300)) << why_;
    all = disk.all_calls();
  }
  Start();
  const std::string crashed = base_ + "/crashed";
  {
    FailingDisk disk(dir_, mode().whole_blocks);
    disk.CutAfter(all * 7 / 10, 1);
    Run(database_->commits(), 300);
    disk.CopyTo(crashed);
  }
  ASSERT_TRUE(known_.any());
  const auto recover = [&] {
    database_->Open(Database(), false);
    database_->Close();
  };
  const auto restore = [&] {
    fs::remove_all(dir_);
    CopyTree(crashed, dir_);
  };
  restore();
  uint64_t calls = 0;
  {
    FailingDisk disk(dir_, mode().whole_blocks);
    disk.Fail({fault().call, UINT64_MAX, fault().error});
    recover();
    calls = disk.calls();
    disk.Cut(1);
    ExpectAll(disk);
  }
  if (calls == 0) GTEST_SKIP() << "makes no such calls in recovery";
  for (uint64_t call = 0; call < calls; call += Stride(calls)) {
    for (const bool lasts : {false, true}) {
      SCOPED_TRACE("call " + std::to_string(call) + (lasts ? " and all after it" : ""));
      restore();
      FailingDisk disk(dir_, mode().whole_blocks);
      disk.Fail({fault().call, call, fault().error, lasts});
      try {
        recover();
      } catch (const Error&) {
        database_->Close();
      }
      EXPECT_GT(disk.failed(), 0u);
      disk.Heal();
      try {
        recover();
      } catch (const Error& e) {
        ADD_FAILURE() << "does not open again: " << e.what();
      }
      disk.Cut(call + 1);
      ExpectAll(disk);
    }
  }
}

// A session that commits nothing writes, too: frames of the log, tables, headers, states. When one
// of its calls fails, the next session must not take for durable what only the page cache holds.
class IdleFailingDiskTest : public FailingDiskTest {};

TEST_P(IdleFailingDiskTest, LosesNothing) {
  uint64_t calls = 0;
  const auto try_call = [&](uint64_t call, bool lasts) {
    Start();
    FailingDisk disk(dir_, mode().whole_blocks);
    ASSERT_TRUE(Run(database_->commits(), 300)) << why_;
    disk.Fail({fault().call, call, fault().error, lasts});
    Run(0, 1);
    calls = disk.calls();
    disk.Heal();
    EXPECT_TRUE(Run(database_->commits() / 3, 60)) << "does not open again: " << why_;
    disk.Cut(call + 1);
    ExpectAll(disk);
  };
  try_call(UINT64_MAX, false);
  const uint64_t all = calls;
  if (all == 0) GTEST_SKIP() << "makes no such calls";
  for (uint64_t call = 0; call < all; call += Stride(all)) {
    for (const bool lasts : {false, true}) {
      if (lasts && ::getenv("TESTBED_FAULT_STRIDE") == nullptr) continue;
      SCOPED_TRACE("call " + std::to_string(call) + (lasts ? " and all after it" : ""));
      try_call(call, lasts);
    }
  }
}

// For tests that choose their faults themselves.
class FailingDiskModeTest : public FailingDiskTest {};

// The directories exist but are not durable, because the user made them, or a process was killed
// before it synced their parents. A power cut removes them.
TEST_P(FailingDiskModeTest, DirectoriesThatWereThereAreNotTakenForDurable) {
  for (uint64_t seed = 1; seed < 7; ++seed) {
    Start();
    FailingDisk disk(dir_, mode().whole_blocks);
    fs::create_directories(Database());
    ASSERT_TRUE(Run(20, 300)) << why_;
    disk.Cut(seed);
    ExpectAll(disk);
  }
}

// The last sync of a session fails, but its data can still be read. The next session must not rely
// on them, since a power cut in its recovery or soon after loses them.
TEST_P(FailingDiskModeTest, WhatAFailedSyncLeftIsNotBuiltOn) {
  const bool all = ::getenv("TESTBED_FAULT_STRIDE") != nullptr;
  const uint64_t step = all ? 1 : 5;
  std::vector<DiskCall> kinds{DiskCall::kSync};
  std::vector<int> commits{21};  // a checkpoint comes with the 21st
  if (all) {
    kinds.push_back(DiskCall::kMsync);
    commits.push_back(27);
  }
  uint64_t failed = 0;
  for (const DiskCall call : kinds) {
    for (const int before : commits) {
      bool cut = true;
      for (uint64_t calls = 1; cut && calls < 400; calls += step) {
        SCOPED_TRACE(std::string(call == DiskCall::kSync ? "sync, " : "msync, ") +
                     std::to_string(before) + " commits, cut after " + std::to_string(calls));
        Start();
        FailingDisk disk(dir_, mode().whole_blocks);
        ASSERT_TRUE(Run(before, 300)) << why_;
        database_->Open(Database(), true);
        disk.Fail({call, 0, EIO, true});
        for (int i = 0; i < 2; ++i) {
          try {
            Commit(300);
            database_->Checkpoint();
          } catch (const Error&) {
            ++errors_;
          }
        }
        database_->Close();
        failed += disk.failed();
        disk.Heal();
        disk.CutAfter(calls, calls);
        Run(6, 60);
        cut = disk.is_cut();
        disk.Cut(calls);
        ExpectAll(disk);
        if (HasFailure() && unopened_ + lost_ > 10) return;
      }
    }
  }
  // Each write with O_DSYNC is durable, so that this log needs no calls of sync.
  if (std::string(mode().name) == "log_dsync") return;
  EXPECT_GT(failed, 0u) << "no call failed";
}

// A call fails, the database is opened again, and the power is cut during the opening or soon
// after. What the failed call has left, such as a header or a name, can be read until the cut and
// be lost after it.
TEST_P(FailingDiskModeTest, AnOpeningThatIsCutBuildsOnNothingThatAFailedCallLeft) {
  const bool sample = ::getenv("TESTBED_FAULT_STRIDE") == nullptr;
  std::vector<DiskCall> kinds{DiskCall::kSync};
  if (!sample) {
    kinds.insert(kinds.end(), {DiskCall::kMsync, DiskCall::kWrite, DiskCall::kRename,
                               DiskCall::kTruncate, DiskCall::kSyncDirectory});
  }
  for (const DiskCall kind : kinds) {
    uint64_t calls = UINT64_MAX;
    const auto try_cut = [&](uint64_t call, uint64_t cut) {
      SCOPED_TRACE("call " + std::to_string(call) + " of kind " +
                   std::to_string(static_cast<int>(kind)) + ", cut after " + std::to_string(cut));
      Start();
      FailingDisk disk(dir_, mode().whole_blocks);
      ASSERT_TRUE(Run(1, 300)) << why_;
      disk.Fail({kind, call, EIO});
      Run(60, 300);
      calls = disk.calls();
      disk.Heal();
      disk.CutAfter(cut, call + cut);
      Run(2, 60);
      cut_short_ = disk.is_cut();
      disk.Cut(cut);
      ExpectAll(disk);
    };
    try_cut(UINT64_MAX, UINT64_MAX);
    const uint64_t all = calls, stride = sample ? all / 4 + 1 : Stride(all);
    for (uint64_t call = stride / 2; call < all; call += stride) {
      cut_short_ = true;
      for (uint64_t cut = 1; cut_short_ && cut < 400; cut += sample ? 45 : stride) {
        try_cut(call, cut);
        if (HasFailure() && unopened_ + lost_ > 10) return;
      }
    }
  }
}

// The kernel fails to write dirty pages back, and reclaims their memory. Until the next sync, reads
// return older versions without an error.
TEST_P(FailingDiskModeTest, AWriteBackThatFailedIsNotReadOver) {
  if (std::string(mode().name).find("direct") != std::string::npos) {
    GTEST_SKIP() << "direct writes pass by the page cache";
  }
  if (!database_->reads()) GTEST_SKIP() << "nothing is read while it is open";
  int told = 0;
  for (int commits = 300; commits < 900; commits += 75) {
    SCOPED_TRACE(std::to_string(commits) + " commits before");
    Start();
    FailingDisk disk(dir_, mode().whole_blocks);
    database_->Open(Database(), true);
    for (int i = 0; i < commits; ++i) Commit(3000);
    disk.FailWriteBack(".data");
    try {
      const auto [lost, halves] = known_.Lost(database_.get());
      EXPECT_EQ(lost, 0) << "of " << known_.rows() << " rows were read as they were before";
      EXPECT_EQ(halves, 0);
    } catch (const Error&) {
      ++told;
    }
    for (int i = 0; i < 30; ++i) {
      try {
        Commit(3000);
      } catch (const Error&) {
        ++told;
      }
    }
    CheckpointOrGoOn();
    database_->Close();
    Run(20, 60);
    disk.Cut(1);
    ExpectAll(disk);
  }
  RecordProperty("told", told);
}

// When a sync fails in one thread, another thread may be about to sync the same file. Its sync
// succeeds, though the contents are lost.
class ConcurrentFailingDiskTest : public FailingDiskTest {};

TEST_P(ConcurrentFailingDiskTest, LosesNothingThatWasAcknowledged) {
  checkpointers_ = 2;
  Start();
  uint64_t calls = 0;
  {
    FailingDisk disk(dir_, mode().whole_blocks);
    disk.Fail({fault().call, UINT64_MAX, fault().error});
    ASSERT_TRUE(Run(database_->commits(), 300)) << why_;
    ASSERT_EQ(errors_, 0);
    calls = disk.calls();
    disk.Cut(1);
    ExpectAll(disk);
  }
  if (calls < 10) GTEST_SKIP() << "makes few such calls";
  // How many calls a run makes depends on how often its threads take turns: the last ones of this
  // run may not come in another.
  const uint64_t tries = ::getenv("TESTBED_FAULT_STRIDE") == nullptr ? 5 : 64;
  for (uint64_t call = 0; call < calls / 2; call += calls / 2 / tries + 1) {
    for (const bool reopens : {false, true}) {
      SCOPED_TRACE("call " + std::to_string(call) + (reopens ? ", opened again" : ""));
      Try(call, {false, reopens, UINT64_MAX});
      if (HasFailure() && unopened_ + lost_ > 40) return;
    }
  }
  EXPECT_GT(hit_, tried_ / 4);
}

// Each run has each fault in one mode of each engine and of the log, and in the other modes the
// faults of `everywhere`. The numbers of one call's error are told apart in one mode only. The
// nightly run has the rest.
std::vector<FaultCase> CasesOfFaults(const std::vector<Fault>& faults,
                                     const std::set<std::string>& everywhere, bool nightly) {
  const std::set<std::string> whole = {"btree_direct", "fractal_direct", "mmapv1", "log_recycled"};
  const std::set<std::string> codes = {"write_quota", "sync_full", "msync_full", "directory_full"};
  std::vector<FaultCase> cases;
  for (const FaultMode& mode : FaultModes()) {
    for (const Fault& fault : faults) {
      bool each = everywhere.contains(fault.name) || whole.contains(mode.name);
      if (codes.contains(fault.name)) each = std::string("btree_direct") == mode.name;
      if (each != nightly) cases.emplace_back(mode, fault);
    }
  }
  return cases;
}

std::string FaultCaseName(const testing::TestParamInfo<FaultCase>& info) {
  const std::string mode = std::get<0>(info.param).name, fault = std::get<1>(info.param).name;
  return fault.empty() ? mode : mode + "_" + fault;
}

std::vector<FaultCase> SyncFaults(bool nightly) {
  return CasesOfFaults({{"write_eio", DiskCall::kWrite, EIO},
                        {"sync", DiskCall::kSync, EIO},
                        {"msync", DiskCall::kMsync, EIO}},
                       {"sync"}, nightly);
}
INSTANTIATE_TEST_SUITE_P(Faults, ConcurrentFailingDiskTest, testing::ValuesIn(SyncFaults(false)),
                         FaultCaseName);
INSTANTIATE_TEST_SUITE_P(EveryWay, ConcurrentFailingDiskTest, testing::ValuesIn(SyncFaults(true)),
                         FaultCaseName);

const std::vector<Fault> kNoFault = {{"", DiskCall::kWrite, 0}};
INSTANTIATE_TEST_SUITE_P(Faults, FailingDiskModeTest,
                         testing::ValuesIn(CasesOfFaults(kNoFault, {}, false)), FaultCaseName);
INSTANTIATE_TEST_SUITE_P(EveryWay, FailingDiskModeTest,
                         testing::ValuesIn(CasesOfFaults(kNoFault, {}, true)), FaultCaseName);
INSTANTIATE_TEST_SUITE_P(WholeBlocks, FailingDiskModeTest,
                         testing::Combine(testing::ValuesIn(WholeBlockModes()),
                                          testing::ValuesIn(kNoFault)),
                         FaultCaseName);

std::vector<FaultCase> AllFaults(bool nightly) {
  return CasesOfFaults({{"write_eio", DiskCall::kWrite, EIO},
                        {"write_full", DiskCall::kWrite, ENOSPC},
                        {"write_short", DiskCall::kWrite, 0},
                        {"write_quota", DiskCall::kWrite, EDQUOT},
                        {"sync_full", DiskCall::kSync, ENOSPC},
                        {"msync_full", DiskCall::kMsync, ENOSPC},
                        {"directory_full", DiskCall::kSyncDirectory, ENOSPC},
                        {"sync", DiskCall::kSync, EIO},
                        {"msync", DiskCall::kMsync, EIO},
                        {"truncate", DiskCall::kTruncate, EIO},
                        {"allocate_eio", DiskCall::kAllocate, EIO},
                        {"allocate_full", DiskCall::kAllocate, ENOSPC},
                        {"create_full", DiskCall::kCreate, ENOSPC},
                        {"rename", DiskCall::kRename, EIO},
                        {"unlink", DiskCall::kUnlink, EIO},
                        {"close", DiskCall::kClose, EIO},
                        {"list", DiskCall::kList, EIO},
                        {"read", DiskCall::kRead, EIO},
                        {"read_short", DiskCall::kRead, 0},
                        {"directory", DiskCall::kSyncDirectory, EIO}},
                       {"write_eio", "sync", "msync", "allocate_full"}, nightly);
}
INSTANTIATE_TEST_SUITE_P(Faults, FailingDiskTest, testing::ValuesIn(AllFaults(false)),
                         FaultCaseName);
INSTANTIATE_TEST_SUITE_P(EveryWay, FailingDiskTest, testing::ValuesIn(AllFaults(true)),
                         FaultCaseName);

// A session that commits nothing does little: in each run calls of the main kinds fail.
std::vector<FaultCase> IdleFaults(bool nightly) {
  const std::set<std::string> kinds = {"write_eio", "sync", "msync", "rename", "unlink", "close"};
  std::vector<FaultCase> each = AllFaults(false), rest = AllFaults(true);
  const auto is_rest = [&](const FaultCase& c) { return !kinds.contains(std::get<1>(c).name); };
  std::copy_if(each.begin(), each.end(), std::back_inserter(rest), is_rest);
  std::erase_if(each, is_rest);
  return nightly ? rest : each;
}
INSTANTIATE_TEST_SUITE_P(Faults, IdleFailingDiskTest, testing::ValuesIn(IdleFaults(false)),
                         FaultCaseName);
INSTANTIATE_TEST_SUITE_P(EveryWay, IdleFailingDiskTest, testing::ValuesIn(IdleFaults(true)),
                         FaultCaseName);

}  // namespace
}  // namespace testbed

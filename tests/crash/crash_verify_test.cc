// Tests that the verifier of `testbed crashtest` can fail: it must miss each acknowledged commit,
// refuse one that nobody began, and tell what the engine's own check has found. And that it leaves
// some databases to a further recovery.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/error.h"
#include "engines/inspect.h"
#include "engines/registry.h"
#include "tests/crash/engine_without_rows.h"
#include "tests/own_dir.h"
#include "tests/unit/workloads/lying_engine.h"
#include "tools/crashtest/crash_kind.h"
#include "tools/crashtest/crash_model.h"
#include "tools/crashtest/crash_oracle.h"
#include "tools/crashtest/crash_process.h"
#include "tools/crashtest/crashtest.h"
#include "tools/options.h"
#include "workloads/random.h"

namespace testbed {
namespace {

using testing::HasSubstr;

class CrashVerifyTest : public testing::Test {
 protected:
  CrashVerifyTest() : shared_(CrashShared::New()) {}
  ~CrashVerifyTest() override { shared_->Delete(); }

  void Use(const std::string& engine, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"--dir", dir_};
    words.insert(words.end(), more.begin(), more.end());
    options_ = ShortCrashtest(engine, words);
  }
  // Makes a database of btree with the first `n` transactions of the only client.
  void Commit(uint64_t n) {
    Use("btree", {"--engine-option", "log_segment=1M"});
    const std::unique_ptr<Engine> engine = CrashProcess(options_, shared_, dir_, false).Open();
    const CrashTables tables(engine.get());
    const std::unique_ptr<Session> session = engine->NewSession();
    ClientModel model(0, options_.rows_per_transaction);
    while (model.transactions() < n) {
      PerformCrashWrites(session.get(), tables, model.Next(), true);
    }
  }
  // Verifies the database, of whose client so many transactions were acknowledged and begun.
  // Returns what is wrong; an empty string when nothing is.
  std::string Wrong(uint64_t acknowledged, uint64_t begun) {
    shared_->acknowledged[0].store(acknowledged);
    shared_->begun[0].store(begun);
    shared_->verified.store(false);
    try {
      CrashProcess(options_, shared_, dir_, true).Verify(true);
    } catch (const Error& e) {
      EXPECT_FALSE(shared_->verified.load());
      return e.what();
    }
    return shared_->verified.load() ? "" : "it was not verified";
  }

  CrashShared* const shared_;
  CrashtestOptions options_;
  const OwnDir own_dir_{"crash_verify_test"};
  const std::string& dir_ = own_dir_.path();
};

TEST_F(CrashVerifyTest, ACommitThatIsLostIsFound) {
  Commit(5);
  EXPECT_EQ(Wrong(5, 5), "");
  EXPECT_GT(shared_->rows, 5u);
  EXPECT_EQ(shared_->unacknowledged, 0u);
  EXPECT_THAT(Wrong(6, 6), HasSubstr("transaction 6 of client 0 was acknowledged, and the last one "
                                     "that is there is 5"));
}

TEST_F(CrashVerifyTest, OnlyACommitThatWasBegunMayBeThere) {
  Commit(5);
  EXPECT_EQ(Wrong(4, 5), "");
  EXPECT_EQ(shared_->unacknowledged, 1u);
  EXPECT_EQ(shared_->acknowledged[0].load(), 5u) << "what was seen must not be lost later";
  EXPECT_THAT(Wrong(3, 4), HasSubstr("transaction 5 of client 0 is there, and the last that it "
                                     "began is 4"));
}

// The number of the last transaction alone does not tell that its rows are there.
TEST_F(CrashVerifyTest, ARowThatIsLostIsFound) {
  Commit(5);
  {
    const std::unique_ptr<Engine> engine = CrashProcess(options_, shared_, dir_, true).Open();
    const CrashTables tables(engine.get());
    ClientModel model(0, options_.rows_per_transaction);
    model.SkipTo(5);
    std::map<std::string, RowVersion> rows;
    model.AddRows(CrashTable::kQueue, &rows);
    engine->NewSession()->Erase(tables[CrashTable::kQueue], rows.begin()->first);
  }
  EXPECT_THAT(Wrong(5, 5),
              HasSubstr("a point read does not find it; transaction 1 of client 0 wrote it"));
}

// Kills come first, and a power cut may not take what a check has found.
TEST(CrashVerifyRoundsTest, ACheckLeavesADatabaseOpenOnlyBeforeAnotherKill) {
  for (const int cuts : {0, 5}) {
    SCOPED_TRACE(cuts);
    CrashtestOptions options;
    options.kills = 40;
    options.power_cuts = cuts;
    Random random(1);
    int closed = 0;
    for (int round = 1; round < options.kills; ++round) {
      closed += ClosesAfterCheck(options, round, &random) ? 1 : 0;
    }
    EXPECT_GT(closed, 5);
    EXPECT_LT(closed, 34);
    for (int round = options.kills; round <= options.kills + cuts; ++round) {
      for (int draw = 0; draw < 10; ++draw) {
        EXPECT_TRUE(ClosesAfterCheck(options, round, &random)) << round;
      }
    }
  }
}

constexpr char kOfFaultTeller[] = "/fault_teller";
int looks_until_fault = 0;

// Adds an engine without rows, whose check finds a fault when it has looked `looks_until_fault`
// times.
void AddFaultTeller() {
  EngineInfo info = InfoWithoutRows("fault-teller");
  info.recognises = [](const std::string& dir) {
    return std::filesystem::exists(dir + kOfFaultTeller);
  };
  info.open = [](const std::string&, const EngineOptions&) {
    return std::make_unique<LyingEngine>();
  };
  info.check = [](const std::string& dir, const InspectOptions&) {
    Inspection found;
    if (--looks_until_fault > 0) return found;
    Fault fault;
    fault.file = dir;
    fault.what = "it is torn";
    found.faults.Add(fault);
    return found;
  };
  AddEngine(info);
}

TEST_F(CrashVerifyTest, WhatTheEnginesCheckFindsBeforeOrAfterRecoveryIsTold) {
  AddFaultTeller();
  std::ofstream(dir_ + kOfFaultTeller) << "";
  Use("fault-teller");
  looks_until_fault = 3;
  EXPECT_EQ(Wrong(0, 0), "");
  EXPECT_EQ(looks_until_fault, 1) << "it has looked twice";
  looks_until_fault = 1;
  EXPECT_THAT(Wrong(0, 0), HasSubstr("the engine's check finds 1 fault after the crash, first: "));
  looks_until_fault = 2;
  EXPECT_THAT(Wrong(0, 0), HasSubstr("finds 1 fault after recovery and a clean close, first: "));
}

}  // namespace
}  // namespace testbed

// Tests that the oracle of `testbed crashtest` can fail: it must find a single row too many or too
// few, in a table or in an index, whichever way of reading shows it.
#include "tools/crashtest/crash_oracle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include "device/error.h"
#include "engines/registry.h"
#include "tests/unit/workloads/lying_engine.h"

namespace testbed {
namespace {

constexpr int kClients = 2;
constexpr uint64_t kTransactions = 410;  // past a large one, and past the first that mostly erase

class CrashOracleTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "crash_oracle_test_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    EngineOptions options = DefaultEngineOptions(FindEngine("btree"));
    options.durability = Durability::kNone;
    engine_ = OpenEngine("btree", dir_, options);
    tables_ = std::make_unique<CrashTables>(engine_.get());
    session_ = engine_->NewSession();
    for (int w = 0; w < kClients; ++w) clients_.emplace_back(w, 5);
    for (uint64_t n = 0; n < kTransactions; ++n) {
      for (ClientModel& client : clients_) {
        PerformCrashWrites(session_.get(), *tables_, client.Junk(), false);
        PerformCrashWrites(session_.get(), *tables_, client.Next(), true);
      }
    }
  }
  void TearDown() override {
    session_.reset();
    engine_.reset();
    std::filesystem::remove_all(dir_);
  }

  uint64_t Compare() { return CompareWithModels(session_.get(), *tables_, clients_); }
  std::string Difference() {
    try {
      Compare();
    } catch (const Error& e) {
      return e.what();
    }
    return "none";
  }
  // Returns the key of a row in the middle of the table.
  std::string SomeKey(CrashTable table) const {
    std::map<std::string, RowVersion> rows;
    for (const ClientModel& client : clients_) client.AddRows(table, &rows);
    return std::next(rows.begin(), static_cast<long>(rows.size() / 2))->first;
  }

  std::string dir_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<CrashTables> tables_;
  std::unique_ptr<Session> session_;
  std::vector<ClientModel> clients_;
};

TEST_F(CrashOracleTest, WhatWasCommittedIsRight) {
  EXPECT_GT(Compare(), 3000u);
  for (int w = 0; w < kClients; ++w) {
    EXPECT_EQ(LastTransaction(session_.get(), *tables_, w), kTransactions);
  }
}

TEST_F(CrashOracleTest, AProcessThatKnowsTheCountKnowsTheRows) {
  clients_.clear();
  for (int w = 0; w < kClients; ++w) {
    clients_.emplace_back(w, 5);
    clients_.back().SkipTo(kTransactions);
  }
  EXPECT_EQ(Difference(), "none");
}

TEST_F(CrashOracleTest, EachDifferenceIsFound) {
  for (size_t i = 0; i < kCrashTables; ++i) {
    const auto table = static_cast<CrashTable>(i);
    SCOPED_TRACE(CrashTableName(table));
    const std::string key = SomeKey(table);
    std::string_view value;
    ASSERT_TRUE(session_->Get((*tables_)[table], key, &value));
    std::string kept(value);
    session_->Erase((*tables_)[table], key);
    EXPECT_THAT(Difference(), testing::HasSubstr("does not find it"));
    session_->Put((*tables_)[table], key, kept + "x");
    EXPECT_THAT(Difference(), testing::HasSubstr("another value"));
    session_->Put((*tables_)[table], key, kept);
    session_->Put((*tables_)[table], key + "x", kept);
    EXPECT_THAT(Difference(), testing::HasSubstr("not to be there"));
    session_->Erase((*tables_)[table], key + "x");
    EXPECT_EQ(Difference(), "none");
  }
}

// A scan may miss what a point read finds, such as an entry whose erasure was lost in one of
// several places.
TEST_F(CrashOracleTest, KeysThatWereErasedOrRolledBackAreReadInEachTable) {
  for (const CrashTable table : {CrashTable::kLeft, CrashTable::kRight, CrashTable::kQueue,
                                 CrashTable::kLeftIndex, CrashTable::kRightIndex}) {
    SCOPED_TRACE(CrashTableName(table));
    std::map<std::string, RowVersion> rows;
    std::vector<std::string> absent;
    clients_[0].AddRows(table, &rows);
    clients_[0].AddAbsent(table, &absent);
    ASSERT_GT(absent.size(), 50u);
    for (const std::string& key : absent) EXPECT_FALSE(rows.contains(key)) << key;
    session_->Put((*tables_)[table], absent.back(), "x");
    EXPECT_THAT(Difference(), testing::HasSubstr("a point read finds 1 byte, and no row is to be"));
    session_->Erase((*tables_)[table], absent.back());
    EXPECT_EQ(Difference(), "none");
    for (const CrashWrite& write : clients_[0].Junk()) {
      if (write.table != table || rows.contains(write.key)) continue;
      EXPECT_THAT(absent, testing::Contains(write.key));
    }
  }
}

// The end of the transaction, which shows that it happened, is in the database, and its beginning
// is not.
TEST_F(CrashOracleTest, HalfATransactionIsFound) {
  const std::vector<CrashWrite> writes = clients_[0].Next();
  const std::vector<CrashWrite> half(writes.begin() + static_cast<long>(writes.size() / 2),
                                     writes.end());
  PerformCrashWrites(session_.get(), *tables_, half, true);
  EXPECT_EQ(LastTransaction(session_.get(), *tables_, 0), clients_[0].transactions());
  EXPECT_NE(Difference(), "none");
  PerformCrashWrites(session_.get(), *tables_, writes, true);
  EXPECT_EQ(Difference(), "none");
}

// An engine may lose a row to one way of reading alone.
TEST(CrashOracleWaysTest, EachWayOfReadingIsCompared) {
  using Lie = LyingEngine::Lie;
  LyingEngine engine;
  const CrashTables tables(&engine);
  const std::unique_ptr<Session> session = engine.NewSession();
  std::vector<ClientModel> clients;
  clients.emplace_back(0, 5);
  for (int n = 0; n < 20; ++n) {
    PerformCrashWrites(session.get(), tables, clients[0].Next(), true);
  }
  const auto difference = [&](Lie lie) -> std::string {
    engine.lie = lie;
    try {
      CompareWithModels(session.get(), tables, clients);
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kCorruption);
      return e.what();
    }
    return "none";
  };
  EXPECT_EQ(difference(Lie::kNone), "none");
  EXPECT_THAT(difference(Lie::kNotFound), testing::HasSubstr("a point read does not find it"));
  EXPECT_THAT(difference(Lie::kFoundAbsent), testing::HasSubstr("and no row is to be there"));
  EXPECT_THAT(difference(Lie::kLeftOut), testing::HasSubstr("a scan forward does not find it"));
  EXPECT_THAT(difference(Lie::kShortWalk), testing::HasSubstr("a scan forward ends before it"));
  EXPECT_THAT(difference(Lie::kLeftOutBack),
              testing::HasSubstr("a scan backward does not find it"));
}

}  // namespace
}  // namespace testbed

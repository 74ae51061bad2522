// Tests how much a transaction may write, and how much several of them may put into a root at the
// same time.
#include "engines/fractal/session.h"

#include <gtest/gtest.h>

#include <barrier>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "device/error.h"
#include "tests/unit/engines/fractal/small_store.h"

namespace testbed::fractal {
namespace {

class FractalSessionTest : public SmallStoreTest {
 protected:
  FractalSessionTest() {
    options_.cache_bytes = 4 << 20;
    options_.transaction_bytes = 256 << 10;
    OpenSession();
  }
  void OpenSession() {
    session_.reset();
    Open();
    tables_ = {tree_->table(), store_->OpenTable("u")->table()};
    session_ = std::make_unique<FractalSession>(store_.get());
  }
  static std::string Key(int n) { return std::to_string(n * 2654435761u % 1000003); }
  // Writes rows into the two tables in turn until one is refused. Returns the number of that row.
  int WriteUntilRefused(size_t value_bytes) {
    for (int row = 0; row < 10'000; ++row) {
      const TableId table = tables_[static_cast<size_t>(row % 2)];
      try {
        session_->Put(table, Key(row), std::string(value_bytes, 'v'));
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), Error::kUsage) << error.what();
        EXPECT_NE(std::string(error.what()).find("several transactions"), std::string::npos);
        return row;
      }
    }
    ADD_FAILURE() << "no row was refused";
    return 0;
  }
  bool IsThere(int row) {
    std::string_view value;
    return session_->Get(tables_[static_cast<size_t>(row % 2)], Key(row), &value);
  }

  std::vector<TableId> tables_;
  std::unique_ptr<FractalSession> session_;
};

// Once, nobody waited until the log record of a new table was durable, so a power cut took a table
// that had no rows yet.
TEST_F(FractalSessionTest, ATableIsDurableWhenItIsOpenIfCommitsAre) {
  options_.durability = Durability::kSync;
  OpenSession();
  const Lsn before = store_->log()->EndLsn();
  store_->OpenTable("v");
  EXPECT_GT(store_->log()->EndLsn(), before);
  EXPECT_GE(store_->log()->DurableLsn(), store_->log()->EndLsn());
}

// With merge_reads one call reads several parts, each of which is a miss.
TEST_F(FractalSessionTest, APartThatWasReadIsAMissAlsoAmongOthers) {
  options_.merge_reads = true;
  options_.cache_bytes = 256 << 10;
  OpenSession();
  for (int row = 0; row < 6000; ++row) session_->Put(tables_[0], Key(row), std::string(200, 'v'));
  const Store::Reads before = store_->client_reads();
  for (int row = 0; row < 3000; ++row) session_->Put(tables_[0], Key(row), std::string(200, 'w'));
  const Store::Reads after = store_->client_reads();
  const uint64_t requests = after.requests - before.requests, missed = after.missed - before.missed;
  const uint64_t reads = after.reads - before.reads;
  EXPECT_GT(missed, reads + reads / 4) << "calls read several parts";
  EXPECT_GT(requests, missed) << "the root's parts are always in memory";
  uint64_t of_session = 0, misses = 0;
  ASSERT_TRUE(session_->BlockCounts(&of_session, &misses));
  EXPECT_GT(misses, reads);
}

// A row that is read again, in a cache that has all, misses nothing.
TEST_F(FractalSessionTest, WhatIsInMemoryIsNoMiss) {
  for (int row = 0; row < 1000; ++row) session_->Put(tables_[0], Key(row), std::string(200, 'v'));
  std::string_view value;
  const auto get_all = [&] {
    for (int row = 0; row < 1000; ++row) session_->Get(tables_[0], Key(row), &value);
  };
  get_all();
  const Store::Reads before = store_->client_reads();
  get_all();
  const Store::Reads after = store_->client_reads();
  EXPECT_GE(after.requests - before.requests, 1000u);
  EXPECT_EQ(after.missed, before.missed);
}

// A flush needs all parts of the two nodes between which it moves messages. In a cache that has
// all, each of them is a hit.
TEST_F(FractalSessionTest, WhatAFlushFindsInMemoryIsAHit) {
  const auto put_all = [&](char byte) {
    const std::string value(200, byte);
    for (int row = 0; row < 2000; ++row) session_->Put(tables_[0], Key(row), value);
  };
  put_all('v');
  const Store::Reads before = store_->client_reads();
  const uint64_t flushes_before = store_->tree_counters().flushes.load();
  put_all('w');
  const Store::Reads after = store_->client_reads();
  const uint64_t flushes = store_->tree_counters().flushes.load() - flushes_before;
  EXPECT_GT(flushes, 0u);
  EXPECT_GE(after.requests - before.requests, 2 * flushes);
  EXPECT_EQ(after.missed, before.missed);
}

TEST_F(FractalSessionTest, ATransactionTakesNoMoreThanItsBound) {
  session_->Begin();
  const int most = WriteUntilRefused(1000);
  EXPECT_GT(most, 240);
  EXPECT_LT(most, 256);
  EXPECT_FALSE(IsThere(most));
  session_->Commit();
  for (int row = 0; row < most; ++row) ASSERT_TRUE(IsThere(row)) << row;
  EXPECT_FALSE(IsThere(most));
  // The size of a transaction must begin at 0, however the last one ended.
  for (int i = 0; i < 3; ++i) {
    session_->Begin();
    EXPECT_EQ(WriteUntilRefused(1000), most);
    i % 2 == 0 ? session_->Rollback() : session_->Commit();
  }
  OpenSession();
  for (int row = 0; row < most; ++row) ASSERT_TRUE(IsThere(row)) << row;
  EXPECT_FALSE(IsThere(most));
}

TEST_F(FractalSessionTest, ARowThatIsWrittenAgainAndAgainIsCountedOnce) {
  session_->Begin();
  for (int i = 0; i < 5000; ++i) session_->Put(tables_[0], "key", std::string(1000 + i % 7, 'v'));
  session_->Commit();
}

// Several commits may find room in the root at the same time, and are then applied one after the
// other.
TEST_F(FractalSessionTest, ARootNeverHoldsMoreThanHalfATransactionAndOne) {
  constexpr int kThreads = 8, kRounds = 30, kRows = 200;
  const Tree* const tree = store_->Table(tables_[0]);
  std::barrier together(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      FractalSession session(store_.get());
      for (int round = 0; round < kRounds; ++round) {
        session.Begin();
        for (int row = 0; row < kRows; ++row) {
          session.Put(tables_[0], Key(t * kRows + row), std::string(1000, 'v'));
        }
        together.arrive_and_wait();
        session.Commit();
        EXPECT_LE(tree->root_bytes(), options_.transaction_bytes / 2 * 3);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string_view value;
  for (int row = 0; row < kThreads * kRows; ++row) {
    ASSERT_TRUE(session_->Get(tables_[0], Key(row), &value)) << row;
  }
}

}  // namespace
}  // namespace testbed::fractal

// Tests transactions: they span tables, take effect as a whole or not at all, and their writes are
// visible to their own session and to no other.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/engine/engine_test.h"
#include "tests/every_way.h"

namespace testbed {
namespace {

class TransactionTest : public AnyIoModeTest {
 public:
  static bool IsFor(const EngineCase& c) { return FindEngine(c.engine).capabilities.transactions; }

 protected:
  void OpenBoth() {
    Open();
    other_ = engine_->OpenTable("other");
  }
  std::string GetBy(Session* session, TableId table, std::string_view key) {
    std::string_view value;
    return session->Get(table, key, &value) ? std::string(value) : kAbsent;
  }
  TableId other_ = 0;
};

TEST_P(TransactionTest, CommitMakesWritesOfTwoTablesStay) {
  OpenBoth();
  Put("gone", "x");
  session_->Begin();
  Put("a", "1");
  session_->Put(other_, "a", "2");
  session_->Erase(table_, "gone");
  session_->Commit();
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(Get("a"), "1");
    EXPECT_EQ(Get(other_, "a"), "2");
    EXPECT_EQ(Get("gone"), kAbsent);
    Close();
    OpenBoth();
  }
}

TEST_P(TransactionTest, RollbackLeavesNothing) {
  OpenBoth();
  Put("kept", "before");
  session_->Put(other_, "kept", "before");
  session_->Begin();
  Put("a", "1");
  Put("kept", "after");
  session_->Erase(other_, "kept");
  session_->Put(other_, "b", "2");
  session_->Rollback();
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_EQ(Rows(table_), std::vector<std::string>{"kept=before"});
    EXPECT_EQ(Rows(other_), std::vector<std::string>{"kept=before"});
    Close();
    OpenBoth();
  }
  session_->Begin();
  Put("later", "works");
  session_->Commit();
  EXPECT_EQ(Get("later"), "works");
}

TEST_P(TransactionTest, ASessionSeesItsOwnWritesInGet) {
  OpenBoth();
  Put("old", "1");
  Put("erased", "1");
  session_->Begin();
  Put("new", "2");
  EXPECT_EQ(Get("new"), "2");
  Put("new", "3");
  Put("old", "");
  session_->Erase(table_, "erased");
  session_->Put(other_, "new", "other");
  EXPECT_EQ(Get("new"), "3");
  EXPECT_EQ(Get("old"), "");
  EXPECT_EQ(Get("erased"), kAbsent);
  EXPECT_EQ(Get(other_, "new"), "other");
  EXPECT_EQ(Get(other_, "old"), kAbsent);
  Put("erased", "again");
  EXPECT_EQ(Get("erased"), "again");
  session_->Erase(table_, "new");
  EXPECT_EQ(Get("new"), kAbsent);
  session_->Commit();
  EXPECT_EQ(Rows(table_), (std::vector<std::string>{"erased=again", "old="}));
  EXPECT_EQ(Rows(other_), std::vector<std::string>{"new=other"});
}

TEST_P(TransactionTest, ASessionSeesItsOwnWritesThroughACursor) {
  OpenBoth();
  for (const char* key : {"b", "d", "f"}) Put(key, "old");
  session_->Begin();
  Put("a", "own");
  Put("c", "own");
  Put("d", "own");
  session_->Erase(table_, "f");
  Put("g", "own");
  EXPECT_EQ(Rows(table_), (std::vector<std::string>{"a=own", "b=old", "c=own", "d=own", "g=own"}));
  {
    std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
    ASSERT_TRUE(cursor->Seek("e"));
    EXPECT_EQ(cursor->key(), "g");
    ASSERT_TRUE(cursor->Prev());
    EXPECT_EQ(cursor->key(), "d");
    // This row is written after the cursor was made.
    Put("e", "own");
    ASSERT_TRUE(cursor->Seek("e"));
    EXPECT_EQ(cursor->value(), "own");
    session_->Erase(table_, "b");
    ASSERT_TRUE(cursor->SeekForPrev("bb"));
    EXPECT_EQ(cursor->key(), "a");
  }
  session_->Rollback();
  EXPECT_EQ(Rows(table_), (std::vector<std::string>{"b=old", "d=old", "f=old"}));
}

TEST_P(TransactionTest, ACursorOutlivesTransactions) {
  OpenBoth();
  for (const char* key : {"b", "d"}) Put(key, "old");
  std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
  ASSERT_TRUE(cursor->First());
  session_->Begin();
  Put("a", "own");
  ASSERT_TRUE(cursor->First());
  EXPECT_EQ(cursor->key(), "a");
  session_->Rollback();
  ASSERT_TRUE(cursor->First());
  EXPECT_EQ(cursor->key(), "b");
  session_->Begin();
  Put("c", "own");
  ASSERT_TRUE(cursor->Seek("c"));
  EXPECT_EQ(cursor->key(), "c");
  session_->Commit();
  ASSERT_TRUE(cursor->Last());
  EXPECT_EQ(cursor->key(), "d");
  ASSERT_TRUE(cursor->Prev());
  EXPECT_EQ(cursor->key(), "c");
  EXPECT_EQ(cursor->value(), "own");
}

TEST_P(TransactionTest, RowsCanBeErasedAndReplacedWhileACursorWalks) {
  for (const bool in_transaction : {false, true}) {
    Open();
    Load(300, 40);
    if (in_transaction) session_->Begin();
    uint64_t seen = 0;
    {
      std::unique_ptr<Cursor> cursor = session_->NewCursor(table_);
      for (bool on = cursor->First(); on; on = cursor->Next(), ++seen) {
        const std::string key(cursor->key());
        ASSERT_EQ(key, RowKey(seen));
        if (seen % 2 == 0) session_->Erase(table_, key);
        if (seen % 4 == 1) Put(key, "replaced");
      }
    }
    EXPECT_EQ(seen, 300u);
    if (in_transaction) session_->Commit();
    for (uint64_t row = 0; row < 300; ++row) {
      ASSERT_EQ(Get(RowKey(row)), row % 2 == 0   ? kAbsent
                                  : row % 4 == 1 ? "replaced"
                                                 : RowValue(row, 40));
    }
    Close();
  }
}

TEST_P(TransactionTest, OthersSeeItAtCommitAndNotBefore) {
  OpenBoth();
  Put("a", "old");
  std::unique_ptr<Session> reader = engine_->NewSession();
  session_->Begin();
  Put("a", "new");
  session_->Put(other_, "b", "new");
  EXPECT_EQ(GetBy(reader.get(), table_, "a"), "old");
  EXPECT_EQ(GetBy(reader.get(), other_, "b"), kAbsent);
  EXPECT_FALSE(reader->NewCursor(other_)->First());
  session_->Commit();
  EXPECT_EQ(GetBy(reader.get(), table_, "a"), "new");
  EXPECT_EQ(GetBy(reader.get(), other_, "b"), "new");
  EXPECT_TRUE(reader->NewCursor(other_)->First());
}

TEST_P(TransactionTest, AnEmptyTransactionIsNothing) {
  Open();
  session_->Begin();
  session_->Commit();
  session_->Begin();
  session_->Rollback();
  session_->Begin();
  EXPECT_EQ(Get("a"), kAbsent);
  session_->Commit();
  EXPECT_TRUE(Rows(table_).empty());
}

TEST_P(TransactionTest, ASessionThatEndsInsideATransactionRollsItBack) {
  Open();
  std::unique_ptr<Session> session = engine_->NewSession();
  session->Begin();
  session->Put(table_, "a", "1");
  session.reset();
  EXPECT_EQ(Get("a"), kAbsent);
  Reopen();
  EXPECT_EQ(Get("a"), kAbsent);
}

// The library or the server may have rolled back the failed write alone, or all writes before it.
TEST_P(TransactionTest, NothingIsKeptWhenAWriteHasFailed) {
  // How a write of these engines fails when a transaction of the same thread has the row: for lmdb
  // and mdbx any second writer of a thread is wrong.
  const std::pair<std::string, std::string> at_once = {"conflict_wait_ms", "0"};
  const std::pair<std::string, std::string> of_mariadb = {"server_option",
                                                          "innodb_lock_wait_timeout=1"};
  const std::map<std::string, std::map<std::string, std::string>> engines = {
      {"innodb", {at_once, of_mariadb}},
      {"lmdb", {}},
      {"mdbx", {}},
      {"mysql", {at_once, of_mariadb}},
      {"postgres", {at_once, {"server_option", "lock_timeout=10"}}},
      {"wiredtiger", {at_once}}};
  const auto engine = engines.find(info().name);
  if (engine == engines.end()) GTEST_SKIP() << "no row of another makes a write fail";
  for (const auto& [name, value] : engine->second) options_.extra[name] = value;
  Open();
  Put("held", "0");
  const std::unique_ptr<Session> holder = engine_->NewSession();
  holder->Begin();
  holder->Put(table_, "held", "1");
  EXPECT_EQ(GetBy(holder.get(), table_, "held"), "1");  // the server has the write, and the lock
  session_->Begin();
  ErrorOf(Error::kRun, [&] {
    // WiredTiger itself refuses a commit in which another write has succeeded.
    if (info().name != "wiredtiger") Put("before", "1");
    Put("held", "2");
    Get("held");
  });
  holder->Rollback();
  ErrorOf(Error::kRun, [&] { Put("after", "3"); });
  const std::string sentence = ErrorOf(Error::kRun, [&] { session_->Commit(); });
  EXPECT_NE(sentence.find("nothing of it is kept"), std::string::npos) << sentence;
  EXPECT_EQ(Rows(table_), std::vector<std::string>{"held=0"});
  session_->Begin();
  Put("held", "4");
  session_->Commit();
  EXPECT_EQ(Rows(table_), std::vector<std::string>{"held=4"});
}

TEST_P(TransactionTest, ABigTransactionIsAllOrNothing) {
  // An engine may bound what a transaction writes by a share of its cache.
  options_.cache_bytes = 64 << 20;
  OpenBoth();
  const uint64_t rows = EveryWay() ? 10000 : 4000;
  for (const bool commit : {false, true}) {
    session_->Begin();
    for (uint64_t row = 0; row < rows; ++row) {
      session_->Put(row % 2 ? other_ : table_, RowKey(row), RowValue(row, 200));
    }
    commit ? session_->Commit() : session_->Rollback();
    Close();
    OpenBoth();
    for (uint64_t row = 0; row < rows; ++row) {
      ASSERT_EQ(Get(row % 2 ? other_ : table_, RowKey(row)), commit ? RowValue(row, 200) : kAbsent);
    }
  }
}

// A writer keeps two rows in two tables equal. A reader that reads one row and then the other may
// find the second one newer, but never older, in either order.
TEST_P(TransactionTest, ReadersNeverSeeHalfATransaction) {
  OpenBoth();
  const std::string key = "counter";
  const auto encode = [](uint64_t n) { return RowKey(n); };
  session_->Begin();
  Put(key, encode(0));
  session_->Put(other_, key, encode(0));
  session_->Commit();
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  std::atomic<uint64_t> looks{0};
  for (int t = 0; t < 2; ++t) {
    readers.emplace_back([&, t] {
      std::unique_ptr<Session> session = engine_->NewSession();
      const TableId first = t == 0 ? table_ : other_, second = t == 0 ? other_ : table_;
      while (!stop.load()) {
        const std::string a = GetBy(session.get(), first, key);
        const std::string b = GetBy(session.get(), second, key);
        if (b < a) {
          ADD_FAILURE() << "read " << a << " and after it " << b;
          return;
        }
        looks.fetch_add(1);
      }
    });
  }
  const uint64_t most = EveryWay() ? 3000 : 1000;
  for (uint64_t n = 1; n <= most || looks.load() < most; ++n) {
    session_->Begin();
    Put(key, encode(n));
    session_->Put(other_, key, encode(n));
    if (n % 10 == 0) {
      Put("padding" + std::to_string(n), RowValue(n, 2000));
      session_->Rollback();
    } else {
      session_->Commit();
    }
    if (testing::Test::HasFailure()) break;
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
}

TESTBED_FOR_EVERY_ENGINE(TransactionTest);

}  // namespace
}  // namespace testbed

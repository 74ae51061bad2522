// Tests transactions of WiredTiger's sessions: conflicts with others, replays, what a read sees.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "device/error.h"
#include "engines/registry.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/wiredtiger_database.h"

#ifdef TESTBED_HAVE_WIREDTIGER

namespace testbed {
namespace {

TEST_F(WiredtigerTest, ATransactionThatMeetsAnotherIsReplayed) {
  Open();
  constexpr int kThreads = 4, kRounds = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      auto session = engine_->NewSession();
      const std::string mine = "mine" + std::to_string(t);
      for (int i = 0; i < kRounds; ++i) {
        session->Begin();
        session->Put(table_, mine, std::to_string(i));
        // All threads write the same two rows, in opposite orders.
        session->Put(table_, t % 2 ? "x" : "y", mine);
        session->Put(table_, t % 2 ? "y" : "x", mine);
        session->Erase(table_, mine + "gone");
        session->Commit();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Get("x"), Get("y"));
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_EQ(Get("mine" + std::to_string(t)), std::to_string(kRounds - 1));
  }
}

TEST_F(WiredtigerTest, AConflictThatLastsIsAnErrorAndTheTransactionCanBeRolledBack) {
  options_.extra["conflict_wait_ms"] = "50";
  Open();
  auto other = engine_->NewSession();
  other->Begin();
  other->Put(table_, "k", "theirs");
  session_->Begin();
  session_->Put(table_, "a", "mine");
  const std::string sentence = ErrorOf(Error::kRun, [&] { session_->Put(table_, "k", "mine"); });
  EXPECT_NE(sentence.find("conflict"), std::string::npos) << sentence;
  session_->Rollback();
  other->Commit();
  EXPECT_EQ(Get("k"), "theirs");
  EXPECT_EQ(Get("a"), "(absent)");
  session_->Begin();
  session_->Put(table_, "k", "mine");
  session_->Commit();
  EXPECT_EQ(Get("k"), "mine");
}

TEST_F(WiredtigerTest, ACursorKeepsItsPlaceOverRollbackAndReplay) {
  Open();
  for (const char* key : {"b", "d", "f"}) session_->Put(table_, key, key);
  session_->Begin();
  session_->Put(table_, "c", "undone");
  auto cursor = session_->NewCursor(table_);
  ASSERT_TRUE(cursor->Seek("c"));
  session_->Rollback();
  ASSERT_TRUE(cursor->Next());
  EXPECT_EQ(cursor->key(), "d");

  // The transaction is replayed in the middle of a walk.
  auto other = engine_->NewSession();
  other->Begin();
  other->Put(table_, "z", "theirs");
  session_->Begin();
  session_->Put(table_, "e", "mine");
  ASSERT_TRUE(cursor->Seek("d"));
  std::thread commit([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    other->Commit();
  });
  session_->Put(table_, "z", "mine");
  commit.join();
  EXPECT_GT(More("transactions rolled back"), 1u);
  ASSERT_TRUE(cursor->Next());
  EXPECT_EQ(cursor->key(), "e");
  ASSERT_TRUE(cursor->Prev());
  EXPECT_EQ(cursor->key(), "d");
  session_->Commit();
  EXPECT_EQ(Get("z"), "mine");
}

TEST_F(WiredtigerTest, AReadSeesWhatOthersCommittedBeforeItBegan) {
  Open();
  auto other = engine_->NewSession();
  for (int i = 0; i < 100; ++i) {
    other->Put(table_, "k", std::to_string(i));
    EXPECT_EQ(Get("k"), std::to_string(i));
  }
  session_->Begin();
  EXPECT_EQ(Get("k"), "99");
  other->Put(table_, "k", "later");
  EXPECT_EQ(Get("k"), "99");
  session_->Commit();
  EXPECT_EQ(Get("k"), "later");
}

// Here no cursor stands on a row when it is positioned, and the session makes no other call after
// the Get, whose snapshot is older than the row.
TEST_F(WiredtigerTest, ACursorIsPositionedAmongWhatOthersCommittedSinceTheLastGet) {
  Open();
  session_->Put(table_, "m", "a");
  const auto other = engine_->NewSession();
  const auto cursor = session_->NewCursor(table_);
  EXPECT_EQ(Get("m"), "a");
  other->Put(table_, "n", "1");
  ASSERT_TRUE(cursor->Seek("n"));
  EXPECT_EQ(cursor->key(), "n");
  EXPECT_FALSE(cursor->Next());
  EXPECT_EQ(Get("m"), "a");
  other->Put(table_, "o", "1");
  ASSERT_TRUE(cursor->SeekForPrev("z"));
  EXPECT_EQ(cursor->key(), "o");
  EXPECT_FALSE(cursor->Next());
  EXPECT_EQ(Get("m"), "a");
  other->Put(table_, "p", "1");
  ASSERT_TRUE(cursor->Last());
  EXPECT_EQ(cursor->key(), "p");
  EXPECT_FALSE(cursor->Next());
  EXPECT_EQ(Get("m"), "a");
  other->Put(table_, "a", "1");
  ASSERT_TRUE(cursor->First());
  EXPECT_EQ(cursor->key(), "a");
  std::string_view value;
  ASSERT_TRUE(session_->Get(table_, "m", &value));
  ASSERT_TRUE(cursor->Seek(value)) << "the value of the Get is the key";
  EXPECT_EQ(cursor->value(), "1");
}

}  // namespace
}  // namespace testbed

#endif  // TESTBED_HAVE_WIREDTIGER

// Tests several databases of one engine: they must behave as one, except for transactions that
// would span them.
#include "engines/databases.h"

#include <gmock/gmock.h>

#include <string>
#include <thread>

#include "tests/engine/engine_test.h"

namespace testbed {
namespace {

TEST(DatabaseOfTableTest, IsThatOfTheFirstNumberInItsName) {
  EXPECT_EQ(DatabaseOfTable("default", 10), 0u);
  EXPECT_EQ(DatabaseOfTable("pi1", 10), 0u);
  EXPECT_EQ(DatabaseOfTable("pi3", 10), 2u);
  EXPECT_EQ(DatabaseOfTable("pi3_index7", 10), 2u);
  EXPECT_EQ(DatabaseOfTable("pi10", 10), 9u);
  EXPECT_EQ(DatabaseOfTable("pi11", 10), 0u);
  EXPECT_EQ(DatabaseOfTable("pi0", 10), 0u);
}

class DatabasesTest : public AnyIoModeTest {
 protected:
  void OpenThree() {
    options_.cache_bytes = 48 << 20;
    engine_ = OpenDatabases(info().name, dir_, options_, 3);
    for (int t = 1; t <= 4; ++t) tables_[t - 1] = engine_->OpenTable("t" + std::to_string(t));
    session_ = engine_->NewSession();
  }
  TableId tables_[4];
};
TESTBED_FOR_EVERY_ENGINE(DatabasesTest);

TEST_P(DatabasesTest, TablesKeepTheirRowsApartAndComeBack) {
  OpenThree();
  for (int t = 0; t < 4; ++t) {
    session_->Begin();
    for (int row = 0; row < 100 * (t + 1); ++row) {
      session_->Put(tables_[t], RowKey(row), RowValue(row + t, 50));
    }
    session_->Commit();
  }
  engine_->Settle();
  EXPECT_GT(engine_->SizeOnDisk().total(), 1000 * 50u);
  Close();
  for (int d = 0; d < 3; ++d) EXPECT_TRUE(info().recognises(dir_ + "/" + std::to_string(d))) << d;
  OpenThree();
  for (int t = 0; t < 4; ++t) {
    EXPECT_EQ(Rows(tables_[t]).size(), 100u * (t + 1)) << t;
    EXPECT_EQ(Get(tables_[t], RowKey(7)), RowValue(7 + t, 50)) << t;
  }
  EXPECT_GT(engine_->Counters().cache_bytes.value_or(1), 0u);
  const std::pair<std::string, std::string> of("settings_of", "one database of 3");
  EXPECT_THAT(engine_->EffectiveSettings(), testing::Contains(of));
}

TEST_P(DatabasesTest, ATableThatWasNotOpenedIsRefused) {
  OpenThree();
  std::string_view value;
  EXPECT_THROW(session_->Get(4, "k", &value), Error);
  EXPECT_THROW(session_->Put(UINT32_MAX, "k", "v"), Error);
  session_->Put(tables_[0], "k", "v");
  EXPECT_EQ(Get(tables_[0], "k"), "v");
}

TEST_P(DatabasesTest, SessionsCanWhatThoseOfOneDatabaseCan) {
  uint64_t requests = 0, misses = 0;
  Open();
  const bool has_queue = session_->NewReadQueue(4) != nullptr;
  const bool counts = session_->BlockCounts(&requests, &misses);
  Close();
  dir_ += "/three";
  OpenThree();
  for (int t = 0; t < 4; ++t) session_->Put(tables_[t], RowKey(t), RowValue(t, 50));
  Close();
  OpenThree();  // nothing is in the cache
  ASSERT_EQ(session_->BlockCounts(&requests, &misses), counts);
  for (int t = 0; t < 4; ++t) EXPECT_EQ(Get(tables_[t], RowKey(t)), RowValue(t, 50));
  if (counts) {
    const uint64_t before = misses;
    session_->BlockCounts(&requests, &misses);
    EXPECT_GE(misses, before);  // a small table may be read whole when it is opened
    EXPECT_LE(misses - before, 4 * 8u) << "four small tables";
  }
  const std::unique_ptr<ReadQueue> queue = session_->NewReadQueue(4);
  ASSERT_EQ(queue != nullptr, has_queue);
  if (queue == nullptr) return;
  std::vector<std::string> keys;
  for (uint64_t t = 0; t < 4; ++t) keys.push_back(RowKey(t));
  for (uint32_t t = 0; t < 4; ++t) queue->Start(t, tables_[t], keys[t], nullptr);
  for (int i = 0; i < 4; ++i) {
    bool found = false;
    std::string_view value;
    const uint32_t slot = queue->Finish(&found, &value);
    ASSERT_LT(slot, 4u);
    EXPECT_EQ(found ? value : kAbsent, RowValue(slot, 50));
  }
}

TEST_P(DatabasesTest, ATransactionIsWholeAndStaysInOneDatabase) {
  if (!info().capabilities.transactions) GTEST_SKIP() << info().name << " has no transactions";
  OpenThree();
  session_->Begin();
  session_->Put(tables_[1], "a", "1");
  EXPECT_EQ(Get(tables_[1], "a"), "1");
  session_->Rollback();
  EXPECT_EQ(Get(tables_[1], "a"), kAbsent);
  session_->Put(tables_[1], "a", "2");
  EXPECT_EQ(Get(tables_[1], "a"), "2");
  session_->Begin();
  session_->Put(tables_[0], "a", "3");
  session_->Put(tables_[3], "a", "4");  // the fourth table stands with the first
  const std::string sentence = ErrorOf(Error::kUsage, [&] { session_->Put(tables_[1], "a", "5"); });
  EXPECT_NE(sentence.find("--databases"), std::string::npos);
  session_->Rollback();
  EXPECT_EQ(Get(tables_[0], "a"), kAbsent);
  EXPECT_EQ(Get(tables_[1], "a"), "2");
  session_->Begin();
  session_->Put(tables_[3], "a", "6");
  session_->Commit();
  EXPECT_EQ(Get(tables_[3], "a"), "6");
}

// Whether another thread can end a transaction depends on the engine. Where it cannot, the
// transaction stays that of the session over all databases.
TEST_P(DatabasesTest, ATransactionThatAnotherThreadCannotEndStaysOpen) {
  if (!info().capabilities.transactions) GTEST_SKIP() << info().name << " has no transactions";
  OpenThree();
  session_->Begin();
  session_->Put(tables_[1], "a", "1");
  EXPECT_FALSE(session_->HeldByOtherThread());
  std::thread([&] {
    if (!session_->HeldByOtherThread()) return;
    ErrorOf(Error::kRun, [&] { session_->Commit(); });
    ErrorOf(Error::kRun, [&] { session_->Rollback(); });
  }).join();
  session_->Commit();
  EXPECT_EQ(Get(tables_[1], "a"), "1");
}

}  // namespace
}  // namespace testbed

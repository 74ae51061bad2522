// Tests which rows a replay counts as inserted and erased, alone and by clients that race.
#include "workloads/trace/row_presence.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <thread>

namespace testbed {
namespace {

std::shared_ptr<const Dataset> Rows(uint64_t rows) {
  DatasetOptions options;
  options.rows = rows;
  options.value_size = 8;
  return std::make_shared<const Dataset>(options);
}

TEST(RowPresenceTest, BeginsWithTheRowsOfThePopulation) {
  Population population(Rows(100));
  uint64_t erased = 0;
  {
    Population::Client client(population);
    {
      Population::Batch batch(client);
      const Population::Batch::Taken insert = batch.TakeInsert(), erase = *batch.TakeErase();
      erased = population.RowOf(erase.place);
      client.Begin(insert.held);
      client.Done(insert.held);
      client.Begin(erase.held);
      client.Done(erase.held);
    }
  }
  RowPresence rows(population, false);
  EXPECT_TRUE(rows.Insert(erased));
  EXPECT_FALSE(rows.Insert(erased)) << "it is there now";
  EXPECT_FALSE(rows.Insert(100)) << "the population inserted it";
  EXPECT_TRUE(rows.Insert(101));
  EXPECT_TRUE(rows.Erase(101));
  EXPECT_FALSE(rows.Erase(101));
  EXPECT_TRUE(rows.Erase(3));
  EXPECT_FALSE(rows.Erase(3));
}

// A replay of 100 million operations may insert millions of rows.
TEST(RowPresenceTest, RowsBeyondTheLoadTakeABitEachAndGiveItBack) {
  const Population population(Rows(70));  // the last word has rows of the load and others
  RowPresence rows(population, false);
  for (uint64_t row = 70; row < 6400; ++row) ASSERT_TRUE(rows.Insert(row)) << row;
  for (uint64_t row = 0; row < 6400; ++row) ASSERT_FALSE(rows.Insert(row)) << row;
  EXPECT_EQ(rows.AddedWords(), 99u);
  for (uint64_t row = 70; row < 6400; row += 2) ASSERT_TRUE(rows.Erase(row)) << row;
  for (uint64_t row = 70; row < 6400; ++row) ASSERT_EQ(rows.Erase(row), row % 2 == 1) << row;
  EXPECT_EQ(rows.AddedWords(), 0u);
  EXPECT_TRUE(rows.Erase(69));
  EXPECT_TRUE(rows.Insert(6399));
}

TEST(RowPresenceTest, CountsWhatIsThereWhenClientsPutAndEraseTheSameRows) {
  constexpr uint64_t kRows = 20000;
  const Population population(Rows(kRows));
  RowPresence rows(population, true);
  Mutex mutex;
  std::set<uint64_t> database;
  for (uint64_t row = 0; row < kRows; ++row) database.insert(row);
  std::atomic<int64_t> inserted{0}, erased{0};
  // All clients go through the rows in the same order, so that they meet. Half of them put, and the
  // others erase.
  const auto client = [&](uint64_t number) {
    const bool put = number % 2 == 0;
    for (uint64_t row = kRows / 2; row < kRows * 3 / 2; ++row) {
      const std::vector<uint64_t> mine = {row};
      const RowPresence::Hold hold(rows, mine);
      {
        const LockGuard lock(mutex);
        for (const uint64_t row : mine)
          put ? void(database.insert(row)) : void(database.erase(row));
      }
      for (const uint64_t row : mine) {
        put ? inserted += rows.Insert(row) : erased += rows.Erase(row);
      }
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t number = 0; number < 4; ++number) threads.emplace_back(client, number);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(static_cast<int64_t>(database.size()), static_cast<int64_t>(kRows) + inserted - erased);
  EXPECT_GE(erased, static_cast<int64_t>(kRows / 2));
}

}  // namespace
}  // namespace testbed

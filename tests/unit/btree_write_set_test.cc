// A transaction's writes against a model, and the locks of rows.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engines/btree/row_locks.h"
#include "engines/btree/write_set.h"

namespace testbed::btree {
namespace {

TEST(WriteSetTest, HoldsTheLastWriteOfEachRowAsAModelDoes) {
  using Key = std::pair<uint32_t, std::string>;
  using Value = std::pair<bool, std::string>;
  WriteSet writes;
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    std::map<Key, Value> model;
    // From a few rows, which leave most of the table as it was, to more than are kept.
    const int n = round % 20 == 0 ? 20000 : 1 << round % 12;
    for (int i = 0; i < n; ++i) {
      const Key key{1 + random() % 3, "key" + std::to_string(random() % (n + 1))};
      const Value value{random() % 4 == 0, std::string(random() % 40, 'a' + i % 26)};
      writes.Set(key.first, key.second, value.first, value.second);
      model[key] = value;
      if (i % 97 != 0) continue;
      const Key other{1 + random() % 3, "key" + std::to_string(random() % (n + 1))};
      const RowOp* found = writes.Find(other.first, other.second);
      ASSERT_EQ(found != nullptr, model.contains(other));
      if (found != nullptr) {
        ASSERT_EQ(found->value, model[other].second);
        ASSERT_EQ(found->erase, model[other].first);
      }
      const bool beyond = i % 2 == 0;
      const auto at = beyond ? model.upper_bound(other) : model.lower_bound(other);
      ASSERT_EQ(writes.Position(other.first, other.second, beyond),
                static_cast<size_t>(std::distance(model.begin(), at)));
    }
    ASSERT_EQ(writes.rows().size(), model.size());
    size_t position = 0;
    for (const auto& [key, value] : model) {
      const RowOp& row = writes.rows()[writes.Sorted()[position++]];
      ASSERT_EQ(row.table, key.first);
      ASSERT_EQ(row.key, key.second);
      ASSERT_EQ(row.value, value.second);
      ASSERT_EQ(row.erase, value.first);
    }
    writes.Clear();
    ASSERT_TRUE(writes.empty());
    for (const auto& [key, value] : model) ASSERT_EQ(writes.Find(key.first, key.second), nullptr);
  }
}

TEST(WriteSetTest, ARowMayBeWrittenFromItsOwnValue) {
  WriteSet writes;
  writes.Set(1, "k", false, "0123456789");
  for (int i = 0; i < 5; ++i) {
    writes.Set(1, "k", false, writes.Find(1, "k")->value.substr(1));
  }
  EXPECT_EQ(writes.Find(1, "k")->value, "56789");
}

// Each thread locks some of few rows; no two may have one row at once, and all get through.
TEST(RowLocksTest, ARowHasOneHolderAndNobodyWaitsForEver) {
  constexpr int kThreads = 8, kRows = 300, kRounds = 2000;
  RowLocks locks;
  std::vector<std::atomic<int>> holders(kRows);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      std::vector<RowLocks::Row> rows;
      for (int i = 0; i < kRounds; ++i) {
        std::vector<int> mine;
        for (int r = 0; r < kRows; ++r) {
          if (random() % 60 == 0) mine.push_back(r);
        }
        if (mine.empty()) continue;
        rows.clear();
        for (const int r : mine) rows.push_back(RowLocks::RowOf(1, std::to_string(r)));
        rows.push_back(rows[0]);  // twice the same is once
        const RowLocks::Holder holder(&locks, &rows);
        for (const int r : mine) wrong += holders[r].fetch_add(1) != 0;
        for (const int r : mine) holders[r].fetch_sub(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace testbed::btree

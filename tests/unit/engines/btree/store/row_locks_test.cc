// Tests the locks of rows.
#include "engines/btree/store/row_locks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace testbed::btree {
namespace {

// Each thread locks several of a few rows. No two threads may hold a row at the same time, and no
// thread may wait for ever.
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
        const uint32_t every = i % 16 == 0 ? 2 : 60;  // Holder sorts many rows and few differently
        for (int r = 0; r < kRows; ++r) {
          if (random() % every == 0) mine.push_back(r);
        }
        if (mine.empty()) continue;
        rows.clear();
        for (const int r : mine) rows.push_back(RowLocks::RowOf(1, std::to_string(r)));
        rows.push_back(rows[0]);  // a row that is listed twice is locked once
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

// Tests the whole tree against a std::map. Its nodes are so small that they are flushed, split,
// merged, evicted, checkpointed and recovered all the time.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engines/fractal/cursor.h"
#include "tests/unit/engines/fractal/small_store.h"

namespace testbed::fractal {
namespace {

class FractalModelTest : public SmallStoreTest {
 protected:
  using Model = std::map<std::string, std::string>;

  FractalModelTest() {
    options_.cache_bytes = 512 << 10;
    options_.checkpoint_period_ms = StoreOptions().checkpoint_period_ms;
  }
  void ReopenCrashed() {
    store_->log()->Write(store_->log()->EndLsn());
    CloseCrashed();
    Open();
  }

  std::string Key(uint64_t n) {
    const uint64_t mixed = n * 0x9e3779b97f4a7c15ull;
    std::string key(8, '\0');
    for (int i = 0; i < 8; ++i) key[i] = static_cast<char>(mixed >> (56 - 8 * i));
    return key;
  }
  void Change(Model* model, int rows, uint64_t keys, bool erase_most = false) {
    for (int i = 0; i < rows; ++i) {
      const std::string key = Key(random_() % keys);
      const bool erase = random_() % 10 < (erase_most ? 8 : 2);
      const std::string value(random_() % 50 == 0 ? 5000 : random_() % 120,
                              static_cast<char>('a' + random_() % 26));
      if (erase) {
        model->erase(key);
      } else {
        (*model)[key] = value;
      }
      const RowWrite op{erase, tree_->table(), key, erase ? std::string_view() : value};
      client_->Commit({&op, 1});
    }
  }
  void Compare(const Model& model) {
    TreeCursor cursor(tree_, client_.get());
    auto at = model.begin();
    for (bool on = cursor.SeekForward({}, false); on; on = cursor.Next(), ++at) {
      ASSERT_NE(at, model.end());
      ASSERT_EQ(cursor.key(), at->first);
      ASSERT_EQ(cursor.value(), at->second);
    }
    ASSERT_EQ(at, model.end());
    auto back = model.rbegin();
    for (bool on = cursor.Last(); on; on = cursor.Prev(), ++back) {
      ASSERT_NE(back, model.rend());
      ASSERT_EQ(cursor.key(), back->first);
    }
    ASSERT_EQ(back, model.rend());
    std::string value;
    for (const auto& [key, expected] : model) {
      ASSERT_TRUE(client_->Get(tree_, key, &value));
      ASSERT_EQ(value, expected);
    }
    ASSERT_FALSE(client_->Get(tree_, "not there", &value));
  }

  std::mt19937_64 random_{301};
};

TEST_F(FractalModelTest, AgreesWithAMapThroughSplitsMergesAndCheckpoints) {
  for (const Codec codec : {Codec::kNone, Codec::kLz4, Codec::kZlib, Codec::kZstd}) {
    options_.codec = codec;
    options_.merge_reads = codec == Codec::kLz4;
    Model model;
    uint64_t splits = 0;
    Open();
    tree_ = store_->OpenTable(CodecName(codec));
    for (int round = 0; round < 12; ++round) {
      SCOPED_TRACE(std::string(CodecName(codec)) + " round " + std::to_string(round));
      Change(&model, 1500, 20000, round % 4 == 3);
      if (round % 3 == 1) store_->Checkpoint();
      ASSERT_NO_FATAL_FAILURE(Compare(model));
      if (round % 4 == 2) {
        splits += store_->tree_counters().leaf_splits.load();
        round % 8 == 2 ? ReopenCrashed() : Open();
        tree_ = store_->OpenTable(CodecName(codec));
        ASSERT_NO_FATAL_FAILURE(Compare(model));
      }
    }
    EXPECT_GT(splits, 20u);
    EXPECT_GT(store_->height(), 1u);
    Close();
  }
}

TEST_F(FractalModelTest, WhatIsCountedOfTheCacheIsWhatItHasAndTheOverheadOfItsRows) {
  for (const uint64_t overhead : {0, 300}) {
    SCOPED_TRACE(overhead);
    options_.row_overhead = overhead;
    Model model;
    Open();
    for (int round = 0; round < 4; ++round) {
      Change(&model, 3000, 20000);
      ASSERT_NO_FATAL_FAILURE(Compare(model));  // reads rows into the cache, and evicts others
      uint64_t memory = 0, rows = 0;
      store_->cache()->ForEach([&](const NodeRef& node) {
        memory += node->Memory();
        for (const Part& part : node->parts) rows += part.rows != nullptr ? part.rows->count() : 0;
      });
      EXPECT_GT(rows, 100u);
      EXPECT_EQ(store_->cache()->used(), memory + overhead * rows);
      EXPECT_LE(store_->cache()->used(), options_.cache_bytes + options_.node_size);
    }
    Close();
    std::filesystem::remove_all(dir_);
  }
}

TEST_F(FractalModelTest, ErasingAllMergesLeavesAndLeavesAnEmptyTable) {
  Open();
  Model model;
  Change(&model, 6000, 100000);
  while (!model.empty()) {
    const std::string key = model.begin()->first;
    const RowWrite op{true, tree_->table(), key, {}};
    client_->Commit({&op, 1});
    model.erase(key);
  }
  ReadCounters counters;
  while (tree_->Clean(1, &counters)) {
  }
  ASSERT_NO_FATAL_FAILURE(Compare(model));
  EXPECT_GT(store_->tree_counters().merges.load(), 3u);
  Change(&model, 500, 100000);
  ASSERT_NO_FATAL_FAILURE(Compare(model));
}

// Transactions keep two tables equal. They must be equal in a copy of the files of any moment.
TEST_F(FractalModelTest, ACrashAtAnyMomentLeavesWholeTransactions) {
  options_.durability = Durability::kSync;
  Open();
  for (int crash = 0; crash < 3; ++crash) {
    Tree* other = store_->OpenTable("other");
    std::atomic<bool> stop{false};
    std::atomic<uint64_t> acknowledged{0};
    std::thread checkpoints([&] {
      while (!stop) store_->Checkpoint();
    });
    std::thread writer([&] {
      StoreClient client(store_.get());
      for (uint64_t n = 1; !stop; ++n) {
        const std::string key = Key(n % 3000), value = std::to_string(n) + std::string(300, 'v');
        const RowWrite operations[] = {{false, tree_->table(), key, value},
                                       {false, other->table(), key, value}};
        client.Commit(operations);
        acknowledged = n;
      }
    });
    while (acknowledged < 3000) std::this_thread::yield();
    stop = true;
    writer.join();
    checkpoints.join();
    const uint64_t last = acknowledged;
    ReopenCrashed();
    other = store_->OpenTable("other");
    for (uint64_t n = last - 2999; n <= last; ++n) {
      std::string a, b;
      ASSERT_TRUE(client_->Get(tree_, Key(n % 3000), &a));
      ASSERT_TRUE(client_->Get(other, Key(n % 3000), &b));
      ASSERT_EQ(a, std::to_string(n) + std::string(300, 'v'));
      ASSERT_EQ(a, b);
    }
  }
}

TEST_F(FractalModelTest, ThreadsReadWhileOthersWriteFlushAndCheckpoint) {
  options_.cleaner_period_ms = 5;
  options_.checkpoint_period_ms = 20;
  Open();
  constexpr uint64_t kRows = 4000;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  std::vector<std::atomic<uint64_t>> written(2);
  for (uint64_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      StoreClient client(store_.get());
      for (uint64_t n = 0; n < 20000; ++n) {
        const std::string key = Key((n % kRows) * 2 + t), value = std::string(100, 'x') + key;
        const RowWrite op{false, tree_->table(), key, value};
        client.Commit({&op, 1});
        written[t] = n + 1;
      }
      stop = true;
    });
    threads.emplace_back([&, t] {
      StoreClient client(store_.get());
      std::mt19937_64 random(t);
      std::string value;
      while (!stop) {
        const uint64_t n = written[t];
        if (n == 0) continue;
        const std::string key = Key(random() % std::min(n, kRows) * 2 + t);
        ASSERT_TRUE(client.Get(tree_, key, &value));
        ASSERT_EQ(value, std::string(100, 'x') + key);
      }
    });
  }
  threads.emplace_back([&] {
    StoreClient client(store_.get());
    while (!stop) {
      TreeCursor cursor(tree_, &client);
      std::string last;
      for (bool on = cursor.SeekForward({}, false); on; on = cursor.Next()) {
        ASSERT_LT(last, cursor.key());
        last = cursor.key();
      }
    }
  });
  for (std::thread& thread : threads) thread.join();
  TreeCursor cursor(tree_, client_.get());
  uint64_t rows = 0;
  for (bool on = cursor.SeekForward({}, false); on; on = cursor.Next()) ++rows;
  EXPECT_EQ(rows, 2 * kRows);
}

}  // namespace
}  // namespace testbed::fractal

// Tests which nodes a round of the cleaner flushes, and that a settle leaves it nothing to do.
#include <algorithm>
#include <string>
#include <vector>

#include "engines/registry.h"
#include "tests/unit/engines/fractal/small_store.h"

namespace testbed::fractal {
namespace {

class FractalCleanerTest : public SmallStoreTest {};

TEST_F(FractalCleanerTest, ARoundFlushesItsNodesOfAllTablesInTurn) {
  options_.node_size = 64 << 10;
  options_.cache_bytes = 8 << 20;
  options_.cleaner_nodes = 2;
  Open();
  const std::vector<Tree*> trees = {tree_, store_->OpenTable("u"), store_->OpenTable("v"),
                                    store_->OpenTable("w")};
  for (const Tree* tree : trees) {
    for (int i = 0; i < 300; ++i) {
      const std::string key = std::to_string(i), value(100, 'v');
      const RowWrite op{false, tree->table(), key, value};
      client_->Commit({&op, 1});
    }
  }
  const auto full = [&] {
    return std::count_if(trees.begin(), trees.end(), [this](const Tree* tree) {
      return tree->root_bytes() >= uint64_t{options_.page_size} * options_.fanout;
    });
  };
  EXPECT_EQ(full(), 4);
  store_->CleanRound();
  EXPECT_EQ(full(), 2);
  store_->CleanRound();
  EXPECT_EQ(full(), 0);
  EXPECT_EQ(store_->CleanRound(), 0u);
  EXPECT_EQ(store_->tree_counters().cleaner_flushes.load(), 4u);
}

class FractalSettleTest : public SmallStoreTest {
 protected:
  static constexpr int kRows = 6000;

  FractalSettleTest() {
    options_.node_size = 64 << 10;
    options_.cache_bytes = 1 << 20;
    options_.cleaner_nodes = 2;
    options_.cleaner_period_ms = 3600 * 1000;  // no round begins during a test
  }
  // Loads the table so that inner nodes of several levels have messages, and opens the database
  // again, so that only the root is in memory.
  void Load() {
    Open();
    for (int i = 0; i < kRows; ++i) {
      const std::string key = Key(i), value(200, 'v');
      const RowWrite op{false, tree_->table(), key, value};
      client_->Commit({&op, 1});
    }
    Open();
    ASSERT_GT(tree_->height(), 1u);
  }
  static std::string Key(int i) { return std::to_string(100000 + i * 7919 % kRows); }
  uint64_t least() const { return uint64_t{options_.page_size} * options_.fanout; }
};

TEST_F(FractalSettleTest, LeavesTheCleanerNothingToDo) {
  Load();
  store_->Settle();
  EXPECT_GT(store_->tree_counters().cleaner_flushes.load(), 0u);
  EXPECT_FALSE(store_->cache()->HasDirtyNode());
  ReadCounters reads;
  EXPECT_FALSE(tree_->Clean(least(), &reads, Tree::Reach::kTree));
  std::string value;
  for (int i = 0; i < kRows; ++i) ASSERT_TRUE(client_->Get(tree_, Key(i), &value)) << i;
  EXPECT_EQ(store_->CleanRound(), 0u) << "look-ups have brought all inner nodes into memory";
  const uint64_t written = store_->cache()->writes().nodes.load();
  store_->Settle();
  EXPECT_EQ(store_->cache()->writes().nodes.load(), written);
}

TEST_F(FractalSettleTest, IsACheckpointWhereThereIsNoCleaner) {
  options_.cleaner_period_ms = 0;
  Load();
  const uint64_t flushes = store_->tree_counters().flushes.load();
  store_->Settle();
  EXPECT_EQ(store_->tree_counters().flushes.load(), flushes);
  EXPECT_FALSE(store_->cache()->HasDirtyNode());
}

TEST_F(FractalCleanerTest, TheNodesOfACleanerThatThereIsNotSaySo) {
  EngineOptions options = DefaultEngineOptions(FindEngine("fractal"));
  options.extra = {{"cleaner_period", "0"}, {"cleaner_nodes", "7"}, {"log_segment", "1M"}};
  std::string told;
  for (const auto& [name, value] : OpenEngine("fractal", dir_, options)->EffectiveSettings()) {
    if (name == "cleaner_nodes") told = value;
  }
  EXPECT_EQ(told, "no effect: cleaner_period=0 has no cleaner");
}

// The cleaner changes nodes without a commit, after which nothing but the dirty nodes tells that a
// checkpoint has something to write.
TEST_F(FractalSettleTest, ACheckpointWritesWhatTheCleanerChanged) {
  Load();
  store_->Checkpoint();
  const uint64_t taken = store_->checkpoints();
  store_->Checkpoint();
  EXPECT_EQ(store_->checkpoints(), taken) << "nothing has changed";
  ASSERT_GT(store_->CleanRound(Tree::Reach::kTree), 0u);
  ASSERT_TRUE(store_->cache()->HasDirtyNode());
  store_->Checkpoint();
  EXPECT_EQ(store_->checkpoints(), taken + 1);
  EXPECT_FALSE(store_->cache()->HasDirtyNode());
}

}  // namespace
}  // namespace testbed::fractal

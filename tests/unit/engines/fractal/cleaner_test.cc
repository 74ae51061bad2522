// Tests which nodes a round of the cleaner flushes.
#include <algorithm>
#include <string>
#include <vector>

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
  store_->CleanRound();
  EXPECT_EQ(store_->tree_counters().cleaner_flushes.load(), 4u);
}

}  // namespace
}  // namespace testbed::fractal

// Tests the figures of trees against figures counted by hand, against another count of the same
// pages, and against the sizes of files that the engine reports.
#include "engines/btree/inspect/tree_stats.h"

#include <gtest/gtest.h>

#include "tests/unit/engines/btree/inspect_util.h"

namespace testbed::btree {
namespace {

class BtreeTreeStatsTest : public InspectTest {
 protected:
  static uint64_t Part(const NamedBytes& parts, const std::string& name) {
    for (const auto& [part, bytes] : parts) {
      if (part == name) return bytes;
    }
    return 0;
  }
};

TEST_F(BtreeTreeStatsTest, ATreeOfThreeRowsCountedByHand) {
  Open();
  Commit("t", "a", std::string(10, 'v'));
  Commit("t", "bb", std::string(20, 'v'));
  Commit("t", "ccc", std::string(5000, 'v'));  // two overflow pages
  Close();
  const Inspection result = Inspect();
  ASSERT_EQ(result.trees.size(), 2u);
  const TreeStats& tree = result.trees[1];
  EXPECT_EQ(tree.table, "t");
  EXPECT_EQ(tree.rows, 3u);
  EXPECT_EQ(tree.key_bytes, 1u + 2 + 3);
  EXPECT_EQ(tree.value_bytes, 10u + 20 + 5000);
  EXPECT_EQ(tree.overflow_values, 1u);
  EXPECT_EQ(tree.overflow_pages, 2u);
  ASSERT_EQ(tree.levels.size(), 1u);
  EXPECT_EQ(tree.levels[0].pages, 1u);
  EXPECT_EQ(tree.levels[0].bytes, kPage);
  EXPECT_EQ(tree.levels[0].entries, 3u);
  EXPECT_EQ(tree.Pages(), 3u);
  // A slot has 8 bytes, a length 2 and a reference 16. There are no fences and no common prefix.
  const uint64_t slots = 3 * (8 + 2) + 16;
  EXPECT_EQ(Part(tree.parts, "keys"), 6u);
  EXPECT_EQ(Part(tree.parts, "values"), 30u);
  EXPECT_EQ(Part(tree.parts, "slots"), slots);
  EXPECT_EQ(Part(tree.parts, "headers and fences"), 48u);
  EXPECT_EQ(Part(tree.parts, "free in leaves"), 4096 - 6 - 30 - slots - 48);
  EXPECT_EQ(Part(tree.parts, "inner pages"), 0u);
  EXPECT_EQ(Part(tree.parts, "long values"), 5000u);
  EXPECT_EQ(Part(tree.parts, "rest of overflow pages"), 2 * 4096u - 5000);
  EXPECT_EQ(tree.Bytes(), 3u * 4096);
  // A leaf keeps 32 bytes for a fence.
  EXPECT_EQ(tree.levels[0].capacity_bytes, 4048u);
  EXPECT_EQ(tree.levels[0].used_bytes, 6 + 30 + slots + 32);
  EXPECT_EQ(tree.levels[0].fill[0], 1u);
}

TEST_F(BtreeTreeStatsTest, KeysInOrderFillLeavesToTheEnd) {
  Open();
  for (int i = 0; i < 4000; ++i) Commit("t", Key(i), std::string(80, 'v'));
  Close();
  const LevelStats leaves = Inspect().trees[1].levels[0];
  EXPECT_GT(leaves.Fill(), 0.9);
  EXPECT_GT(leaves.fill[9], leaves.pages * 9 / 10);
}

// Computes the same figures from the pages of the file, without the trees.
TEST_F(BtreeTreeStatsTest, AgreesWithACountOfTheFilesPages) {
  MakeDatabase();
  const Inspection result = Inspect();
  const std::string bytes = Slurp(data());
  const SpaceSnapshot space = Checkpoint().space;
  struct Sums {
    uint64_t leaves = 0, inner = 0, rows = 0, children = 0, overflow = 0, long_bytes = 0;
  } sums[3];
  for (PageId id = 1; id < space.pages; ++id) {
    if ((space.words[id / 64] >> (id % 64) & 1) == 0) continue;
    const char* page = bytes.data() + id * size_t{kPage};
    const Node node(page, kPage);
    Sums& s = sums[Header(page)->table];
    if (Header(page)->type == PageType::kLeaf) {
      ++s.leaves;
      s.rows += node.count();
    } else if (Header(page)->type == PageType::kInner) {
      ++s.inner;
      s.children += node.count();
    } else {
      ++s.overflow;
      s.long_bytes += reinterpret_cast<const OverflowHeader*>(page)->size;
    }
  }
  ASSERT_EQ(result.trees.size(), 3u);
  uint64_t all_pages = 1;  // the superblock
  for (int t = 0; t < 3; ++t) {
    const TreeStats& tree = result.trees[t];
    uint64_t inner = 0, children = 0, by_fill = 0;
    for (size_t l = 1; l < tree.levels.size(); ++l) {
      inner += tree.levels[l].pages;
      children += tree.levels[l].entries;
      EXPECT_EQ(tree.levels[l].entries, tree.levels[l - 1].pages);
    }
    for (uint64_t pages : tree.levels[0].fill) by_fill += pages;
    EXPECT_EQ(tree.levels[0].pages, sums[t].leaves);
    EXPECT_EQ(by_fill, sums[t].leaves);
    EXPECT_EQ(tree.rows, sums[t].rows);
    EXPECT_EQ(inner, sums[t].inner);
    EXPECT_EQ(children, sums[t].children);
    EXPECT_EQ(tree.overflow_pages, sums[t].overflow);
    EXPECT_EQ(Part(tree.parts, "long values"), sums[t].long_bytes);
    EXPECT_EQ(tree.Bytes(), tree.Pages() * kPage);
    EXPECT_EQ(tree.levels.back().pages, 1u) << "a root";
    all_pages += tree.Pages();
  }
  uint64_t used = 0;
  for (const PageCount& count : result.pages) used += count.type == "free" ? 0 : count.pages;
  EXPECT_EQ(used, all_pages);
}

TEST_F(BtreeTreeStatsTest, TheDiskAddsUpToSizeOnDisk) {
  for (const TornPage torn : {TornPage::kNone, TornPage::kDoublewrite}) {
    options_.torn_page = torn;
    const bool compressed = torn == TornPage::kNone;
    options_.page_size = compressed ? 8192 : 4096;
    options_.compression = compressed ? PageCodec::kLz4 : PageCodec::kNone;
    std::filesystem::remove_all(dir_);
    MakeDatabase(2000);
    Open();
    store_->Checkpoint();  // the close takes one, too
    const uint64_t size = store_->DataBytesOnDisk() + store_->LogBytesOnDisk();
    Close();
    InspectOptions one;
    one.table = "b";
    for (const InspectOptions& options : {InspectOptions(), one}) {
      const Inspection result = Inspect(options);
      EXPECT_EQ(SumOf(result.disk) - result.holes, size);
      EXPECT_EQ(result.holes > 0, compressed);
      EXPECT_EQ(Part(result.disk, "doublewrite file") > 0, torn == TornPage::kDoublewrite);
      EXPECT_GT(Part(result.disk, "free pages"), 0u);
      EXPECT_EQ(Part(result.disk, "log to be replayed"), 0u);
    }
    EXPECT_EQ(Inspect(one).trees.size(), 1u);
    EXPECT_GT(Part(Inspect(one).disk, "of other tables pages"), 0u);
  }
}

TEST_F(BtreeTreeStatsTest, TheShapeIsDrawnToALimitedDepthAndWidth) {
  MakeDatabase();
  InspectOptions options;
  options.table = "a";
  options.shape_levels = 2;
  options.shape_children = 4;
  const Inspection result = Inspect(options);
  ASSERT_EQ(result.trees.size(), 1u);
  const TreePage& root = result.trees[0].shape.value();
  EXPECT_EQ(root.level, 2u);
  EXPECT_EQ(root.entries, result.trees[0].levels[1].pages);
  EXPECT_EQ(root.low, "\"\"");
  EXPECT_EQ(root.high, "");
  ASSERT_EQ(root.children.size(), std::min<uint64_t>(root.entries, 4));
  EXPECT_EQ(root.children[0].low, root.low);
  EXPECT_EQ(root.children[0].high, root.children[1].low);
  EXPECT_TRUE(root.children[0].children.empty()) << "no third level";
  options.shape_levels = 3;
  const TreePage deep = Inspect(options).trees[0].shape.value();
  const TreePage& inner = deep.children[0];
  ASSERT_EQ(inner.children.size(), 4u);
  EXPECT_EQ(inner.hidden, inner.entries - 4);
  EXPECT_EQ(inner.children[3].high, inner.high) << "the last one is drawn";
  EXPECT_EQ(inner.children[3].level, 0u);
}

TEST(KeyTextTest, ShowsTextAsTextAndBytesAsNumbersShortened) {
  EXPECT_EQ(KeyText(""), "\"\"");
  EXPECT_EQ(KeyText("user1"), "\"user1\"");
  EXPECT_EQ(KeyText(std::string(30, 'k')), "\"" + std::string(24, 'k') + "\"..");
  EXPECT_EQ(KeyText(std::string("\0\x1f\xff", 3)), "0x001fff");
  EXPECT_EQ(KeyText(std::string(9, '\0')), "0x0000000000000000..");
  EXPECT_EQ(KeyText("say \"x\""), "0x73617920227822") << "seven bytes";
}

}  // namespace
}  // namespace testbed::btree

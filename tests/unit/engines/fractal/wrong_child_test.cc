// Tests a node whose child is itself, or a node of a wrong height. Every read and write must report
// an error: no row may be called absent, and no thread may loop or wait for ever.
#include <gtest/gtest.h>

#include <mutex>
#include <string>

#include "device/error.h"
#include "engines/fractal/cursor.h"
#include "tests/unit/engines/fractal/small_store.h"

namespace testbed::fractal {
namespace {

class FractalWrongChildTest : public SmallStoreTest {
 protected:
  static constexpr int kRows = 12000;

  FractalWrongChildTest() {
    Open();  // with a cache so large that no node is evicted
    for (int i = 0; i < kRows; ++i) Put(i * 7919 % kRows);
  }
  static std::string Key(int i) { return std::to_string(1000000 + i); }
  void Put(int i) {
    const std::string key = Key(i), value(100, 'v');
    const RowWrite op{false, tree_->table(), key, value};
    client_->Commit({&op, 1});
  }
  // Returns a node at that height with more than two parts; null when there is none.
  NodeRef NodeAt(uint32_t height) {
    for (BlockId block = 1; block < store_->cache()->next_block(); ++block) {
      NodeRef node = store_->cache()->Find(block);
      if (node != nullptr && !node->gone && node->height == height && node->parts.size() > 2) {
        return node;
      }
    }
    return nullptr;
  }
  // Makes all children of the node the block `to`.
  static void Lead(const NodeRef& node, BlockId to) {
    std::lock_guard latch(node->latch);
    for (Part& part : node->parts) part.child = to;
  }

  void ExpectErrors() {
    int refused = 0;
    for (int i = 0; i < kRows; ++i) {
      std::string value;
      refused += Refused([&] { EXPECT_TRUE(client_->Get(tree_, Key(i), &value)) << Key(i); });
      if (HasFailure()) return;
    }
    EXPECT_GT(refused, 0);
    EXPECT_EQ(Refused([&] {
                TreeCursor cursor(tree_, client_.get());
                int rows = 0;
                for (bool on = cursor.SeekForward({}, false); on && rows <= kRows;
                     on = cursor.Next()) {
                  ++rows;
                }
              }),
              1);
    refused = 0;
    for (int i = 0; i < 2 * kRows; ++i) refused += Refused([&] { Put(i % kRows); });
    EXPECT_GT(refused, 0) << "flushed into a node that leads nowhere";
  }
  template <typename Action>
  static int Refused(const Action& action) {
    try {
      action();
      return 0;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kCorruption) << e.what();
      return 1;
    }
  }
};

TEST_F(FractalWrongChildTest, ANodeThatLeadsToItselfIsAnError) {
  const NodeRef node = NodeAt(1);
  ASSERT_NE(node, nullptr);
  Lead(node, node->block);
  ExpectErrors();
}

TEST_F(FractalWrongChildTest, ANodeThatLeadsToALeafTooSoonIsAnError) {
  const NodeRef node = NodeAt(2), leaf = NodeAt(0);
  ASSERT_NE(node, nullptr);
  ASSERT_NE(leaf, nullptr);
  Lead(node, leaf->block);
  ExpectErrors();
}

}  // namespace
}  // namespace testbed::fractal

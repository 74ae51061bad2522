// Tests nodes against a std::map: after any sequence of changes that a node accepts it must hold
// exactly the rows of the model, in order, and pass its own validation.
#include "engines/btree/page/node.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <random>
#include <string>

#include "device/file/file.h"

namespace testbed::btree {
namespace {

using Model = std::map<std::string, std::string>;

class NodeTest : public testing::TestWithParam<uint32_t> {
 protected:
  uint32_t page_size() const { return GetParam(); }
  AlignedBuffer NewPage() const { return AlignedBuffer(page_size()); }

  std::string RandomKey(const std::string& prefix, size_t longest) {
    std::string key = prefix;
    const size_t n = random_() % (longest - prefix.size() + 1);
    // Keys have few different bytes, zero among them, so that they are often prefixes of one
    // another.
    for (size_t i = 0; i < n; ++i) key.push_back("\0ab\xff"[random_() % 4]);
    return key;
  }
  std::string RandomValue(size_t longest) {
    return std::string(random_() % (longest + 1), static_cast<char>(random_()));
  }

  static void ExpectRows(const Node& node, const Model& model) {
    ASSERT_EQ(node.Validate(), "");
    ASSERT_EQ(node.count(), model.size());
    uint32_t i = 0;
    for (const auto& [key, value] : model) {
      ASSERT_EQ(node.Key(i), key);
      ASSERT_EQ(node.Value(i).bytes, value);
      bool found;
      ASSERT_EQ(node.LowerBound(key, &found), i);
      ASSERT_TRUE(found);
      ++i;
    }
  }

  // Makes one random change to the node and the model. Returns whether the node took it.
  bool Change(Node* node, Model* model, const std::string& prefix, size_t longest_key) {
    const std::string key = RandomKey(prefix, longest_key);
    bool found;
    const uint32_t at = node->LowerBound(key, &found);
    EXPECT_EQ(found, model->contains(key));
    if (random_() % 4 == 0) {
      if (found) node->Remove(at);
      model->erase(key);
      return true;
    }
    const std::string value = RandomValue(MaxInlineRow(page_size()) - key.size() - 10);
    const bool done =
        found ? node->UpdateLeaf(at, {value, false}) : node->InsertLeaf(at, key, {value, false});
    if (done) (*model)[key] = value;
    return done;
  }

  std::mt19937_64 random_{GetParam()};
};

TEST_P(NodeTest, BehavesAsAMapDoes) {
  for (const std::string prefix : {"", "common/prefix/"}) {
    AlignedBuffer page = NewPage();
    Node node(page.data(), page_size());
    node.Init(7, 1, PageType::kLeaf, 0, prefix, prefix.empty() ? "" : "common/prefix0",
              prefix.empty());
    EXPECT_EQ(node.Prefix(), prefix.substr(0, node.header()->prefix));
    if (!prefix.empty()) {
      EXPECT_EQ(node.header()->prefix, prefix.size() - 1);
    }
    Model model;
    int refused = 0;
    for (int i = 0; i < 3000; ++i) {
      if (!Change(&node, &model, prefix, MaxKeySize(page_size()))) ++refused;
      if (i % 50 == 0) ExpectRows(node, model);
    }
    ExpectRows(node, model);
    EXPECT_GT(refused, 0) << "the page was never full";
  }
}

// A search compares only what follows the prefix. From the place that it finds, CoversAt must tell
// whether the page covers the key.
TEST_P(NodeTest, ThePlaceOfAKeyTellsWhetherThePageCoversIt) {
  const std::string low = "commonka", high = "commonkb";
  int covered = 0, others = 0;
  for (const bool unbounded : {false, true}) {
    AlignedBuffer page = NewPage();
    Node node(page.data(), page_size());
    node.Init(7, 1, PageType::kLeaf, 0, low, unbounded ? std::string_view() : high, unbounded);
    for (int i = 0; i < 3000; ++i) {
      std::string key = RandomKey(i % 2 == 0 ? "commonka" : "", 14);
      if (i % 7 == 0) key = "commonk" + RandomKey("", 6);
      if (i % 11 == 0) key = "cXmmonka" + RandomKey("", 6);
      bool found;
      uint32_t at = node.LowerBoundInside(key, &found);
      const bool covers = node.Covers(key);
      ASSERT_EQ(node.CoversAt(key, at, found), covers) << key;
      at = node.PlaceOf(key, &found);
      ASSERT_EQ(node.CoversAt(key, at, found), covers) << key;
      covered += covers;
      others += !covers;
      if (covers && !found && i < 60) node.InsertLeaf(at, key, {"value", false});
    }
    ASSERT_GT(node.count(), 5u);
  }
  EXPECT_GT(covered, 500);
  EXPECT_GT(others, 500);
}

TEST(SameBytesTest, IsMemcmp) {
  const std::string text = "0123456789abcdefghijklmnopqrstuv";
  for (size_t n = 0; n <= 20; ++n) {
    EXPECT_TRUE(SameBytes(text.data(), std::string(text).data(), n));
    for (size_t at = 0; at < text.size(); ++at) {
      std::string other = text;
      ++other[at];
      EXPECT_EQ(SameBytes(text.data(), other.data(), n), at >= n) << n << ' ' << at;
    }
  }
}

// docs/engines/btree.md promises ("Limits") that a full leaf always splits into two that both have
// room for a row of the largest size, whatever the keys are.
TEST_P(NodeTest, AFullLeafSplitsIntoTwoWithRoom) {
  for (int round = 0; round < 200; ++round) {
    AlignedBuffer page = NewPage();
    Node node(page.data(), page_size());
    node.Init(7, 1, PageType::kLeaf, 0, {}, {}, true);
    Model model;
    std::string refused;
    // Sizes differ from round to round: a few large rows, or many small ones, or a mixture.
    const size_t longest = round % 3 == 0 ? MaxKeySize(page_size()) : 20;
    while (refused.empty()) {
      const std::string key = RandomKey("", longest);
      bool found;
      const uint32_t at = node.LowerBound(key, &found);
      if (found) continue;
      const size_t room = MaxInlineRow(page_size()) - key.size() - 10;
      const std::string value = round % 2 == 0 ? std::string(room, 'v') : RandomValue(room);
      if (node.InsertLeaf(at, key, {value, false})) {
        model[key] = value;
      } else {
        refused = key;
      }
    }
    ASSERT_GE(node.count(), 3u);
    const Node::SplitPoint split = node.FindSplit(refused);
    AlignedBuffer right_page = NewPage();
    Node right(right_page.data(), page_size());
    right.Init(8, 1, PageType::kLeaf, 0, split.separator, {}, true);
    right.CopyFrom(node, split.at, node.count());
    node.TruncateAt(split.separator);
    const auto middle = model.lower_bound(split.separator);
    ExpectRows(node, Model(model.begin(), middle));
    ExpectRows(right, Model(middle, model.end()));
    EXPECT_GT(node.count(), 0u);
    EXPECT_EQ(node.HighFence(), right.LowFence());
    EXPECT_LE(split.separator.size(), MaxKeySize(page_size()));
  }
}

TEST_P(NodeTest, SeparatorsAreAsShortAsTheyCanBe) {
  EXPECT_EQ(ShortestSeparator("abc", "abd"), "abd");
  EXPECT_EQ(ShortestSeparator("abc", "b"), "b");
  EXPECT_EQ(ShortestSeparator("abc", "abcdef"), "abcd");
  EXPECT_EQ(ShortestSeparator("", std::string(1, '\0')), std::string(1, '\0'));
  for (int i = 0; i < 1000; ++i) {
    std::string a = RandomKey("", 10), b = RandomKey("", 10);
    if (a == b) continue;
    if (b < a) std::swap(a, b);
    const std::string s = ShortestSeparator(a, b);
    EXPECT_LT(a, s);
    EXPECT_LE(s, b);
    EXPECT_LE(s.substr(0, s.size() - 1), a) << "a shorter one would do";
  }
}

// Ascending inserts must leave full pages behind.
TEST_P(NodeTest, AscendingInsertsSplitAtTheEnd) {
  AlignedBuffer page = NewPage();
  Node node(page.data(), page_size());
  node.Init(7, 1, PageType::kLeaf, 0, {}, {}, true);
  char key[16];
  for (int i = 0;; ++i) {
    snprintf(key, sizeof key, "%08d", i);
    if (!node.InsertLeaf(node.count(), key, {"value", false})) break;
  }
  const Node::SplitPoint split = node.FindSplit(key);
  EXPECT_TRUE(split.in_run);
  EXPECT_EQ(split.at, node.count());
  node.TruncateAt(split.separator);
  EXPECT_EQ(node.Validate(), "");
  EXPECT_GT(node.UsedBytes(), node.Capacity() * 97 / 100);
}

// Sessions that load neighbouring parts of the key range meet in leaves. Each part must still fill
// its own leaves.
TEST_P(NodeTest, ARunThatIsNotAtTheEndIsSplitWhereItHasGotTo) {
  AlignedBuffer page = NewPage();
  Node node(page.data(), page_size());
  node.Init(7, 1, PageType::kLeaf, 0, {}, {}, true);
  for (const char* later : {"2000", "2001", "2002", "2003", "2004"}) {
    ASSERT_TRUE(node.InsertLeaf(node.count(), later, {"value", false}));
  }
  char key[16];
  bool found;
  for (int i = 0;; ++i) {
    snprintf(key, sizeof key, "1%07d", i);
    if (!node.InsertLeaf(node.LowerBound(key, &found), key, {"value", false})) break;
  }
  const Node::SplitPoint split = node.FindSplit(key);
  EXPECT_TRUE(split.in_run);
  EXPECT_EQ(split.at, node.count() - 5);
  EXPECT_LE(split.separator, key);
  node.TruncateAt(split.separator);
  EXPECT_EQ(node.Validate(), "");
  EXPECT_GT(node.UsedBytes(), node.Capacity() * 9 / 10);
}

// The replay of a split cuts whatever older state of the page the file has. Any state of the page
// must have room for the fence, up to the slack; longer fences are logged with the page.
TEST_P(NodeTest, AnyStateOfALeafCanBeCutAtAShortSeparator) {
  for (uint32_t round = 0; round < 400'000 / page_size(); ++round) {
    AlignedBuffer page = NewPage();
    Node node(page.data(), page_size());
    node.Init(7, 1, PageType::kLeaf, 0, {}, {}, true);
    Model model;
    for (int i = 0; i < 500; ++i) {
      Change(&node, &model, "", round % 2 == 0 ? 12 : MaxKeySize(page_size()));
    }
    for (int cuts = 0; cuts < 3; ++cuts) {
      // The separator is above all keys, so that the cut removes no row and makes no room.
      const std::string separator = std::string(FenceSlack(page_size()) - cuts, '\xff');
      node.TruncateAt(separator);
      model.erase(model.lower_bound(separator), model.end());
      ExpectRows(node, model);
      for (int i = 0; i < 100; ++i) {
        const std::string key = RandomKey("", 12);
        bool found;
        const uint32_t at = node.LowerBound(key, &found);
        if (key < separator && !found && node.InsertLeaf(at, key, {"x", false})) model[key] = "x";
      }
      ExpectRows(node, model);
    }
  }
}

TEST_P(NodeTest, MergingBringsBackTheRows) {
  for (int round = 0; round < 50; ++round) {
    AlignedBuffer a_page = NewPage(), b_page = NewPage(), m_page = NewPage();
    Node a(a_page.data(), page_size()), b(b_page.data(), page_size()),
        m(m_page.data(), page_size());
    a.Init(1, 1, PageType::kLeaf, 0, "k/a", "k/b", false);
    b.Init(2, 1, PageType::kLeaf, 0, "k/b", "k/b0", false);
    Model model, rows;
    for (int i = 0; i < 6; ++i) Change(&a, &model, "k/a", 30);
    rows = model;
    model.clear();
    for (int i = 0; i < 6; ++i) Change(&b, &model, "k/b/", 30);
    rows.merge(model);
    const size_t prefix = CommonPrefix("k/a", "k/b0");
    const size_t size = Node::SizeWithPrefix(a, prefix) + Node::SizeWithPrefix(b, prefix);
    m.Init(3, 1, PageType::kLeaf, 0, a.LowFence(), b.HighFence(), false);
    const size_t empty = m.UsedBytes();
    if (size > m.FreeBytes()) continue;
    m.CopyFrom(a, 0, a.count());
    m.CopyFrom(b, 0, b.count());
    ExpectRows(m, rows);
    EXPECT_EQ(m.UsedBytes(), empty + size);
  }
}

TEST_P(NodeTest, AnInnerNodeLeadsToTheChildThatCoversTheKey) {
  AlignedBuffer page = NewPage();
  Node node(page.data(), page_size());
  node.Init(7, 1, PageType::kInner, 1, {}, {}, true);
  std::map<std::string, PageId> model;
  ASSERT_TRUE(node.InsertInner(0, {}, 1000));
  model[""] = 1000;
  for (PageId child = 1; child < 60; ++child) {
    const std::string key = RandomKey("", 20);
    if (model.contains(key)) continue;
    bool found;
    const uint32_t at = node.LowerBound(key, &found);
    if (!node.InsertInner(at, key, child)) break;
    model[key] = child;
  }
  ASSERT_EQ(node.Validate(), "");
  for (int i = 0; i < 2000; ++i) {
    const std::string key = RandomKey("", 22);
    EXPECT_EQ(node.Child(node.ChildIndex(key)), std::prev(model.upper_bound(key))->second);
    if (!key.empty()) {
      EXPECT_EQ(node.Child(node.ChildIndexBelow(key)), std::prev(model.lower_bound(key))->second);
    }
  }
}

// Validation must read inside the page only, whatever its bytes are. A valid page with one changed
// byte must be refused or still be a valid page.
TEST_P(NodeTest, ValidationSurvivesAnyBytes) {
  AlignedBuffer page = NewPage();
  Node node(page.data(), page_size());
  for (int round = 0; round < 300; ++round) {
    for (uint32_t i = 0; i < page_size(); i += 4) {
      const uint32_t r = static_cast<uint32_t>(random_());
      std::memcpy(page.data() + i, &r, 4);
    }
    node.header()->type = PageType::kLeaf;
    node.header()->level = 0;
    if (round % 2 == 0) node.header()->count %= 64;
    node.Validate();
  }
  node.Init(7, 1, PageType::kLeaf, 0, "a", "b", false);
  Model model;
  for (int i = 0; i < 40; ++i) Change(&node, &model, "a", 12);
  AlignedBuffer good = NewPage();
  std::memcpy(good.data(), page.data(), page_size());
  for (uint32_t i = 0; i < page_size(); ++i) {
    std::memcpy(page.data(), good.data(), page_size());
    page.data()[i] = static_cast<char>(page.data()[i] ^ (1 << random_() % 8));
    node.Validate();
  }
}

// Optimistic reads look at pages that are being changed. They must end and stay inside the page,
// whatever its bytes are. The page lies between two areas that must not be touched.
TEST_P(NodeTest, ReadsOfAnyBytesStayInThePage) {
  const size_t guard = 1 << 16;
  char* memory = static_cast<char*>(
      ::mmap(nullptr, page_size() + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  char* page = memory + guard;
  ASSERT_EQ(::mprotect(page, page_size(), PROT_READ | PROT_WRITE), 0);
  uint64_t sum = 0;
  for (int round = 0; round < 3000; ++round) {
    for (size_t i = 0; i < page_size(); i += 8) {
      const uint64_t word = random_();
      std::memcpy(page + i, &word, 8);
    }
    Node node(page, page_size());
    // Half of the pages are mostly plausible, as in the middle of a change.
    if (round % 2 == 0) node.header()->count = static_cast<uint16_t>(random_() % 400);
    if (round % 4 == 0) node.header()->prefix = static_cast<uint16_t>(random_() % 8);
    node.header()->type = round % 3 == 0 ? PageType::kLeaf : PageType::kInner;
    const std::string key = RandomKey("", MaxKeySize(page_size()));
    bool found;
    sum += node.LowFence().size() + node.HighFence().size() + node.Prefix().size();
    for (const uint32_t at : {node.LowerBound(key, &found), node.LowerBoundInside(key, &found),
                              node.ChildIndex(key), node.ChildIndexBelow(key)}) {
      ASSERT_LE(at, node.count());
      if (at == node.count()) continue;
      const LeafValue value = node.Value(at);
      for (const char c : value.bytes) sum += static_cast<uint8_t>(c);
      ASSERT_LT(node.Child(at), kMaxPages);
    }
  }
  ::munmap(memory, page_size() + 2 * guard);
  EXPECT_NE(sum, 0u);
}

INSTANTIATE_TEST_SUITE_P(PageSizes, NodeTest, testing::Values(4096, 8192, 65536));

}  // namespace
}  // namespace testbed::btree

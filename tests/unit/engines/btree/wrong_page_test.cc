// Tests valid pages that are not the page that their parent refers to, such as an old version or a
// copy of another page. Every read and write must report an error: no row may be called absent, and
// no descent may loop for ever.
#include <cstring>
#include <vector>

#include "engines/btree/tree/overflow.h"
#include "tests/unit/engines/btree/inspect_util.h"
#include "tools/database/copy_tree.h"

namespace testbed::btree {
namespace {

class WrongPageTest : public InspectTest {
 protected:
  static constexpr int kRows = 6000;

  void SetUp() override {
    InspectTest::SetUp();
    MakeDatabase(kRows);
    Open();
    table_ = store_->OpenTable("a")->table();
    Close();
    sound_ = Slurp(DataPath(dir_));
    CopyTree(dir_, top_ + "/sound");
  }
  char* Page(std::string* bytes, PageId id) const { return bytes->data() + uint64_t{id} * kPage; }
  // Returns the pages of table "a" at that level, without those of its long values.
  std::vector<PageId> PagesAt(uint8_t level) {
    std::vector<PageId> ids;
    for (PageId id = 1; id < sound_.size() / kPage; ++id) {
      const PageHeader* header = Header(Page(&sound_, id));
      const bool node = header->type == PageType::kLeaf || header->type == PageType::kInner;
      if (node && header->table == table_ && header->level == level) ids.push_back(id);
    }
    return ids;
  }
  // Restores the sound database, and replaces page `to` by the contents of page `from`.
  void Put(PageId from, PageId to) {
    store_.reset();
    std::filesystem::remove_all(dir_);
    CopyTree(top_ + "/sound", dir_);
    std::string bytes = sound_;
    char* page = Page(&bytes, to);
    std::memcpy(page, Page(&sound_, from), kPage);
    reinterpret_cast<PageHeader*>(page)->id = to;
    StampPage(page, kPage);
    Spill(DataPath(dir_), bytes);
  }

  // Reads all rows in each way. Every read must give the right answer or report damage. Returns the
  // number of reads that reported damage.
  int ReadAll() {
    int refused = 0;
    StoreClient client(store_.get());
    Tree* tree = store_->OpenTable("a");
    for (int i = 0; i < kRows; ++i) {
      std::string value;
      refused += Refused([&] {
        EXPECT_TRUE(client.Get(tree, Key(i), &value)) << Key(i) << " is absent";
        EXPECT_EQ(value, Value(i));
      });
    }
    return refused + Scan(tree, &client, true) + Scan(tree, &client, false);
  }
  int Scan(Tree* tree, StoreClient* client, bool forward) {
    int rows = 0;
    const int refused = Refused([&] {
      TreeCursor cursor(tree, client->context(), kPage);
      bool on = forward ? cursor.SeekForward({}, false) : cursor.Last();
      for (; on && rows <= kRows; on = forward ? cursor.Next() : cursor.Prev()) {
        EXPECT_EQ(cursor.key(), Key(forward ? rows : kRows - 1 - rows));
        ++rows;
        if (HasFailure()) return;
      }
      EXPECT_EQ(rows, kRows) << (forward ? "forward" : "backward");
    });
    return refused;
  }
  int WriteAll() {
    int refused = 0;
    for (int i = 0; i < kRows; i += 17) {
      refused += Refused([&] { Commit("a", Key(i), Value(i)); });
    }
    return refused;
  }
  template <typename Action>
  static int Refused(const Action& action) {
    try {
      action();
      return 0;
    } catch (const Error& e) {
      // After a commit failed in its middle the store refuses all others, with kIo.
      EXPECT_TRUE(e.kind() == Error::kCorruption || e.kind() == Error::kIo) << e.what();
      EXPECT_NE(std::string(e.what()).find("page "), std::string::npos) << e.what();
      return 1;
    }
  }

  std::string sound_;  // the data file
  uint32_t table_ = 0;
};

// An inner page takes the place of its own child, so that it leads to itself and its level does not
// fall.
TEST_F(WrongPageTest, APageThatLeadsToItselfIsAnError) {
  const std::vector<PageId> inner = PagesAt(1);
  ASSERT_GT(inner.size(), 1u);
  const Node node(Page(&sound_, inner[0]), kPage);
  ASSERT_GT(node.count(), 2u);
  Put(inner[0], node.Child(node.count() / 2));
  Open();
  EXPECT_GT(ReadAll(), 2);
  EXPECT_GT(WriteAll(), 0);
}

TEST_F(WrongPageTest, ALeafThatDoesNotHaveTheKeysIsAnError) {
  const std::vector<PageId> leaves = PagesAt(0);
  ASSERT_GT(leaves.size(), 20u);
  for (const auto& [from, to] : {std::pair(leaves[3], leaves[11]),
                                 {leaves[11], leaves[3]},
                                 {leaves.back(), leaves[7]},
                                 {leaves[7], leaves.back()}}) {
    Put(from, to);
    Open();
    EXPECT_GT(ReadAll(), 2) << "page " << from << " as " << to;
    EXPECT_GT(WriteAll(), 0) << "page " << from << " as " << to;
    if (HasFailure()) return;
  }
}

// A page of a long value is replaced by that of another one, such as an old version of it.
TEST_F(WrongPageTest, AnOverflowPageOfAnotherValueIsAnError) {
  std::vector<PageId> pages;
  for (PageId id = 1; id < sound_.size() / kPage; ++id) {
    if (Header(Page(&sound_, id))->type == PageType::kOverflow) pages.push_back(id);
  }
  const auto header = [&](PageId id) {
    return reinterpret_cast<OverflowHeader*>(Page(&sound_, id));
  };
  // A full page is replaced by a full page of another run, and a shorter last page by another last
  // page.
  const auto find = [&](auto fits) {
    for (const PageId from : pages) {
      for (const PageId to : pages) {
        if (fits(*header(from), *header(to))) return std::pair(from, to);
      }
    }
    return std::pair(kNoPage, kNoPage);
  };
  const auto live = [this](const OverflowHeader& h) { return h.table == table_; };
  const auto pairs = {find([&](const OverflowHeader& from, const OverflowHeader& to) {
                        return live(from) && live(to) && from.size == OverflowPayload(kPage) &&
                               to.size == from.size && from.begin < to.begin;
                      }),
                      find([&](const OverflowHeader& from, const OverflowHeader& to) {
                        return live(from) && live(to) && to.size < OverflowPayload(kPage) &&
                               from.size < to.size;
                      })};
  for (const auto& [from, to] : pairs) {
    ASSERT_NE(from, kNoPage);
    Put(from, to);
    Open();
    EXPECT_GT(ReadAll(), 2) << "page " << from << " as " << to;
    if (HasFailure()) return;
  }
  // The page is the right one, but of another table.
  const auto [first, other] = *pairs.begin();
  header(first)->table = table_ + 1;
  Put(first, first);
  Open();
  EXPECT_GT(ReadAll(), 2);
}

// The reference to a long value is wrong: neither memory nor the space map may be asked for it.
TEST_F(WrongPageTest, AReferenceToNoRunIsAnError) {
  for (const PageId leaf : PagesAt(0)) {
    char* page = Page(&sound_, leaf);
    const Node node(page, kPage);
    uint32_t i = 0;
    while (i < node.count() && !node.Value(i).overflow) ++i;
    if (i == node.count()) continue;
    const std::string key = node.Key(i);
    char* at = page + node.CellAt(i) + node.Suffix(i).size() + sizeof(uint16_t);
    const OverflowRef good = node.Overflow(i);
    OverflowRef huge = good, far = good, longer = good;
    huge.size = uint64_t{1} << 40;
    huge.pages = 1 << 28;
    far.first = kMaxPages - 1;
    longer.size += 2 * kPage;
    for (const OverflowRef& ref : {huge, far, longer}) {
      std::memcpy(at, &ref, sizeof ref);
      Put(leaf, leaf);
      Open();
      std::string value;
      StoreClient client(store_.get());
      EXPECT_EQ(Refused([&] { client.Get(store_->OpenTable("a"), key, &value); }), 1);
      EXPECT_EQ(Refused([&] { Erase("a", key); }), 1);
    }
    return;
  }
  FAIL() << "no leaf has a long value";
}

// A leaf as it was before it was split: its range is wider than its parent says, and reaches that
// of its right neighbour. A merge of both would hide rows and free a page.
TEST_F(WrongPageTest, ALeafFromBeforeItsSplitIsNotMerged) {
  store_.reset();
  std::filesystem::remove_all(dir_);
  Open();
  const auto short_value = [](int i) { return std::string(40, static_cast<char>('a' + i % 26)); };
  // Leaves that are wide and about half full: a merge with such a version of one has room.
  for (int i = 0; i < 2000; i += 4) Commit("a", Key(i), short_value(i));
  for (int i = 0; i < 2000; i += 8) Erase("a", Key(i));
  table_ = store_->OpenTable("a")->table();
  Close();
  std::string old = Slurp(DataPath(dir_));
  Open();
  for (int i = 0; i < 2000; ++i) Commit("a", Key(i), short_value(i));
  Close();
  sound_ = Slurp(DataPath(dir_));
  std::filesystem::remove_all(top_ + "/sound");
  CopyTree(dir_, top_ + "/sound");
  for (const PageId parent : PagesAt(1)) {
    const Node above(Page(&sound_, parent), kPage);
    for (uint32_t i = 1; i + 2 < above.count(); ++i) {
      const PageId id = above.Child(i);
      if ((uint64_t{id} + 1) * kPage > old.size()) continue;
      const Node before(Page(&old, id), kPage), now(Page(&sound_, id), kPage);
      if (!before.leaf() || before.header()->id != id || before.header()->table != table_ ||
          before.LowFence() != now.LowFence() || before.HighFence() <= now.HighFence() ||
          before.UsedBytes() > before.Capacity() * 7 / 10) {
        continue;
      }
      const std::string from = above.Key(i + 1), to = above.Key(i + 2);
      std::memcpy(Page(&sound_, id), Page(&old, id), kPage);
      Put(id, id);
      Open();
      int refused = 0;
      for (int row = 0; row < 2000; ++row) {
        if (Key(row) < from || Key(row) >= to) continue;
        refused += Refused([&] { Erase("a", Key(row)); });
      }
      EXPECT_GT(refused, 0) << "page " << id << " was merged with its neighbour";
      return;
    }
  }
  FAIL() << "no leaf fits";
}

}  // namespace
}  // namespace testbed::btree

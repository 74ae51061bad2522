// Tests valid pages that are not the page that their parent refers to, such as an old version or a
// copy of another page. Every read and write must report an error: no row may be called absent, and
// no descent may loop for ever.
#include <cstring>
#include <vector>

#include "tests/copy_tree.h"
#include "tests/unit/engines/btree/inspect_util.h"

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

}  // namespace
}  // namespace testbed::btree

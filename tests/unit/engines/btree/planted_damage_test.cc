// Tests that the checker of an open store finds damage in each kind of page, and names the page.
#include <algorithm>
#include <fstream>

#include "tests/unit/engines/btree/store_test.h"

namespace testbed::btree {
namespace {

// Plants damage in pages of a database that is open, and puts each page back.
class PlantedDamageTest : public StoreTest {
 protected:
  using Damage = std::function<void(char*)>;

  void OpenFile() {
    path_ = dir_ + "/btree.data";
    file_.open(path_, std::ios::binary | std::ios::in | std::ios::out);
    size_ = options_.page_size;
    page_ = AlignedBuffer(size_);
  }
  void ReadPage(PageId id) {
    id_ = id;
    file_.seekg(static_cast<std::streamoff>(id) * size_);
    file_.read(page_.data(), size_);
  }
  void WritePage(const char* bytes) {
    file_.seekp(static_cast<std::streamoff>(id_) * size_);
    file_.write(bytes, size_);
    file_.flush();
  }
  // Expects that the checker finds the damage, and names the page unless the damage shows in
  // another page.
  void Expect(const std::string& what, const Damage& damage, bool stamp = true,
              bool shows_elsewhere = false) {
    AlignedBuffer changed(size_);
    std::memcpy(changed.data(), page_.data(), size_);
    damage(changed.data());
    if (stamp) StampPage(changed.data(), size_);
    WritePage(changed.data());
    const CheckReport report = CheckStore(store_.get());
    EXPECT_GT(report.problem_count, 0u) << what << " in page " << id_;
    bool named = shows_elsewhere;
    for (const std::string& problem : report.problems) {
      named = named || problem.starts_with("page " + std::to_string(id_) + " of file " + path_);
    }
    EXPECT_TRUE(named) << what << " in page " << id_;
    WritePage(page_.data());
  }
  void DamageAnyPage() {
    Expect("a flipped bit", [&](char* p) { p[size_ / 2] ^= 4; }, false);
    Expect("another number", [&](char* p) { Header(p)->id ^= 1; });
    Expect("another table", [&](char* p) { Header(p)->table += 1; });
    Expect("another type", [&](char* p) { Header(p)->type = PageType::kSuper; });
  }
  void DamageLeaf() {
    Expect("keys out of order", [&](char* p) { std::swap_ranges(p + 48, p + 56, p + 56); });
    Expect("another fence", [&](char* p) { Node(p, size_).header()->unbounded ^= 1; });
  }
  void DamageInner() {
    const Damage other_child = [&](char* p) {
      Node node(p, size_);
      const PageId other = node.Child(0) + 1;
      const std::string key = node.Key(0);
      node.Remove(0);
      node.InsertInner(0, key, other);
    };
    Expect("a child's number", other_child, true, true);
  }

  std::string path_;
  std::fstream file_;
  uint32_t size_ = 0;
  AlignedBuffer page_;
  PageId id_ = 0;
};

TEST_F(PlantedDamageTest, IsNamedWhicheverKindOfPageItIsIn) {
  Open();
  Tree* tree = store_->OpenTable("t");
  {
    Model model;
    StoreClient client(store_.get());
    for (int i = 0; i < 200; ++i) RandomCommit(&client, tree, &model, 20, 0);
  }
  ExpectSound();
  OpenFile();
  std::map<PageType, int> tried;
  for (PageId id = 1; id < store_->space()->file_pages(); ++id) {
    if (!store_->space()->IsUsed(id)) continue;
    ReadPage(id);
    const PageType type = Header(page_.data())->type;
    if (++tried[type] > 5) continue;
    DamageAnyPage();
    if (type == PageType::kLeaf && Node(page_.data(), size_).count() > 1) DamageLeaf();
    if (type == PageType::kInner) DamageInner();
  }
  EXPECT_GT(tried[PageType::kLeaf], 0);
  EXPECT_GT(tried[PageType::kInner], 0);
  EXPECT_GT(tried[PageType::kOverflow], 0);
  // The space map gets one used page too many, and then one too few.
  const PageId leak = store_->space()->Reserve(1);
  store_->space()->MarkUsed(leak, 1);
  EXPECT_EQ(CheckStore(store_.get()).problem_count, 1u);
  store_->space()->MarkFree(leak, 1);
  store_->space()->MarkFree(tree->root(), 1);
  EXPECT_EQ(CheckStore(store_.get()).problem_count, 1u);
  store_->space()->MarkUsed(tree->root(), 1);
  ExpectSound();
}

}  // namespace
}  // namespace testbed::btree

// Tests checking a closed database: every kind of planted damage is reported with its file and
// page, traces of a crash are not reported as damage, and the check changes nothing in the
// directory.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/engines/btree/inspect_util.h"

namespace testbed::btree {
namespace {

using BtreeCheckTest = InspectTest;

TEST_F(BtreeCheckTest, ASoundDatabaseHasNoFaultAndIsNotTouched) {
  MakeDatabase();
  const Files before = Save();
  const auto written = std::filesystem::last_write_time(data());
  const Inspection result = Inspect();
  EXPECT_EQ(result.faults.count, 0u) << Texts(result.faults);
  EXPECT_EQ(result.notes.count, 0u) << Texts(result.notes);
  EXPECT_EQ(result.page_size, kPage);
  ASSERT_EQ(result.trees.size(), 3u);
  EXPECT_EQ(result.trees[1].rows, 6000u);
  EXPECT_EQ(result.trees[1].levels.size(), 3u);
  EXPECT_GT(result.trees[1].overflow_pages, 100u);
  EXPECT_EQ(result.trees[2].rows, 10u);
  ASSERT_TRUE(result.replay);
  EXPECT_EQ(result.replay->records, 0u);
  uint64_t bytes = 0;
  for (const PageCount& count : result.pages) bytes += count.bytes;
  EXPECT_EQ(bytes, std::filesystem::file_size(data()));
  EXPECT_EQ(Save(), before);
  EXPECT_EQ(std::filesystem::last_write_time(data()), written);
}

TEST_F(BtreeCheckTest, AFileSystemThatIsReadOnlyIsEnough) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  MakeDatabase(100);
  std::filesystem::permissions(
      dir_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  ExpectSound();
  std::filesystem::permissions(dir_, std::filesystem::perms::owner_all);
}

TEST_F(BtreeCheckTest, PagesWhoseBytesChanged) {
  MakeDatabase();
  const Files good = Save();
  for (const PageId id :
       {Find(PageType::kLeaf, 0, 1), Find(PageType::kLeaf, 0, 2), Find(PageType::kInner, 1, 1),
        Find(PageType::kInner, 2, 1), Find(PageType::kOverflow, 0, 1), kCatalogueRoot, PageId{0}}) {
    SCOPED_TRACE(id);
    FlipByte(data(), id * uint64_t{kPage} + 1234);
    ExpectNames(id, "its checksum does not match");
    Restore(good);
  }
  const PageId leaf = Find(PageType::kLeaf, 0, 1), other = Find(PageType::kLeaf, 0, 1, leaf + 1);
  WritePage(leaf, std::string(kPage, '\0'));
  ExpectNames(leaf, "it was never written");
  WritePage(leaf, ReadPage(other));
  ExpectNames(leaf, "another page lies in its place: expected page " + std::to_string(leaf) +
                        ", found page " + std::to_string(other));
  Restore(good);
  const uint64_t size = std::filesystem::file_size(data());
  std::filesystem::resize_file(data(), size - 100);
  ExpectNamesFile("/btree.data", "the file ends within a page");
  std::filesystem::resize_file(data(), leaf * uint64_t{kPage});
  ExpectNames(leaf, "it was never written");
}

TEST_F(BtreeCheckTest, NodesThatAreWholeAndWrong) {
  MakeDatabase();
  const Files good = Save();
  const Lsn end = Checkpoint().redo;
  struct {
    const char* what;
    std::function<void(char*)> change;
    bool inner_too;
  } const damages[] = {
      {"another page lies in its place", [](char* p) { Header(p)->id ^= 1; }, true},
      {"it says that it belongs to another table: expected 1, found 7",
       [](char* p) { Header(p)->table = 7; }, true},
      {"its LSN lies behind the end of the log", [&](char* p) { Header(p)->lsn = end + 100000; },
       true},
      {"its type is no node's: expected 1 or 2, found 4",
       [](char* p) { Header(p)->type = PageType::kSuper; }, true},
      {"its level does not fit its type", [](char* p) { Header(p)->level ^= 1; }, true},
      {"its slots overlap its cells", [](char* p) { Node(p, kPage).header()->heap = 50; }, true},
      {"its free space is miscounted: expected ",
       [](char* p) { Node(p, kPage).header()->garbage += 4; }, true},
      {"it has a high fence and says that it has none",
       [](char* p) { Node(p, kPage).header()->unbounded = 1; }, false},
      {"its prefix is not what its fences have in common",
       [](char* p) { --Node(p, kPage).header()->prefix; }, false},
      {"a fence lies outside the page",
       [](char* p) { Node(p, kPage).header()->high_at = kPage - 1; }, false},
      {"a fence is longer than a key can be: expected 512, found 513",
       [](char* p) {
         Node(p, kPage).header()->low_size = 513;
         Node(p, kPage).header()->low_at = kPage - 513;
       },
       false},
      {"its keys are out of order", [](char* p) { std::swap_ranges(p + 56, p + 64, p + 64); },
       true},
      {"a key head differs from its key", [](char* p) { p[Node::SlotAt(1) + 5] ^= 1; }, true},
      {"a cell lies outside the page", [](char* p) { p[Node::SlotAt(1) + 1] = '\x7f'; }, true},
      {"a value reaches outside the page",
       [](char* p) {
         const Node node(p, kPage);
         p[node.CellAt(0) + node.Suffix(0).size() + 1] = '\x70';
       },
       false},
  };
  // The leaf is neither the first nor the last, so that it has both fences.
  const PageId first = Find(PageType::kLeaf, 0, 1);
  const PageId leaf = Find(PageType::kLeaf, 0, 1, first + 20);
  const PageId inner = Find(PageType::kInner, 1, 1);
  ASSERT_FALSE(Node(ReadPage(leaf).data(), kPage).LowFence().empty());
  for (const auto& damage : damages) {
    for (const PageId id : {leaf, inner}) {
      if (id == inner && !damage.inner_too) continue;
      SCOPED_TRACE(std::string(damage.what) + " in page " + std::to_string(id));
      Edit(id, damage.change);
      ExpectNames(id, damage.what);
      Restore(good);
    }
  }
}

TEST_F(BtreeCheckTest, FencesLevelsAndKeysThatDoNotFitTheTree) {
  MakeDatabase();
  const Files good = Save();
  const PageId leaf = Find(PageType::kLeaf, 0, 1, 20), inner = Find(PageType::kInner, 1, 1);
  const PageId root = Find(PageType::kInner, 2, 1);
  // The leaf is valid in itself, but was cut below the high fence that its parent gives it.
  Edit(leaf, [](char* p) {
    Node node(p, kPage);
    ASSERT_TRUE(node.TruncateAt(node.Key(node.count() - 1)));
  });
  ExpectNames(leaf, "its fences differ from its bounds in its parent: expected keys from \"key");
  Restore(good);
  // A greater suffix moves the key of the last row above the high fence.
  Edit(leaf, [](char* p) {
    Node node(p, kPage);
    const uint32_t last = node.count() - 1;
    p[node.CellAt(last)] = '\x7e';
    p[Node::SlotAt(last) + 7] = '\x7e';
  });
  ExpectNames(leaf, "a key lies above the high fence");
  Restore(good);
  // A separator of the inner page is moved, so that its children no longer fit.
  PageId child = kNoPage;
  Edit(inner, [&](char* p) {
    Node node(p, kPage);
    child = node.Child(3);
    const std::string key = node.Key(3) + "x";
    node.Remove(3);
    ASSERT_TRUE(node.InsertInner(3, key, child));
  });
  ExpectNames(child, "its fences differ from its bounds in its parent");
  Restore(good);
  Edit(root, [](char* p) { Header(p)->level = 3; });
  ExpectNames(inner, "its level is not one below its parent's: expected 2, found 1");
}

TEST_F(BtreeCheckTest, PointersThatLeadNowhereElsewhereOrRound) {
  MakeDatabase();
  const Files good = Save();
  const PageId inner = Find(PageType::kInner, 1, 1), root = Find(PageType::kInner, 2, 1);
  const PageId leaf_of_b = Find(PageType::kLeaf, 0, 2);
  const auto point = [&](PageId to) {
    Edit(inner, [&](char* p) {
      const Node node(p, kPage);
      std::memcpy(p + node.CellAt(5) + node.Suffix(5).size(), &to, sizeof to);
    });
  };
  point(0);
  ExpectNames(inner, "it points to a page that is not there: expected 1 to ");
  EXPECT_TRUE(Texts(Inspect().notes).find("not reached from their tables' roots") !=
              std::string::npos);
  Restore(good);
  point(4000000000u);
  ExpectNames(inner, "found 4000000000");
  Restore(good);
  point(inner);
  ExpectNames(inner, "which belongs to two places");
  Restore(good);
  point(root);
  ExpectNames(inner, "it points to page " + std::to_string(root) + ", which belongs to two places");
  Restore(good);
  point(leaf_of_b);
  ExpectNames(leaf_of_b, "it says that it belongs to another table");
  ExpectNamesFile("/btree.data", "it points to page " + std::to_string(leaf_of_b) +
                                     ", which belongs to two places");
  Restore(good);
  point(Find(PageType::kOverflow, 0, 1));
  ExpectNamesFile("/btree.data", "its type is no node's: expected 1 or 2, found 3");
}

TEST_F(BtreeCheckTest, LongValuesInPieces) {
  MakeDatabase();
  const Files good = Save();
  const PageId first = Find(PageType::kOverflow, 0, 1);
  const auto overflow = [](char* p) { return reinterpret_cast<OverflowHeader*>(p); };
  Edit(first, [&](char* p) { overflow(p)->size -= 1; });
  ExpectNames(first, "its piece of a long value has the wrong size: expected 4056, found 4055");
  Restore(good);
  Edit(first, [&](char* p) { overflow(p)->table = 2; });
  ExpectNames(first, "it says that it belongs to another table: expected 1, found 2");
  Restore(good);
  Edit(first, [&](char* p) { overflow(p)->begin = overflow(p)->lsn + 1; });
  ExpectNames(first, "its value comes later in the log than its LSN");
  Restore(good);
  Edit(first, [&](char* p) { overflow(p)->type = PageType::kFree; });
  ExpectNames(first, "it is not the overflow page that it should be: expected 3, found 0");
  Restore(good);
  // The loop finds a leaf with a reference to a long value.
  PageId leaf = kNoPage;
  uint32_t entry = 0;
  for (PageId id = Find(PageType::kLeaf, 0, 1); entry == 0;
       id = Find(PageType::kLeaf, 0, 1, id + 1)) {
    const std::string page = ReadPage(id);
    const Node node(page.data(), kPage);
    for (uint32_t i = 0; i < node.count(); ++i) {
      if (node.Value(i).overflow) leaf = id, entry = i;
    }
  }
  const auto edit_reference = [&](const std::function<void(OverflowRef*)>& change) {
    Edit(leaf, [&](char* p) {
      const Node node(p, kPage);
      OverflowRef ref = node.Overflow(entry);
      change(&ref);
      std::memcpy(const_cast<char*>(node.Value(entry).bytes.data()), &ref, sizeof ref);
    });
  };
  edit_reference([](OverflowRef* ref) { ++ref->pages; });
  ExpectNames(leaf, "an overflow reference has the wrong number of pages");
  Restore(good);
  edit_reference([](OverflowRef* ref) { ref->size = ~0ull; });
  ExpectNames(leaf, "an overflow reference has the wrong number of pages");
  Restore(good);
  edit_reference([](OverflowRef* ref) { ref->first = 0xfffffffe; });
  ExpectNames(leaf, "it points to a page that is not there");
  Restore(good);
  edit_reference([&](OverflowRef* ref) { ref->first = leaf; });
  ExpectNames(leaf, "which belongs to two places");
}

TEST_F(BtreeCheckTest, TheCatalogue) {
  MakeDatabase(500);
  const Files good = Save();
  const auto edit_row = [&](uint32_t i, size_t at, uint32_t value) {
    Edit(kCatalogueRoot, [&](char* p) {
      const Node node(p, kPage);
      std::memcpy(const_cast<char*>(node.Value(i).bytes.data()) + at, &value, sizeof value);
    });
  };
  edit_row(0, 0, 9999);
  ExpectNames(kCatalogueRoot, "the catalogue has a table with a wrong number: expected 1 to 4095");
  Restore(good);
  edit_row(0, 0, 2);
  ExpectNames(kCatalogueRoot, "the catalogue has two tables with one number");
  Restore(good);
  edit_row(1, 4, 77777);
  ExpectNames(kCatalogueRoot, "it points to a page that is not there");
  Restore(good);
  edit_row(1, 4, Find(PageType::kInner, 1, 1));
  const Inspection result = Inspect();
  EXPECT_GT(result.faults.count, 0u);
  EXPECT_TRUE(Names(result, kCatalogueRoot, "two places") ||
              Texts(result.faults).find("it says that it belongs to another table") !=
                  std::string::npos);
  Restore(good);
  Edit(kCatalogueRoot, [](char* p) {
    Node node(p, kPage);
    ASSERT_TRUE(node.UpdateLeaf(0, {"short", false}));
  });
  ExpectNames(kCatalogueRoot, "a row of the catalogue has the wrong size: expected 8, found 5");
}

// The check goes on below a page that cannot be read: the pages that it led to are checked by
// themselves.
TEST_F(BtreeCheckTest, DamageBelowDamageIsFoundToo) {
  MakeDatabase();
  const PageId root = Find(PageType::kInner, 2, 1), inner = Find(PageType::kInner, 1, 1);
  const std::string page = ReadPage(inner);
  const PageId leaf = Node(page.data(), kPage).Child(7);
  FlipByte(data(), root * uint64_t{kPage} + 2000);
  FlipByte(data(), kCatalogueRoot * uint64_t{kPage} + 2000);
  FlipByte(data(), leaf * uint64_t{kPage} + 2000);
  Edit(inner, [](char* p) { Header(p)->lsn = 1ull << 60; });
  const Inspection result = Inspect();
  EXPECT_TRUE(Names(result, root, "its checksum does not match")) << Texts(result.faults);
  EXPECT_TRUE(Names(result, kCatalogueRoot, "its checksum does not match"));
  EXPECT_TRUE(Names(result, leaf, "its checksum does not match"));
  EXPECT_TRUE(Names(result, inner, "its LSN lies behind the end of the log"));
  EXPECT_EQ(result.faults.count, 4u) << "and nothing for the pages that are sound:\n"
                                     << Texts(result.faults);
  EXPECT_NE(Texts(result.notes).find("not reached from their tables' roots"), std::string::npos);
  InspectOptions options;
  options.most_faults = 2;
  const Inspection few = Inspect(options);
  EXPECT_EQ(few.faults.kept.size(), 2u);
  EXPECT_EQ(few.faults.count, 4u);
}

TEST_F(BtreeCheckTest, TheSpaceMap) {
  MakeDatabase();
  const Files good = Save();
  const auto edit_map = [&](PageId page, bool used) {
    CheckpointState state = Checkpoint();
    Extend(&state.space, page + 1);
    uint64_t& word = state.space.words[page / 64];
    const uint64_t bit = 1ull << (page % 64);
    ASSERT_NE((word & bit) != 0, used);
    word ^= bit;
    WriteCheckpoint(dir_, kPage, state);
  };
  const PageId leaf = Find(PageType::kLeaf, 0, 1), overflow = Find(PageType::kOverflow, 0, 1);
  for (const PageId id : {leaf, overflow}) {
    edit_map(id, false);
    ExpectNames(id, "it is in use, but the space map calls it free");
    EXPECT_EQ(Inspect().faults.count, 1u);
    Restore(good);
  }
  // The loop marks pages as used that were freed, or never used.
  CheckpointState state = Checkpoint();
  Extend(&state.space, state.space.pages + 16);
  int tried = 0;
  for (PageId id = 1; id < state.space.pages; ++id) {
    if ((state.space.words[id / 64] >> (id % 64) & 1) != 0) continue;
    edit_map(id, true);
    const Inspection result = Inspect();
    EXPECT_TRUE(Names(result, id, "the space map calls it used, but nothing points to it"))
        << id << Texts(result.faults);
    // A page that the file does not have makes it one that was cut.
    const bool cut = id * uint64_t{kPage} >= std::filesystem::file_size(data());
    EXPECT_EQ(result.faults.count, cut ? 2u : 1u) << Texts(result.faults);
    Restore(good);
    if (++tried == 12) break;
  }
  ASSERT_GT(tried, 3);
  edit_map(0, false);
  ExpectNamesFile("/btree.checkpoint." + std::to_string(state.sequence % 2),
                  "it does not call the superblock and the catalogue's root used");
}

// The last checkpoint names pages with the LSNs that the data file had at least.
TEST_F(BtreeCheckTest, AnOlderCopyOfTheDataFile) {
  MakeDatabase();
  const Files good = Save();
  const CheckpointState state = Checkpoint();
  ASSERT_EQ(state.witnesses.size(), kMaxWitnesses);
  EXPECT_EQ(Texts(Inspect().faults), "");
  const auto write_older = [&](size_t from) {
    CheckpointState changed = state;
    for (size_t i = from; i < kMaxWitnesses; ++i) ++changed.witnesses[i].lsn;
    WriteCheckpoint(dir_, kPage, changed);
  };
  write_older(0);
  const PageId first = state.witnesses[0].id;
  ExpectNames(first, "the page is older than the checkpoint in " +
                         CheckpointPath(dir_, static_cast<int>(state.sequence % 2)) +
                         ": the file is an old copy");
  EXPECT_THROW(Open(), Error);
  // A torn page tells nothing.
  FlipByte(data(), first * uint64_t{kPage} + 100);
  ExpectNames(state.witnesses[1].id, "the page is older than the checkpoint");
  Restore(good);
  write_older(1);  // one page is as it was
  EXPECT_EQ(Texts(Inspect().faults), "");
  Open();
}

// Erases free the pages that were written last, and free pages are no witnesses.
TEST_F(BtreeCheckTest, AnOlderCopyFromBeforeErases) {
  for (const TornPage torn_page : {TornPage::kNone, TornPage::kDoublewrite}) {
    options_.torn_page = torn_page;
    Open();
    for (int i = 0; i < 12000; ++i) Commit("a", Key(i), Value(i));
    Close();
    const std::string older = dir_ + "/older";
    std::filesystem::copy_file(data(), older);
    Open();
    for (int i = 1000; i < 12000; ++i) Erase("a", Key(i));
    Close();
    ASSERT_FALSE(Checkpoint().witnesses.empty());
    ExpectSound();
    std::filesystem::copy_file(older, data(), std::filesystem::copy_options::overwrite_existing);
    EXPECT_THROW(Open(), Error);
    std::filesystem::remove_all(dir_);
  }
}

TEST_F(BtreeCheckTest, WitnessPagesAreInUseAndChangedBeforeTheRedoPoint) {
  CheckpointState before, state;
  before.witnesses = {{1, 5}, {70, 6}};
  state.space.pages = 71;
  state.space.words = {3, 0};
  state.redo = 8;
  SetWitnesses({{2, 7}, {1, 8}, {1, 9}, {200, 7}}, before, &state);
  ASSERT_EQ(state.witnesses.size(), 1u);
  EXPECT_EQ(state.witnesses[0].id, 1u);
  EXPECT_EQ(state.witnesses[0].lsn, 8u);
  // The first is not in use, the other may be older after a recovery.
  SetWitnesses({{2, 7}, {1, 9}}, before, &state);
  ASSERT_EQ(state.witnesses.size(), 1u);
  EXPECT_EQ(state.witnesses[0].lsn, 5u);
  SetWitnesses(std::vector<WitnessPage>(20, {1, 3}), before, &state);
  EXPECT_EQ(state.witnesses.size(), kMaxWitnesses);
}

TEST_F(BtreeCheckTest, AFreePageWithDamageIsANote) {
  MakeDatabase();
  const CheckpointState state = Checkpoint();
  PageId free = 1;
  while ((state.space.words[free / 64] >> (free % 64) & 1) != 0) ++free;
  FlipByte(data(), free * uint64_t{kPage} + 100);
  const Inspection result = Inspect();
  EXPECT_EQ(result.faults.count, 0u) << Texts(result.faults);
  ASSERT_EQ(result.notes.count, 1u);
  EXPECT_EQ(result.notes.kept[0].page, free);
}

TEST_F(BtreeCheckTest, CheckpointFiles) {
  MakeDatabase(500);
  const Files good = Save();
  const CheckpointState state = Checkpoint();
  const std::string newest = CheckpointPath(dir_, static_cast<int>(state.sequence % 2));
  const std::string older = CheckpointPath(dir_, static_cast<int>((state.sequence + 1) % 2));
  // A crash never tears a single sector, so a bad checksum is damage here.
  for (const std::string& path : {newest, older}) {
    FlipByte(path, 70);
    ExpectNamesFile(path, "byte 0: its checksum does not match: expected 0x");
    Restore(good);
    FlipByte(path, 9);
    ExpectNamesFile(path, "it does not begin as a checkpoint file does");
    Restore(good);
    std::filesystem::resize_file(path, 30);
    EXPECT_NE(Texts(Inspect().faults) + Texts(Inspect().notes), "");
    Restore(good);
  }
  // Without a valid checkpoint file, the checker still checks each page by itself.
  const PageId leaf = Find(PageType::kLeaf, 0, 1);
  FlipByte(newest, 70);
  FlipByte(older, 70);
  FlipByte(data(), leaf * uint64_t{kPage} + 99);
  ExpectNamesFile("/db", "no checkpoint file is whole: the database cannot be opened");
  ExpectNames(leaf, "its checksum does not match");
  EXPECT_EQ(Inspect().faults.count, 4u) << Texts(Inspect().faults);
  Restore(good);
  std::filesystem::remove(older);
  EXPECT_NE(Texts(Inspect().notes).find("the file is missing; the other one counts"),
            std::string::npos);
  Restore(good);
  CheckpointState other = state;
  other.database ^= 1;
  WriteCheckpoint(dir_, kPage, other);
  ExpectNamesFile(newest, "it belongs to another database");
  WriteCheckpoint(dir_, 2 * kPage, state);
  ExpectNamesFile(newest, "byte 20: it has another page size than the data file: expected 4096");
}

// Opening the database needs the doublewrite file, whatever its contents are.
TEST_F(BtreeCheckTest, ADoublewriteFileThatIsNotThere) {
  MakeDatabase(100);
  const std::string path = DoublewritePath(dir_);
  std::filesystem::remove(path);
  EXPECT_THROW(Open(), Error);
  ExpectNamesFile("/btree.doublewrite", "the file is missing: the database cannot be opened");
  EXPECT_EQ(Inspect().faults.count, 1u) << Texts(Inspect().faults);
  std::filesystem::create_directory(path);
  ExpectNamesFile("/btree.doublewrite", "it is no regular file");
}

TEST_F(BtreeCheckTest, TheSuperblock) {
  MakeDatabase(500);
  const Files good = Save();
  const PageId leaf = Find(PageType::kLeaf, 0, 1);
  for (const uint64_t byte : {0u, 33u, 41u, 45u, 50u, 2000u}) {
    SCOPED_TRACE(byte);
    FlipByte(data(), byte);
    FlipByte(data(), leaf * uint64_t{kPage} + 99);
    const Inspection result = Inspect();
    EXPECT_TRUE(Names(result, 0, "superblock") || Names(result, 0, "checksum"));
    EXPECT_TRUE(Names(result, leaf, "its checksum does not match")) << Texts(result.faults);
    EXPECT_EQ(result.faults.count, 2u) << Texts(result.faults);
    Restore(good);
  }
  // Without checkpoint files and superblock the checker tries the page sizes. It cannot tell the
  // size when no page is valid.
  for (int which : {0, 1}) std::filesystem::remove(CheckpointPath(dir_, which));
  FlipByte(data(), 45);
  ExpectNames(0, "its checksum does not match");
  EXPECT_EQ(Inspect().page_size, kPage);
  FlipByte(data(), kPage + 99);
  const Inspection blind = Inspect();
  EXPECT_EQ(blind.page_size, 0u);
  EXPECT_NE(Texts(blind.faults).find("without the page size nothing more can be checked"),
            std::string::npos);
}

TEST_F(BtreeCheckTest, ADirectoryThatIsNoneOrInUse) {
  const auto error = [&] {
    try {
      Inspect();
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(error().find("holds no btree database"), std::string::npos);
  MakeDatabase(10);
  Open();
  EXPECT_NE(error().find("is in use by this process already"), std::string::npos);
  Close();
  EXPECT_EQ(error(), "");
  InspectOptions options;
  options.table = "z";
  try {
    Inspect(options);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "the database has no table z; it has a, b");
  }
}

}  // namespace
}  // namespace testbed::btree

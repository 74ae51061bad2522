// Tests checking a database that was not closed: the state after a crash is no fault, and damage in
// the log is reported with its file and byte.
#include <gtest/gtest.h>

#include <fstream>
#include <utility>

#include "engines/btree/pool/redo.h"
#include "tests/unit/engines/btree/inspect_util.h"

namespace testbed::btree {
namespace {

class BtreeCheckLogTest : public InspectTest {
 protected:
  void Crash() {
    MakeDatabase(3000);
    RunAndCrash([&] {
      for (int i = 0; i < 1500; ++i) Commit("a", Key(2 * i + 100000), Value(i));
      for (int i = 0; i < 500; ++i) Commit("c", Key(i), Value(i));
      store_->Flush();  // these pages reach the file; the later changes are only in the log
      for (int i = 0; i < 300; ++i) Erase("a", Key(i));
      Commit("a", "huge", std::string(300000, 'x'));
    });
  }
  // Returns the file and the offset at which the bytes lie in the log.
  std::pair<std::string, uint64_t> InLog(const std::string& bytes) const {
    for (const auto& entry : std::filesystem::directory_iterator(LogPath(dir_))) {
      const size_t at = Slurp(entry.path()).find(bytes);
      if (at != std::string::npos) return {entry.path(), at};
    }
    ADD_FAILURE() << "not in the log";
    return {};
  }
};

TEST_F(BtreeCheckLogTest, ACrashLeavesNoFault) {
  Crash();
  const Files before = Save();
  const Inspection result = Inspect();
  EXPECT_EQ(result.faults.count, 0u) << Texts(result.faults);
  EXPECT_EQ(Save(), before);
  ASSERT_TRUE(result.replay);
  EXPECT_GT(result.replay->log_bytes, 300000u);
  // The log holds the commits, and the row of the catalogue that created the table.
  EXPECT_EQ(result.replay->rows, 1500u + 500 + 300 + 1 + 1);
  EXPECT_EQ(result.replay->transactions, result.replay->rows);
  EXPECT_EQ(result.replay->unfinished, 0u);
  EXPECT_GT(result.replay->pages, 10u);
  // The row of the catalogue is only in the log, but the table's pages are attributed to the table.
  ASSERT_EQ(result.trees.size(), 4u);
  EXPECT_EQ(result.trees[3].table, "c");
  Open();
  EXPECT_EQ(store_->recovery().log_bytes, result.replay->log_bytes);
  EXPECT_EQ(store_->recovery().transactions, result.replay->transactions);
  Close();
  const Inspection after = Inspect();
  EXPECT_EQ(after.faults.count, 0u) << Texts(after.faults);
  EXPECT_EQ(after.replay->records, 0u);
  EXPECT_EQ(after.trees[3].rows, 500u);
}

// Once, the check and the opening took such names for those of segments.
TEST_F(BtreeCheckLogTest, AFileWithAnotherNameIsNoSegmentOfTheLog) {
  Crash();
  for (const char* name : {"log-0000001", "log-000001~", "log-18446744073709551616"}) {
    std::ofstream(LogPath(dir_) + "/" + name) << "no segment";
  }
  const Inspection result = Inspect();
  EXPECT_EQ(result.faults.count, 0u) << Texts(result.faults);
  Open();
  EXPECT_EQ(store_->recovery().transactions, result.replay->transactions);
}

TEST_F(BtreeCheckLogTest, ATransactionWithoutItsEndNeverHappened) {
  MakeDatabase(100);
  RunAndCrash([&] {
    Commit("a", "before", "1");
    // These are the first parts of a transaction, as a commit of several records appends them.
    for (int part = 0; part < 2; ++part) {
      store_->log()->Append(OperationsHeader({99, part > 0, true, {}}) + std::string(1000, 'p'));
    }
  });
  const Inspection result = Inspect();
  EXPECT_EQ(result.faults.count, 0u) << Texts(result.faults);
  EXPECT_EQ(result.replay->transactions, 1u);
  EXPECT_EQ(result.replay->unfinished, 1u);
}

// A checkpoint reads the log's end while a transaction appends its parts, and finds no commit
// active when it has waited for the list of clients.
TEST_F(BtreeCheckLogTest, ARedoPointBetweenThePartsOfATransactionPassesItOver) {
  MakeDatabase(100);
  RunAndCrash([&] {
    const std::string part(1000, 'p');
    store_->log()->Append(OperationsHeader({99, false, true, {}}) + part);
    store_->Checkpoint();
    store_->log()->Append(OperationsHeader({99, true, true, {}}) + part);
    store_->log()->Append(OperationsHeader({99, true, false, {}}) + part);
    Commit("a", "after", "1");
  });
  const Inspection result = Inspect();
  EXPECT_EQ(result.faults.count, 0u) << Texts(result.faults);
  EXPECT_EQ(result.replay->transactions, 1u);
  EXPECT_EQ(result.replay->unfinished, 0u);
  Open();
  EXPECT_EQ(store_->recovery().transactions, 1u);
  Close();
}

TEST_F(BtreeCheckLogTest, DamageIsNamedByFileAndByte) {
  Crash();
  // Each Sync makes the frames durable. Later frames record that, so damage cannot pass as a torn
  // tail.
  RunAndCrash([&] {
    for (int i = 0; i < 100; ++i) {
      Commit("a", "later" + Key(i), "v");
      store_->log()->Sync();
    }
  });
  const Files synced = Save();
  const auto [path, at] = InLog("later" + Key(50));
  FlipByte(path, at);
  const Inspection result = Inspect();
  bool named = false;
  for (const Fault& fault : result.faults.kept) {
    named =
        named || (fault.file == path && fault.byte && *fault.byte <= at &&
                  *fault.byte + 8192 > at && fault.what.find("no record can be read here") == 0);
  }
  EXPECT_TRUE(named) << Texts(result.faults);
  EXPECT_NE(Texts(result.notes).find("the log cannot be read to its end"), std::string::npos);
  Restore(synced);
  FlipByte(path, 20);
  ExpectNamesFile(path, "byte 0: its header is neither blank nor does it match its checksum");
  Restore(synced);
  std::filesystem::remove_all(LogPath(dir_));
  ExpectNamesFile("/btree.log", "the directory of the log cannot be read");
  std::filesystem::create_directory(LogPath(dir_));
  ExpectNamesFile("/btree.log", "it holds no log");
  Restore(synced);
  CheckpointState state = Checkpoint();
  state.redo += 100 << 20;
  WriteCheckpoint(dir_, kPage, state);
  ExpectNamesFile("/btree.log", "from which it is needed");
  Restore(synced);
  state = Checkpoint();
  state.log_id ^= 1;
  WriteCheckpoint(dir_, kPage, state);
  ExpectNamesFile("", "the log belongs to another database");
}

// The log gets records with matching checksums that no database would write.
TEST_F(BtreeCheckLogTest, RecordsThatMakeNoSense) {
  MakeDatabase(3000);
  const PageId leaf = Find(PageType::kLeaf, 0, 1), inner = Find(PageType::kInner, 1, 1);
  const Files good = Save();
  const auto expect = [&](const std::string& record, const std::string& what) {
    RunAndCrash([&] { store_->log()->Append(record); });
    const Inspection result = Inspect();
    EXPECT_NE(Texts(result.faults).find(what), std::string::npos) << what << " is not among\n"
                                                                  << Texts(result.faults);
    Restore(good);
  };
  std::string row;
  AppendOperation({false, 77, "key", "value"}, &row);
  expect(OperationsHeader({}) + row,
         "a record has a row of table 77, which the catalogue does not have");
  row.clear();
  const std::string long_key(600, 'k');
  AppendOperation({false, 1, long_key, "value"}, &row);
  expect(OperationsHeader({}) + row, "whose key or value is longer than rows can be");
  expect(OperationsHeader({}) + "\x05", "unknown operation");
  expect("\x7f", "unknown kind");
  StructureRecord structure;
  structure.Use(5, 1u << 31);
  expect(std::string(structure.Encode()), "(page number)");
  structure.Clear();
  structure.Use(5, 1u << 29);
  expect(std::string(structure.Encode()), "pages from page 5 on, more than any value takes");
  structure.Clear();
  structure.Remove(leaf, "nothing");
  expect(std::string(structure.Encode()), "page " + std::to_string(leaf) + " of file");
  structure.Clear();
  structure.Insert(inner, long_key, 3);
  expect(std::string(structure.Encode()), "page " + std::to_string(inner) + " of file");
  structure.Clear();
  structure.Truncate(leaf, long_key);
  expect(std::string(structure.Encode()), "cannot be made");
  structure.Clear();
  structure.Free(leaf, 1);
  structure.FreePage(leaf);
  expect(std::string(structure.Encode()), "page " + std::to_string(leaf) + " of file");
  std::string cut(structure.Encode());
  cut.resize(cut.size() - 5);
  expect(cut, "it is too short");
}

// The checker treats a broken page as recovery would. The page's image in the log heals it; log
// records of changes alone do not.
TEST_F(BtreeCheckLogTest, ABrokenPageHealsFromItsImageInTheLogOnly) {
  MakeDatabase(1000);
  const PageId leaf = Find(PageType::kLeaf, 0, 1);
  const std::string page = ReadPage(leaf);
  const Files good = Save();
  StructureRecord image, truncate;
  image.Image(page.data(), kPage);
  truncate.Truncate(leaf, Node(page.data(), kPage).Key(1));
  RunAndCrash([&] { store_->log()->Append(image.Encode()); });
  FlipByte(data(), leaf * uint64_t{kPage} + 99);
  ExpectSound();
  Open();
  ExpectSoundStore();
  Close();
  Restore(good);
  RunAndCrash([&] {
    store_->log()->Append(truncate.Encode());
    store_->log()->Append(image.Encode());
  });
  FlipByte(data(), leaf * uint64_t{kPage} + 99);
  ExpectSound();
  Open();
  ExpectSoundStore();
  Close();
  Restore(good);
  RunAndCrash([&] { store_->log()->Append(truncate.Encode()); });
  FlipByte(data(), leaf * uint64_t{kPage} + 99);
  ExpectNames(leaf, "and does not have it whole");
  EXPECT_THROW(Open(), Error);
}

// The log has the page that was cut off, but an opening refuses the file.
TEST_F(BtreeCheckLogTest, AFileThatWasCutIsAFaultThoughTheLogHasItsLastPage) {
  MakeDatabase(1000);
  const PageId last = LengthInUse(Checkpoint().space) - 1;
  const std::string page = ReadPage(last);
  StructureRecord record;
  if (Header(page.data())->type == PageType::kOverflow) {
    record.Use(last, 1);  // recovery would write the value's pages again
  } else {
    record.Image(page.data(), kPage);
  }
  RunAndCrash([&] { store_->log()->Append(record.Encode()); });
  ExpectSound();
  std::filesystem::resize_file(data(), last * uint64_t{kPage});
  const Inspection result = Inspect();
  EXPECT_EQ(result.faults.count, 1u) << Texts(result.faults);
  EXPECT_NE(Texts(result.faults).find("it was cut before its last page in use"), std::string::npos)
      << Texts(result.faults);
  EXPECT_THROW(Open(), Error);
}

TEST_F(BtreeCheckLogTest, ATornPageWithAWholeCopyIsANote) {
  options_.torn_page = TornPage::kDoublewrite;
  MakeDatabase(1000);
  const PageId leaf = Find(PageType::kLeaf, 0, 1);
  FlipByte(data(), leaf * uint64_t{kPage} + 99);
  const Inspection result = Inspect();
  EXPECT_EQ(result.faults.count, 0u) << Texts(result.faults);
  ASSERT_EQ(result.notes.count, 1u) << Texts(result.notes);
  EXPECT_EQ(result.notes.kept[0].page, leaf);
  Open();
  EXPECT_EQ(store_->recovery().torn_pages, 1u);
}

// The larger database's space map exceeds a sector, so that a crash can tear its checkpoint file.
TEST_F(BtreeCheckLogTest, ACheckpointFileThatACrashMayHaveTornIsANote) {
  MakeDatabase();
  const auto flip = [&](uint64_t which) {
    FlipByte(CheckpointPath(dir_, static_cast<int>((Checkpoint().sequence + which) % 2)), 66);
  };
  const Files good = Save();
  ASSERT_LT(Checkpoint().space.pages, 3584u);
  flip(1);
  EXPECT_EQ(Inspect().faults.count, 1u) << "one sector is never torn";
  Restore(good);
  Open();
  for (int i = 0; i < 300; ++i) Commit("a", "x" + Key(i), std::string(60000, 'x'));
  Close();
  ASSERT_GT(Checkpoint().space.pages, 3584u);
  flip(1);
  EXPECT_EQ(Inspect().faults.count, 1u) << "it was closed cleanly, so both were written";
  Restore(good);
  RunAndCrash([&] {
    for (int i = 0; i < 300; ++i) Commit("a", "x" + Key(i), std::string(60000, 'x'));
    store_->Checkpoint();
    store_->Checkpoint();
    Commit("a", "last", "row");
  });
  flip(1);
  const Inspection result = Inspect();
  EXPECT_EQ(result.faults.count, 0u) << Texts(result.faults);
  EXPECT_NE(Texts(result.notes).find("as after a crash while it was written"), std::string::npos)
      << Texts(result.notes);
  Open();
  ExpectSoundStore();
}

}  // namespace
}  // namespace testbed::btree

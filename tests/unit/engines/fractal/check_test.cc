// Tests `check` and `tree`: sound databases must be found sound in whatever state they were left,
// and damage must be found in its place.
#include "engines/fractal/check.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "device/error.h"
#include "device/file/durable.h"
#include "device/file/file_faults.h"
#include "device/os/signal_guard.h"
#include "engines/fractal/cache/meta.h"
#include "engines/fractal/cursor.h"
#include "tests/unit/engines/fractal/small_store.h"

namespace testbed::fractal {
namespace {

class FractalCheckTest : public SmallStoreTest {
 protected:
  FractalCheckTest() {
    options_.node_size = 32 << 10;
    options_.fanout = 0;
    options_.cache_bytes = 1 << 20;
    options_.codec = Codec::kLz4;
  }

  // Makes two tables of `rows` rows. With `crash` leaves the files as a crash does.
  void Load(int rows, bool crash) {
    Open();
    Tree* tables[] = {tree_, store_->OpenTable("u")};
    for (int i = 0; i < rows; ++i) {
      const std::string key = std::to_string(i * 7919 % 100000), value(100, 'v');
      const RowWrite operations[] = {{false, tables[0]->table(), key, value},
                                     {i % 3 == 0, tables[1]->table(), key, value}};
      client_->Commit(operations);
      if (i == rows / 2) store_->Checkpoint();
    }
    store_->log()->Sync();
    crash ? CloseCrashed() : Close();
  }
  void Flip(uint64_t offset) {
    std::fstream file(DataPath(dir_), std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
  }
};

TEST_F(FractalCheckTest, ASoundDatabaseIsSound) {
  for (const bool crash : {false, true}) {
    Load(20000, crash);
    InspectOptions options;
    options.shape_levels = 2;
    const Inspection result = InspectDatabase(dir_, options);
    for (const Fault& fault : result.faults.kept) ADD_FAILURE() << fault.Text();
    ASSERT_EQ(result.trees.size(), 2u);
    EXPECT_GE(result.trees[0].levels.size(), 3u);
    EXPECT_GT(result.trees[0].rows, 1000u);
    EXPECT_GT(result.trees[0].levels[0].Fill(), 0.9);
    EXPECT_TRUE(result.trees[0].shape.has_value());
    for (const TreeStats& tree : result.trees) {
      uint64_t bytes = 0;
      for (const LevelStats& level : tree.levels) bytes += level.bytes;
      EXPECT_EQ(bytes, tree.Bytes()) << "compressed pages take fewer bytes than their size";
    }
    EXPECT_EQ(SumOf(result.disk) > 0, true);
    ASSERT_TRUE(result.replay.has_value());
    EXPECT_EQ(result.replay->records > 0, crash);
    // The database must open after the check, and pass the check again.
    Store::Open(dir_, options_).reset();
    EXPECT_EQ(InspectDatabase(dir_, InspectOptions()).faults.count, 0u);
  }
}

// The database may be open in a program that embeds the engine, and which knows no option --dir.
TEST_F(FractalCheckTest, TheSentenceOnADatabaseInUseNamesTheDatabase) {
  Open();
  const auto error_of = [](const auto& open) {
    try {
      open();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  const std::string sentence = "the database in " + dir_ + " is in use by this process already";
  const std::string opening = error_of([&] { Store::Open(dir_, options_).reset(); });
  EXPECT_TRUE(opening.starts_with(sentence)) << opening;
  const std::string checking = error_of([&] { InspectDatabase(dir_, InspectOptions()); });
  EXPECT_TRUE(checking.starts_with(sentence)) << checking;
}

// Rows that still wait in inner nodes, and waiting erases of rows in leaves, count as for a scan.
TEST_F(FractalCheckTest, RowsAreThoseOfAScan) {
  options_.fanout = 4;
  Open();
  std::mt19937_64 random(17);
  for (int i = 0; i < 40000; ++i) {
    const std::string key = std::to_string(random() % 20000), value(random() % 200, 'v');
    const RowWrite operation{random() % 4 == 0, tree_->table(), key, value};
    client_->Commit({&operation, 1});
  }
  uint64_t rows = 0, key_bytes = 0, value_bytes = 0;
  TreeCursor cursor(tree_, client_.get());
  for (bool on = cursor.SeekForward({}, false); on; on = cursor.Next()) {
    ++rows;
    key_bytes += cursor.key().size();
    value_bytes += cursor.value().size();
  }
  Close();
  const Inspection result = InspectDatabase(dir_, InspectOptions());
  ASSERT_EQ(result.trees.size(), 1u);
  const TreeStats& tree = result.trees[0];
  EXPECT_GE(tree.levels.size(), 3u) << "messages wait on more than one level";
  EXPECT_NE(tree.levels[0].entries, rows) << "no message waits";
  EXPECT_EQ(tree.rows, rows);
  EXPECT_EQ(tree.key_bytes, key_bytes);
  EXPECT_EQ(tree.value_bytes, value_bytes);
}

// Nodes of other tables, and damaged ones, are in no level.
TEST_F(FractalCheckTest, ThePartsOfTheSpaceAddUpToTheFiles) {
  Load(20000, false);
  uint64_t files = std::filesystem::file_size(DataPath(dir_));
  for (const auto& entry : std::filesystem::directory_iterator(LogPath(dir_))) {
    files += entry.file_size();
  }
  EXPECT_EQ(SumOf(InspectDatabase(dir_, InspectOptions()).disk), files);
  InspectOptions options;
  options.table = "u";
  const Inspection one = InspectDatabase(dir_, options);
  EXPECT_EQ(one.trees.size(), 1u);
  EXPECT_EQ(SumOf(one.disk), files);
  std::vector<TableEntry> tables;
  BlockTable::Blocks blocks;
  std::string why;
  const auto file = OpenPastPageCache(DataPath(dir_), FileKind::kData);
  ASSERT_TRUE(ReadTable(file.get(), ReadHeader(file.get()), &tables, &blocks, &why)) << why;
  Flip(blocks.at(tables.at(0).root).offset);
  const Inspection damaged = InspectDatabase(dir_, InspectOptions());
  EXPECT_GT(damaged.faults.count, 0u);
  EXPECT_EQ(SumOf(damaged.disk), files);
}

TEST_F(FractalCheckTest, ADatabaseWithoutTablesIsSound) {
  Store::Open(dir_, options_).reset();
  EXPECT_EQ(InspectDatabase(dir_, InspectOptions()).faults.count, 0u);
  Store::Open(dir_, options_)->OpenTable("only");
  EXPECT_EQ(InspectDatabase(dir_, InspectOptions()).faults.count, 0u);
}

TEST_F(FractalCheckTest, EveryChangedByteInUseIsFound) {
  Load(3000, false);
  std::mt19937_64 random(301);
  const uint64_t size = std::filesystem::file_size(DataPath(dir_));
  int found = 0;
  for (int i = 0; i < 200; ++i) {
    const uint64_t at = random() % size;
    Flip(at);
    const Inspection result = InspectDatabase(dir_, InspectOptions());
    if (result.faults.count > 0) ++found;
    Flip(at);
  }
  // The other changed bytes are free space, padding and the older header.
  EXPECT_GT(found, 40);
  EXPECT_EQ(InspectDatabase(dir_, InspectOptions()).faults.count, 0u);
}

TEST_F(FractalCheckTest, AnOpenThatIsRefusedHasWrittenNothing) {
  Load(3000, false);
  const std::string path = DataPath(dir_);
  const auto expect_refused = [&] {
    const auto long_ago = std::filesystem::last_write_time(path) - std::chrono::hours(1);
    std::filesystem::last_write_time(path, long_ago);
    EXPECT_THROW(Store::Open(dir_, options_), Error);
    EXPECT_EQ(std::filesystem::last_write_time(path), long_ago);
  };
  options_.page_size = 8192;
  expect_refused();
  options_.page_size = 4096;
  const Header header = ReadHeader(OpenPastPageCache(path, FileKind::kData).get());
  Flip(header.table_offset + 20);
  expect_refused();
  Flip(header.table_offset + 20);
  Store::Open(dir_, options_).reset();
  EXPECT_EQ(InspectDatabase(dir_, InspectOptions()).faults.count, 0u);
}

TEST_F(FractalCheckTest, ADataFileWithoutAHeaderIsAFault) {
  Load(10, false);
  std::fstream(DataPath(dir_), std::ios::binary | std::ios::in | std::ios::out)
      .write(std::string(kFileBegin, '\0').data(), kFileBegin);
  EXPECT_EQ(InspectDatabase(dir_, InspectOptions()).faults.count, 1u);
  std::filesystem::resize_file(DataPath(dir_), 0);
  EXPECT_GT(InspectDatabase(dir_, InspectOptions()).faults.count, 0u);
}

TEST_F(FractalCheckTest, FaultsAreToldThoughTheLogIsGone) {
  Load(3000, false);
  std::filesystem::remove_all(LogPath(dir_));
  const uint64_t log_alone = InspectDatabase(dir_, InspectOptions()).faults.count;
  EXPECT_GT(log_alone, 0u);
  const Header header = ReadHeader(OpenPastPageCache(DataPath(dir_), FileKind::kData).get());
  Flip(header.table_offset + 20);
  EXPECT_GT(InspectDatabase(dir_, InspectOptions()).faults.count, 0u);
}

// The device refuses each read in turn. The opening of the data file is the first call.
TEST_F(FractalCheckTest, WhatCannotBeReadIsAFault) {
  Load(3000, false);
  FileFaults::Set(UINT64_MAX, UINT64_MAX, EIO);
  EXPECT_EQ(InspectDatabase(dir_, InspectOptions()).faults.count, 0u);
  const uint64_t calls = FileFaults::Clear();
  ASSERT_GT(calls, 10u);
  for (uint64_t call = 1; call < calls; ++call) {
    SCOPED_TRACE(call);
    FileFaults::Set(call, call + 1, EIO);
    Inspection result;
    EXPECT_NO_THROW(result = InspectDatabase(dir_, InspectOptions()));
    FileFaults::Clear();
    EXPECT_GT(result.faults.count, 0u);
  }
}

TEST_F(FractalCheckTest, ASignalEndsItBeforeItHasSeenAll) {
  Load(20000, false);
  const uint64_t rows = InspectDatabase(dir_, InspectOptions()).trees[0].rows;
  const SignalGuard signals;
  ::raise(SIGINT);
  const Inspection result = InspectDatabase(dir_, InspectOptions());
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.faults.count, 0u);
  ASSERT_EQ(result.trees.size(), 1u);
  EXPECT_LT(result.trees[0].rows, rows);
}

TEST_F(FractalCheckTest, WhatIsNoDatabaseOrInUseIsRefused) {
  EXPECT_THROW(InspectDatabase(dir_, InspectOptions()), Error);
  const auto store = Store::Open(dir_, options_);
  EXPECT_THROW(InspectDatabase(dir_, InspectOptions()), Error);
}

}  // namespace
}  // namespace testbed::fractal

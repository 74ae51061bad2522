// Tests that a missing, truncated or foreign file of an mmapv1 database is an error, and that the
// failed open changes nothing.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "engines/mmapv1/files/format.h"
#include "engines/mmapv1/journal/journal_format.h"
#include "tests/unit/engines/mmapv1/test_util.h"

namespace testbed::mmapv1 {
namespace {

namespace fs = std::filesystem;

class Mmapv1DamageTest : public Mmapv1Test {
 protected:
  // Makes a closed database of several data files in database_. With `crashed` its files are those
  // of an open database, as a crash leaves them, so an opening has to replay rows from the journal.
  // It has to replay all rows, or, with `flushed`, the one row that the first data file lacks.
  void MakeDatabase(bool crashed, bool flushed = false) {
    const std::string live = dir_ + "/live", old = dir_ + "/old";
    {
      const std::unique_ptr<Store> store = OpenStore(live);
      const TableId table = store->OpenTable("t");
      for (int i = 0; i < 60; ++i) {
        Put(store.get(), table, "row " + std::to_string(i), std::string(60'000, 'v'));
      }
      if (flushed) {
        store->Checkpoint();
        fs::copy_file(DataPath(live, 0), old);
        Put(store.get(), table, "row 0", "value");
      }
      if (crashed) fs::copy(live, database_);
    }
    if (!crashed) fs::copy(live, database_);
    if (flushed) {
      fs::copy_file(old, DataPath(database_, 0), fs::copy_options::overwrite_existing);
    }
    fs::remove_all(live);
  }
  std::map<std::string, std::string> Contents() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::directory_iterator(database_)) {
      std::ostringstream text;
      text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      all[entry.path().filename()] = text.str();
    }
    return all;
  }
  void ExpectRefused(const std::string& what) {
    const auto before = Contents();
    EXPECT_THROW(OpenStore(database_), Error) << what;
    EXPECT_TRUE(Contents() == before) << what << " was refused, but something was changed";
  }
  void ExpectAllRows() {
    const std::unique_ptr<Store> store = OpenStore(database_);
    EXPECT_EQ(AllRows(store.get(), store->OpenTable("t")).size(), 60u);
  }

  const std::string database_ = dir_ + "/database";
};

TEST_F(Mmapv1DamageTest, AMissingFileIsAnErrorThatChangesNothing) {
  for (const bool crashed : {false, true}) {
    MakeDatabase(crashed);
    ASSERT_TRUE(fs::exists(DataPath(database_, 2)));
    for (const auto& entry : fs::directory_iterator(database_)) {
      const fs::path path = entry.path();
      // The journal's spare file holds nothing, so it may be missing.
      if (path.filename() == "journal.spare") continue;
      const fs::path away = dir_ + "/away";
      fs::rename(path, away);
      ExpectRefused("without " + path.filename().string());
      fs::rename(away, path);
    }
    ExpectAllRows();
    fs::remove_all(database_);
  }
}

TEST_F(Mmapv1DamageTest, AFileThatWasCutOrIsAnothersIsAnError) {
  MakeDatabase(false);
  const std::string path = DataPath(database_, 1);
  const auto bytes = fs::file_size(path);
  fs::resize_file(path, bytes / 2);
  ExpectRefused("cut in the middle");
  fs::resize_file(path, bytes);  // restores the size; the next line replaces the contents
  fs::copy_file(DataPath(database_, 2), path, fs::copy_options::overwrite_existing);
  ExpectRefused("another file in its place");
}

// A file that has no header and holds nothing is accepted (undone_files_test.cc). This one holds
// rows.
TEST_F(Mmapv1DamageTest, AFileThatLostItsHeaderIsAnError) {
  for (const bool crashed : {false, true}) {
    MakeDatabase(crashed, crashed);
    const std::string path = DataPath(database_, 1);
    const std::string sound = Contents().at("mmapv1.1");
    ASSERT_TRUE(fs::exists(DataPath(database_, 2)));
    for (const size_t zeros : {sizeof(FileHeader), size_t{16384}, sound.size()}) {
      std::string bytes = sound;
      bytes.replace(0, zeros, zeros, '\0');
      std::ofstream(path, std::ios::binary) << bytes;
      EXPECT_NE(FirstFault(database_), "") << zeros;
      if (crashed && zeros > kFileHeaderBytes) {
        EXPECT_THROW(OpenStore(database_), Error) << zeros;  // found when all is replayed
      } else {
        ExpectRefused(std::to_string(zeros) + " bytes of zeros");
      }
    }
    std::ofstream(path, std::ios::binary) << sound;
    ExpectAllRows();
    fs::remove_all(database_);
  }
}

// Such files do not open as a database. Once, the check threw this error and wrote no findings.
TEST_F(Mmapv1DamageTest, ACheckTellsWhatKeepsTheFilesFromOpeningAsAFault) {
  MakeDatabase(false);
  const std::string path = DataPath(database_, 1), away = dir_ + "/away";
  fs::rename(path, away);
  EXPECT_NE(FirstFault(database_).find(path + " is missing though"), std::string::npos);
  std::ofstream(path).close();
  EXPECT_NE(FirstFault(database_).find("has 0 bytes"), std::string::npos);
  fs::rename(away, path);
  EXPECT_EQ(FirstFault(database_), "");
  constexpr size_t kAt = offsetof(NsHeader, database);
  std::string bytes = Contents().at("mmapv1.ns");
  bytes[kAt] = static_cast<char>(bytes[kAt] ^ 1);
  std::ofstream(NsPath(database_), std::ios::binary) << bytes;
  EXPECT_NE(FirstFault(database_).find("its checksum does not match"), std::string::npos);
}

TEST_F(Mmapv1DamageTest, WhatMayNotBeMadeIsNotMade) {
  options_.create = false;
  EXPECT_THROW(OpenStore(database_), Error);
  EXPECT_FALSE(fs::exists(database_));
  fs::create_directory(database_);
  EXPECT_THROW(OpenStore(database_), Error);
  EXPECT_TRUE(fs::is_empty(database_));
}

TEST_F(Mmapv1DamageTest, FilesOfOthersStay) {
  fs::create_directory(database_);
  std::ofstream(database_ + "/mmapv1.txt") << "notes";
  OpenStore(database_);
  EXPECT_TRUE(fs::exists(database_ + "/mmapv1.txt"));
}

TEST_F(Mmapv1DamageTest, ASignalEndsACheckBeforeItHasSeenAll) {
  MakeDatabase(false);
  EXPECT_EQ(InspectDatabase(database_, {}).trees.size(), 1u);
  const SignalGuard signals;
  ::raise(SIGINT);
  const Inspection result = InspectDatabase(database_, {});
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.faults.count, 0u);
  EXPECT_TRUE(result.trees.empty());
}

}  // namespace
}  // namespace testbed::mmapv1

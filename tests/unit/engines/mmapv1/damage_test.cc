// Tests that a missing, truncated or foreign file of an mmapv1 database is an error, and that the
// failed open changes nothing.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "device/error.h"
#include "engines/mmapv1/files/format.h"
#include "engines/mmapv1/journal/journal_format.h"
#include "tests/unit/engines/mmapv1/test_util.h"

namespace testbed::mmapv1 {
namespace {

namespace fs = std::filesystem;

class Mmapv1DamageTest : public Mmapv1Test {
 protected:
  // Makes a closed database of several data files in database_. With `crashed` its files are those
  // of an open database, as a crash leaves them, so that rows have to be replayed from the journal.
  void MakeDatabase(bool crashed) {
    const std::string live = dir_ + "/live";
    {
      const std::unique_ptr<Store> store = OpenStore(live);
      const TableId table = store->OpenTable("t");
      for (int i = 0; i < 60; ++i) {
        Put(store.get(), table, "row " + std::to_string(i), std::string(60'000, 'v'));
      }
      if (crashed) fs::copy(live, database_);
    }
    if (!crashed) fs::copy(live, database_);
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

}  // namespace
}  // namespace testbed::mmapv1

#include "tools/database/database_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "device/error.h"
#include "device/file/file.h"
#include "device/file/file_faults.h"
#include "device/os/dir_lock.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"
#include "tools/database/database_dir.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class DatabaseFilesTest : public testing::Test {
 protected:
  DatabaseFilesTest() {
    std::string pattern = fs::current_path() / "database_files_test_XXXXXX";
    dir_ = mkdtemp(pattern.data());
  }
  ~DatabaseFilesTest() override { fs::remove_all(dir_); }
  std::string dir_;
};

// Other users choose the names, and a terminal would obey control characters in them.
TEST_F(DatabaseFilesTest, NamesAreListedOnOneLineWithoutControlCharacters) {
  EXPECT_EQ(SomeNames({"a\x1b[2J", "b\nc"}), "a [2J, b c");
  EXPECT_EQ(SomeNames({"1", "2", "3", "4", "5"}), "1, 2, 3, 4, 5");
  EXPECT_EQ(SomeNames({"1", "2", "3", "4", "5", "6", "7"}), "1, 2, 3, 4, 5 and 2 more");
  EXPECT_EQ(SomeNames({}), "");
}

// Without a record, nothing shows that testbed made the files.
TEST_F(DatabaseFilesTest, WhatHasNoRecordStays) {
  std::ofstream(dir_ + "/photo.jpg") << "x";
  fs::create_directories(dir_ + "/db");
  std::ofstream(dir_ + "/db/btree.data") << "x";
  EXPECT_THAT(RemoveDatabase(dir_, dir_), ElementsAre("db", "photo.jpg"));
  RemoveDatabaseDirectory(dir_);
  EXPECT_TRUE(fs::exists(dir_ + "/photo.jpg"));
  EXPECT_TRUE(fs::exists(dir_ + "/db/btree.data"));
}

TEST_F(DatabaseFilesTest, OfADatabaseNothingStaysButWhatIsNotItsOwn) {
  WriteRecord(dir_, {{"schema", kDatabaseSchema}, {"engine", "btree"}, {"loaded", true}});
  fs::create_directories(dir_ + "/db");
  std::ofstream(dir_ + "/db/btree.data") << "x";
  std::ofstream(dir_ + "/db/precious") << "x";
  EXPECT_THAT(RemoveDatabase(dir_, dir_), ElementsAre("db/precious"));
  fs::remove_all(dir_ + "/db");
  WriteRecord(dir_, {{"schema", kDatabaseSchema}, {"engine", "btree"}, {"loaded", true}});
  EXPECT_THAT(RemoveDatabase(dir_, dir_), IsEmpty());
  EXPECT_TRUE(fs::is_empty(dir_));
}

// Once, the record was removed and all files stayed, as if they were not testbed's.
TEST_F(DatabaseFilesTest, ADatabaseOfAnEngineThatThisBuildLacksStays) {
  for (const char* engine : {"nosuch", "nosuch@1.2"}) {
    const nlohmann::json record = {
        {"schema", kDatabaseSchema}, {"engine", engine}, {"loaded", true}};
    WriteRecord(dir_, record);
    fs::create_directories(dir_ + "/db");
    std::ofstream(dir_ + "/db/nosuch.data") << "x";
    EXPECT_THROW(RemoveDatabase(dir_, dir_), Error);
    RemoveDatabaseDirectory(dir_);
    EXPECT_TRUE(fs::exists(dir_ + "/db/nosuch.data"));
    ASSERT_TRUE(ReadRecord(dir_));
    EXPECT_EQ(*ReadRecord(dir_), record);
  }
}

TEST_F(DatabaseFilesTest, OnlyADatabaseOfOursHasBytesThatItsRemovalFrees) {
  fs::create_directories(dir_ + "/db/part");
  FileOptions options;
  options.create = FileOptions::kMustCreate;
  const std::string bytes(100'000, 'x');
  const auto file = File::Open(dir_ + "/db/part/btree.data", options);
  file->Write(0, bytes.data(), bytes.size());
  file->Sync();
  EXPECT_EQ(BytesOfDatabase(dir_), 0u) << "it has no record";
  EXPECT_EQ(BytesOfDatabase(dir_ + "/none"), 0u);
  WriteRecord(dir_, {{"schema", kDatabaseSchema}, {"engine", "btree"}, {"loaded", true}});
  EXPECT_GT(BytesOfDatabase(dir_), 0u);
  EXPECT_LE(BytesOfDatabase(dir_), bytes.size());
}

// A replay that erases at random leaves ranges of rows without number. The record with them was too
// long to be read, so that nothing knew the database any more, --fresh included.
TEST_F(DatabaseFilesTest, ARecordOfManyRangesOfRowsIsRead) {
  for (const size_t ranges : {50000u, 500000u}) {
    nlohmann::json places = nlohmann::json::array();
    for (size_t i = 0; i < ranges; ++i) places.push_back({3 * i, 3 * i + 2});
    WriteRecord(dir_, {{"schema", kDatabaseSchema},
                       {"engine", "btree"},
                       {"loaded", true},
                       {"population", {{"places", places}}}});
    EXPECT_GT(fs::file_size(dir_ + "/testbed.json"), ranges == 50000 ? 1u << 20 : 10u);
    const std::optional<nlohmann::json> record = ReadRecord(dir_);
    ASSERT_TRUE(record);
    const nlohmann::json& rows = record->at("population");
    EXPECT_EQ(rows.is_null(), ranges == 500000) << "they are counted by the next run";
    if (!rows.is_null()) {
      EXPECT_EQ(rows.at("places"), places);
    }
  }
}

// A removal may be cut short, and --reuse must not take what it leaves for the database.
TEST_F(DatabaseFilesTest, ADatabaseIsNotLoadedAnyMoreBeforeItsFilesGo) {
  WriteRecord(dir_, {{"schema", kDatabaseSchema}, {"engine", "btree"}, {"loaded", true}});
  fs::create_directories(dir_ + "/db");
  std::ofstream(dir_ + "/db/btree.data") << "x";
  FileFaults::Set(0, 1, EIO);  // the record cannot be written
  EXPECT_THROW(RemoveDatabase(dir_, dir_), Error);
  FileFaults::Clear();
  EXPECT_TRUE(fs::exists(dir_ + "/db/btree.data"));
  EXPECT_TRUE(ReadRecord(dir_)->value("loaded", false));
  FileFaults::Set(0, UINT64_MAX, ENOSPC);
  EXPECT_THAT(RemoveDatabase(dir_, dir_), IsEmpty());
  FileFaults::Clear();
  EXPECT_TRUE(fs::is_empty(dir_));
}

// Without the record, nothing would show that the files which are left are testbed's.
TEST_F(DatabaseFilesTest, ARemovalThatFailsHalfwayLeavesTheRecord) {
  WriteRecord(dir_, {{"schema", kDatabaseSchema}, {"engine", "btree"}, {"loaded", true}});
  fs::create_directories(dir_ + "/db");
  for (const char* file : {"/db/btree.data", "/db/btree.doublewrite"}) {
    std::ofstream(dir_ + file) << "x";
  }
  {
    FailingDisk disk(dir_);
    disk.Fail({DiskCall::kUnlink, 1});
    EXPECT_THROW(RemoveDatabase(dir_, dir_), Error);
    EXPECT_EQ(disk.failed(), 1u);
  }
  EXPECT_NE(fs::exists(dir_ + "/db/btree.data"), fs::exists(dir_ + "/db/btree.doublewrite"));
  const std::optional<nlohmann::json> record = ReadRecord(dir_);
  ASSERT_TRUE(record);
  EXPECT_FALSE(record->value("loaded", true));
  EXPECT_THAT(RemoveDatabase(dir_, dir_), IsEmpty());
  EXPECT_TRUE(fs::is_empty(dir_));
}

TEST_F(DatabaseFilesTest, ARecordThatACrashCutOffIsKnown) {
  const RunOptions options;
  const std::string left = dir_ + "/testbed.json.0123456789abcdef.new";
  for (const nlohmann::json& record :
       {DatabaseIdentity(options, {"insert"}),
        nlohmann::json{{"schema", kDatabaseSchema}, {"loaded", false}}}) {
    WriteRecord(dir_, record);
    std::ifstream in(dir_ + "/testbed.json");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    fs::remove(dir_ + "/testbed.json");
    for (size_t n = 0; n <= text.size(); n += 7) {
      std::ofstream(left) << text.substr(0, n) + std::string(text.size() - n, '\0');
      EXPECT_TRUE(HoldsNoDatabaseYet(dir_)) << n;
    }
    RemoveUnfinishedRecords(dir_);
    EXPECT_TRUE(fs::is_empty(dir_));
  }
  std::ofstream(left) << "{\n  \"comp\": ";
  EXPECT_FALSE(HoldsNoDatabaseYet(dir_));
  fs::remove(left);
  fs::create_symlink("nowhere", left);
  EXPECT_FALSE(HoldsNoDatabaseYet(dir_));
}

// The file of a table has the name that the user gave the table, so only the record tells which
// files are of tables.
TEST_F(DatabaseFilesTest, TheFilesOfTablesAreThoseThatTheRecordNames) {
  WriteRecord(dir_, {{"schema", kDatabaseSchema},
                     {"engine", "wiredtiger"},
                     {kTableFiles, {"orders.wt", "1/orders.wt", "../photo.wt"}}});
  for (const char* path :
       {"db/orders.wt", "db/1/orders.wt", "db/backup.wt", "db/1/backup.wt", "photo.wt"}) {
    fs::create_directories((fs::path(dir_) / path).parent_path());
    std::ofstream(dir_ + "/" + path) << "x";
  }
  EXPECT_THAT(RemoveDatabase(dir_, dir_),
              ElementsAre("photo.wt", "db/1/backup.wt", "db/backup.wt"));
}

// Another user may own a directory of the database, such as a server's cluster, and put links into
// it.
TEST_F(DatabaseFilesTest, NothingIsRemovedThroughALink) {
  WriteRecord(dir_, {{"schema", kDatabaseSchema}, {"engine", "btree"}, {"loaded", true}});
  fs::create_directories(dir_ + "/db");
  fs::create_directories(dir_ + "/theirs");
  std::ofstream(dir_ + "/theirs/log-77") << "x";
  fs::create_directory_symlink(dir_ + "/theirs", dir_ + "/db/btree.log");
  RemoveDatabase(dir_, dir_);
  EXPECT_TRUE(fs::exists(dir_ + "/theirs/log-77"));
}

// Another user who may write to the directory could put a link there, through which root would
// empty a file.
TEST_F(DatabaseFilesTest, AFileThatIsMadeAnewIsNoLinkToAnother) {
  std::ofstream(dir_ + "/theirs") << "theirs";
  fs::create_symlink("theirs", dir_ + "/btree.data.new");
  FileOptions options;
  options.create = FileOptions::kTruncate;
  try {
    File::Open(dir_ + "/btree.data.new", options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::kIo);
    EXPECT_NE(std::string(error.what()).find("a symbolic link has its name"), std::string::npos)
        << error.what();
  }
  EXPECT_EQ(fs::file_size(dir_ + "/theirs"), 6u);
  // A link of the user to a directory on another disk is followed, and so is a link to an existing
  // file that is opened with kMustExist.
  fs::create_directory(dir_ + "/disk");
  fs::create_directory_symlink("disk", dir_ + "/log");
  File::Open(dir_ + "/log/log-1", options);
  EXPECT_TRUE(fs::exists(dir_ + "/disk/log-1"));
  options.create = FileOptions::kMustExist;
  EXPECT_EQ(File::Open(dir_ + "/btree.data.new", options)->Size(), 6u);
}

// A directory that another run uses is not cleared, nor is one that is given by a link.
TEST_F(DatabaseFilesTest, ADirectoryInUseIsNotCleared) {
  const std::string held = dir_ + "/held";
  fs::create_directories(held);
  WriteRecord(held, {{"schema", kDatabaseSchema}, {"loaded", false}});
  fs::create_directory_symlink(held, dir_ + "/link");
  {
    const DirLock lock(held, "--dir");
    RemoveDatabaseDirectory(held);
    EXPECT_TRUE(ReadRecord(held).has_value());
  }
  RemoveDatabaseDirectory(dir_ + "/link");
  EXPECT_TRUE(ReadRecord(held).has_value());
  RemoveDatabaseDirectory(held);
  EXPECT_FALSE(fs::exists(held));
}

}  // namespace
}  // namespace testbed

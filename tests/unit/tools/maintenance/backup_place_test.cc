// Tests that a backup which is refused, because somebody else came first, leaves alone what the
// others have put into its directory.
#include "tools/maintenance/backup_place.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "device/error.h"
#include "device/os/dir_lock.h"
#include "tools/database/database_files.h"
#include "tools/maintenance/closed_database.h"

namespace testbed {
namespace {

class BackupPlaceTest : public testing::Test {
 protected:
  BackupPlaceTest() {
    std::string pattern = std::filesystem::current_path() / "backup_place_test_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    MakeDatabase(dir_ + "/from");
  }
  ~BackupPlaceTest() override { std::filesystem::remove_all(dir_); }

  // Makes as much of a loaded database of btree as is looked at before it is opened.
  static void MakeDatabase(const std::string& dir) {
    std::filesystem::create_directories(dir + "/db");
    std::ofstream(dir + "/db/btree.data") << "rows";
    WriteRecord(dir, {{"schema", kDatabaseSchema}, {"engine", "btree"}, {"loaded", true}});
  }
  ClosedDatabase Closed() const {
    DatabaseArguments arguments;
    arguments.dir = dir_ + "/from";
    return ClosedDatabase(arguments, "backup",
                          [](const EngineInfo& info) { return info.capabilities.backup; });
  }
  // Returns the sentence of the error with which Begin refuses the directory.
  static std::string ErrorOfBegin(BackupPlace* place) {
    try {
      place->Begin();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  std::string dir_;
};

TEST_F(BackupPlaceTest, ADatabaseThatAnotherProcessHasMadeThereStays) {
  const std::string to = dir_ + "/to";
  const ClosedDatabase closed = Closed();
  std::optional<BackupPlace> place(std::in_place, to, closed);
  MakeDatabase(to);
  const std::string error = ErrorOfBegin(&*place);
  EXPECT_NE(error.find("is not empty"), std::string::npos) << error;
  place.reset();
  EXPECT_TRUE(std::filesystem::exists(to + "/db/btree.data"));
  ASSERT_TRUE(ReadRecord(to));
  EXPECT_EQ(*ReadRecord(to), *ReadRecord(dir_ + "/from"));
}

TEST_F(BackupPlaceTest, ADirectoryThatAnotherProcessHasLockedStays) {
  const std::string to = dir_ + "/to";
  const ClosedDatabase closed = Closed();
  std::optional<BackupPlace> place(std::in_place, to, closed);
  std::filesystem::create_directory(to);
  const DirLock lock(to, "--dir");
  EXPECT_NE(ErrorOfBegin(&*place), "");
  place.reset();
  EXPECT_TRUE(std::filesystem::exists(to));
}

TEST_F(BackupPlaceTest, NothingIsMadeWhereAnotherUserCameFirst) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be led to files of others";
  std::filesystem::create_directory(dir_ + "/open");
  ASSERT_EQ(::chmod((dir_ + "/open").c_str(), 01777), 0);
  const std::string theirs = dir_ + "/open/theirs", to = theirs + "/to";
  const ClosedDatabase closed = Closed();
  BackupPlace place(to, closed);
  std::filesystem::create_directory(theirs);
  ASSERT_EQ(::chown(theirs.c_str(), 65534, 65534), 0);
  const std::string error = ErrorOfBegin(&place);
  EXPECT_NE(error.find("belongs to another user"), std::string::npos) << error;
  EXPECT_FALSE(std::filesystem::exists(to + "/testbed.json"));
}

// What the backup itself has made is removed, and so are the directories above it.
TEST_F(BackupPlaceTest, WhatItHasMadeItselfGoes) {
  const std::string above = dir_ + "/new", to = above + "/to";
  const ClosedDatabase closed = Closed();
  {
    BackupPlace place(to + "/", closed);
    place.Begin();
    std::filesystem::create_directory(to + "/db");
    std::ofstream(to + "/db/btree.data") << "ro";
    EXPECT_TRUE(ReadRecord(to));
  }
  EXPECT_FALSE(std::filesystem::exists(above));
}

}  // namespace
}  // namespace testbed

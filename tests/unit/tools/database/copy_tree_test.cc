// Tests the copies of directories.
#include "tools/database/copy_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "device/error.h"
#include "device/os/dir_lock.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"
#include "tools/database/database_files.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class CopyTreeTest : public testing::Test {
 protected:
  CopyTreeTest() {
    std::string pattern = fs::current_path() / "copy_tree_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    fs::create_directories(dir_ / "from/deep/er");
  }
  ~CopyTreeTest() override { fs::remove_all(dir_); }

  static std::string Read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path dir_;
};

TEST_F(CopyTreeTest, ContentsSizesAndPermissionsAreTheSame) {
  std::ofstream(dir_ / "from/empty").close();
  std::ofstream(dir_ / "from/deep/er/file", std::ios::binary) << std::string(3000000, 'x') + "end";
  fs::permissions(dir_ / "from/deep/er/file", fs::perms(0640));
  fs::create_directories(dir_ / "to");
  std::ofstream(dir_ / "to/empty") << "what was there";
  CopyTree(dir_ / "from", dir_ / "to");
  EXPECT_EQ(Read(dir_ / "to/empty"), "");
  EXPECT_EQ(Read(dir_ / "to/deep/er/file"), Read(dir_ / "from/deep/er/file"));
  EXPECT_EQ(fs::status(dir_ / "to/deep/er/file").permissions(), fs::perms(0640));
}

// Data, a hole, data, and space that was allocated and never written.
TEST_F(CopyTreeTest, HolesStayHoles) {
  const fs::path file = dir_ / "from/file";
  constexpr uint64_t kAt = 20 << 20, kSize = 64 << 20;
  std::ofstream(file, std::ios::binary) << "begin";
  fs::resize_file(file, kAt);
  std::ofstream(file, std::ios::binary | std::ios::app) << "middle";
  const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  const int error = ::posix_fallocate(fd, 0, kSize);
  const off_t hole = ::lseek(fd, 0, SEEK_HOLE);
  ::close(fd);
  ASSERT_EQ(error, 0);
  if (hole == static_cast<off_t>(kSize)) GTEST_SKIP() << "this file system tells no holes";
  CopyTree(dir_ / "from", dir_ / "to");
  EXPECT_EQ(fs::file_size(dir_ / "to/file"), kSize);
  EXPECT_TRUE(Read(dir_ / "to/file") == Read(file)) << "the contents differ";
  struct stat st = {};
  ASSERT_EQ(::stat((dir_ / "to/file").c_str(), &st), 0);
  EXPECT_LT(st.st_blocks * 512, 8 << 20) << "holes were written";
}

// Once, the linked directory was copied without its files.
TEST_F(CopyTreeTest, WhatLinksLeadToIsCopied) {
  fs::create_directories(dir_ / "disk");
  std::ofstream(dir_ / "disk/log-1") << "log";
  fs::create_directory_symlink(dir_ / "disk", dir_ / "from/log");
  fs::create_symlink(dir_ / "disk/log-1", dir_ / "from/file");
  CopyTree(dir_ / "from", dir_ / "to");
  EXPECT_EQ(Read(dir_ / "to/log/log-1"), "log");
  EXPECT_EQ(Read(dir_ / "to/file"), "log");
  EXPECT_FALSE(fs::is_symlink(dir_ / "to/log"));
  EXPECT_FALSE(fs::is_symlink(dir_ / "to/file"));
  fs::rename(dir_ / "disk", dir_ / "unmounted");
  EXPECT_THROW(CopyTree(dir_ / "from", dir_ / "again"), Error);
}

TEST_F(CopyTreeTest, WhatCannotBeReadIsAnError) {
  EXPECT_THROW(CopyWithHoles(dir_ / "none", dir_ / "to"), Error);
  EXPECT_THROW(CopyWithHoles(dir_ / "from", dir_ / "none/to"), Error);
}

// A database with its record and one file, and the directory that the copy goes to.
class CopyDatabaseTest : public testing::Test {
 protected:
  CopyDatabaseTest() {
    std::string pattern = testing::TempDir() + "copy_database_XXXXXX";
    root_ = ::mkdtemp(pattern.data());
    fs::create_directories(root_ + "/from/db");
    std::ofstream(root_ + "/from/db/btree.data") << "rows";
    WriteRecord(root_ + "/from",
                {{"schema", kDatabaseSchema}, {"engine", "btree"}, {"loaded", true}});
  }
  ~CopyDatabaseTest() override { fs::remove_all(root_); }
  void Put(const std::string& file, const std::string& text) {
    fs::create_directories(fs::path(root_ + "/" + file).parent_path());
    std::ofstream(root_ + "/" + file) << text;
  }
  static std::string TextOf(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string Text(const std::string& file) const { return TextOf(root_ + "/" + file); }
  std::string ErrorOfCopy() const {
    try {
      CopyDatabase(root_ + "/from", root_ + "/to");
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }

  std::string root_;
};

TEST_F(CopyDatabaseTest, ReplacesWhatAnInterruptedExperimentLeft) {
  ASSERT_EQ(ErrorOfCopy(), "");
  Put("to/db/btree.data", "other rows");
  ASSERT_EQ(ErrorOfCopy(), "");
  EXPECT_EQ(Text("to/db/btree.data"), "rows");
  EXPECT_EQ(ReadRecord(root_ + "/to"), ReadRecord(root_ + "/from"));
}

// A power cut at each call leaves a copy that is whole, or one that is not loaded.
TEST_F(CopyDatabaseTest, ACopyIsLoadedWhenItsBytesAreDurable) {
  const std::string rows(50'000, 'r'), cut = root_ + ".cut";
  Put("from/db/btree.data", rows);
  Put("from/db/log/1", rows);
  bool is_whole = false;
  uint64_t calls = 0;
  for (; !is_whole; ++calls) {
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE("cut after " + std::to_string(calls) + " calls, seed " + std::to_string(seed));
      fs::remove_all(root_ + "/to");
      bool is_copied = false;
      {
        FailingDisk disk(root_);
        disk.CutAfter(calls, seed);
        is_copied = ErrorOfCopy().empty();
        is_whole = !disk.is_cut();
        disk.Cut(seed);
        disk.CopyTo(cut);
      }
      const std::optional<nlohmann::json> record = ReadRecord(cut + "/to");
      const bool is_loaded = record && record->value("loaded", false);
      EXPECT_TRUE(is_loaded || !is_copied);
      for (const char* file : {"/to/db/btree.data", "/to/db/log/1"}) {
        if (is_loaded) {
          EXPECT_TRUE(TextOf(cut + file) == rows) << file;
        }
      }
    }
  }
  fs::remove_all(cut);
  EXPECT_GT(calls, 8u);
}

TEST_F(CopyDatabaseTest, FilesOfOthersAreLeftAlone) {
  Put("to/db/btree.data", "precious");
  EXPECT_NE(ErrorOfCopy().find("is not empty and not a database of testbed"), std::string::npos);
  EXPECT_EQ(Text("to/db/btree.data"), "precious");
  EXPECT_FALSE(fs::exists(root_ + "/to/testbed.json"));
  fs::remove_all(root_ + "/to");
  fs::create_directories(root_ + "/elsewhere");
  fs::create_symlink(root_ + "/elsewhere", root_ + "/to");
  EXPECT_NE(ErrorOfCopy().find("is a symbolic link"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(root_ + "/elsewhere"));
}

TEST_F(CopyDatabaseTest, ADatabaseInUseIsLeftAlone) {
  ASSERT_EQ(ErrorOfCopy(), "");
  Put("to/db/btree.data", "of a run");
  {
    const DirLock of_the_run(root_ + "/to", "--dir");
    EXPECT_NE(ErrorOfCopy().find("is in use by this process"), std::string::npos);
    EXPECT_EQ(Text("to/db/btree.data"), "of a run");
  }
  EXPECT_EQ(ErrorOfCopy(), "");
  const DirLock of_a_run(root_ + "/from", "--dir");
  EXPECT_NE(ErrorOfCopy().find("/from is in use by this process"), std::string::npos)
      << "it may change while it is copied";
}

TEST_F(CopyDatabaseTest, WhatCannotBeCopiedIsAnErrorAndNoLoadedDatabase) {
  fs::create_symlink(root_ + "/victim", root_ + "/link");
  EXPECT_THROW(CopyWithHoles(root_ + "/from/db/btree.data", root_ + "/link"), Error);
  EXPECT_FALSE(fs::exists(root_ + "/victim"));
  fs::remove_all(root_ + "/from/db");
  EXPECT_NE(ErrorOfCopy(), "");
  EXPECT_EQ(ReadRecord(root_ + "/to")->at("loaded"), false);
}

}  // namespace
}  // namespace testbed

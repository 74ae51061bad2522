#include "device/file/directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/file/file_faults.h"
#include "device/os/dir_lock.h"

namespace {
// Makes the next link succeed with an answer that says that the name was there: so does an NFS
// server whose first answer was lost, and that gets the request again.
bool link_is_answered_twice = false;
}  // namespace

// Replaces the function of the C library.
extern "C" int link(const char* from, const char* to) noexcept {
  const long result = ::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
  if (result != 0 || !std::exchange(link_is_answered_twice, false)) {
    return static_cast<int>(result);
  }
  errno = EEXIST;
  return -1;
}

namespace testbed {
namespace {

namespace fs = std::filesystem;

class DirectoryTest : public testing::Test {
 protected:
  DirectoryTest() {
    std::string pattern = fs::current_path() / "directory_test_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    std::ofstream(dir_ + "/new") << "new";
  }
  ~DirectoryTest() override { fs::remove_all(dir_); }
  std::string dir_;
};

TEST_F(DirectoryTest, WhatIsNewIsRemovedAndWhatWasThereStays) {
  const std::vector<std::string> before = NamesIn(dir_);
  fs::create_directories(dir_ + "/a/b");
  std::ofstream(dir_ + "/z") << "z";
  RemoveNew(dir_, before);
  EXPECT_EQ(NamesIn(dir_), std::vector<std::string>{"new"});
  fs::remove_all(dir_);
  EXPECT_NO_THROW(RemoveNew(dir_, before));
}

TEST_F(DirectoryTest, DirectoriesThatWereMadeAreRemovedUnlessSomebodyUsesThem) {
  const std::string inner = dir_ + "/a/b/c";
  const std::vector<std::string> made = MissingDirectories(inner);
  EXPECT_EQ(made, (std::vector<std::string>{inner, dir_ + "/a/b/", dir_ + "/a/"}));
  MakeDirectories(inner);
  EXPECT_EQ(MissingDirectories(inner), std::vector<std::string>());
  {
    const DirLock lock(inner, "--dir");
    RemoveMadeDirectories(made);
    EXPECT_TRUE(IsThere(inner));
  }
  fs::create_directory(dir_ + "/a/theirs");
  RemoveMadeDirectories(made);
  EXPECT_EQ(NamesIn(dir_ + "/a"), std::vector<std::string>{"theirs"});
  fs::remove(dir_ + "/a/theirs");
  fs::create_directory(dir_ + "/a/b");
  RemoveMadeDirectories(made);
  EXPECT_EQ(NamesIn(dir_), std::vector<std::string>{"new"}) << "without the innermost";
}

// The next call would find it, and take its name for durable.
TEST_F(DirectoryTest, ADirectoryWhoseNameIsNotDurableDoesNotStay) {
  for (const uint64_t sync : {0u, 1u}) {
    FileFaults::Set(sync, sync + 1, EIO);
    EXPECT_THROW(MakeDirectories(dir_ + "/a/b"), Error) << sync;
    FileFaults::Clear();
    EXPECT_EQ(IsThere(dir_ + "/a"), sync == 1);
    EXPECT_FALSE(IsThere(dir_ + "/a/b"));
    fs::remove(dir_ + "/a");
  }
}

TEST_F(DirectoryTest, ADirectoryThatIsNotThereIsRefusedUnlessItMayBeMade) {
  const auto refusal = [this](const std::string& name) -> std::string {
    try {
      RequireDirectory(dir_ + name, false);
      return "";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      return e.what();
    }
  };
  EXPECT_EQ(refusal(""), "");
  EXPECT_EQ(refusal("/a"),
            "the directory " + dir_ + "/a does not exist: make it, or choose another --dir");
  EXPECT_NE(refusal("/new"), "") << "a file";
  RequireDirectory(dir_ + "/a", true);
  EXPECT_EQ(refusal("/a"), "");
}

// A pipe stands for a device here. Once, root replaced /dev/null by a file.
TEST_F(DirectoryTest, NoFileTakesThePlaceOfAPipeOrADevice) {
  const std::string pipe = dir_ + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(RenameFile(dir_ + "/new", pipe), Error);
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_TRUE(fs::exists(dir_ + "/new"));
}

TEST_F(DirectoryTest, AFileTakesThePlaceOfAFileOrALink) {
  fs::create_symlink("new", dir_ + "/link");
  RenameFile(dir_ + "/new", dir_ + "/link");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(dir_ + "/link")));
  std::ofstream(dir_ + "/other") << "old";
  RenameFile(dir_ + "/link", dir_ + "/other");
  EXPECT_EQ(fs::file_size(dir_ + "/other"), 3u);
}

TEST_F(DirectoryTest, ALinkReplacesNothingAndKnowsItsOwn) {
  std::ofstream(dir_ + "/other") << "other";
  EXPECT_FALSE(LinkFile(dir_ + "/new", dir_ + "/other"));
  EXPECT_EQ(fs::file_size(dir_ + "/other"), 5u);
  link_is_answered_twice = true;
  EXPECT_TRUE(LinkFile(dir_ + "/new", dir_ + "/name"));
  EXPECT_FALSE(link_is_answered_twice);
  EXPECT_EQ(fs::file_size(dir_ + "/name"), 3u);
  EXPECT_TRUE(LinkFile(dir_ + "/other", dir_ + "/another"));
  EXPECT_THROW(LinkFile(dir_ + "/new", dir_ + "/none/name"), Error);
}

}  // namespace
}  // namespace testbed

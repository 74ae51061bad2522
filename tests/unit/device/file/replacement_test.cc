#include "device/file/replacement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "device/error.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class FileReplacementTest : public testing::Test {
 protected:
  FileReplacementTest() {
    std::string pattern = fs::current_path() / "replacement_test_XXXXXX";
    dir_ = fs::canonical(::mkdtemp(pattern.data())).string() + "/";
  }
  ~FileReplacementTest() override { fs::remove_all(dir_); }

  static std::string Contents(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::string dir_;
};

TEST_F(FileReplacementTest, LinksAreFollowedToWhatIsThereOrNot) {
  fs::create_directories(dir_ + "a/b");
  fs::create_symlink("a/b", dir_ + "directory");
  fs::create_symlink("../file", dir_ + "a/b/up");
  fs::create_symlink("directory/up", dir_ + "chain");
  fs::create_symlink("round", dir_ + "round");
  EXPECT_EQ(FollowLinks(dir_ + "chain"), dir_ + "a/file");
  EXPECT_EQ(FollowLinks(dir_ + "directory/../new"), dir_ + "a/new");
  EXPECT_EQ(FollowLinks(dir_ + "./plain"), dir_ + "plain");
  fs::create_symlink("a/b/", dir_ + "slash");
  EXPECT_EQ(FollowLinks(dir_ + "slash/../new"), dir_ + "a/new");
  EXPECT_EQ(FollowLinks(dir_ + "slash"), dir_ + "a/b/") << "it asks for a directory";
  EXPECT_THROW(FollowLinks(dir_ + "round"), Error);
}

TEST_F(FileReplacementTest, AnOpenFileIsNoPath) {
  std::ofstream(dir_ + "file") << "text";
  const int fd = ::open((dir_ + "file").c_str(), O_WRONLY | O_CLOEXEC);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  for (const int open : {fd, ends[1]}) {
    const std::string name = "/proc/self/fd/" + std::to_string(open), followed = FollowLinks(name);
    EXPECT_TRUE(IsOpenFile(followed)) << followed;
    EXPECT_EQ(fs::read_symlink(followed), fs::read_symlink(name)) << followed;
  }
  fs::create_directory(dir_ + "fd");
  fs::create_symlink("../file", dir_ + "fd/1");
  EXPECT_FALSE(IsOpenFile(dir_ + "fd/1")) << "a directory of that name";
  EXPECT_EQ(FollowLinks(dir_ + "fd/1"), dir_ + "file");
  const int directory = ::open(dir_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  EXPECT_EQ(FollowLinks("/proc/self/fd/" + std::to_string(directory) + "/new"), dir_ + "new");
  for (const int open : {fd, ends[0], ends[1], directory}) ::close(open);
}

TEST_F(FileReplacementTest, TheOldFileStaysUntilTheNewOneIsWholeAndGivesItsMode) {
  const std::string path = dir_ + "file";
  std::ofstream(path) << "old";
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  {
    FileReplacement replacement(path);
    replacement.Write("dropped");
  }
  EXPECT_EQ(Contents(path), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()), 1);
  FileReplacement replacement(path);
  replacement.Write("ne");
  replacement.Write("w");
  EXPECT_EQ(Contents(path), "old");
  replacement.TakePlace();
  EXPECT_EQ(Contents(path), "new");
  struct stat about {};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0640u);
}

// Without the first sync a power cut may leave an empty file, and without the second the old one.
TEST_F(FileReplacementTest, NeitherTheFileNorItsNameTakesThePlaceUnsynced) {
  const std::string disk_dir = dir_ + "disk", path = disk_dir + "/file";
  fs::create_directory(disk_dir);
  std::ofstream(path) << "old";
  FailingDisk disk(disk_dir);
  {
    FileReplacement replacement(path);
    disk.Fail({DiskCall::kSync, 0});
    EXPECT_THROW(replacement.Write("new"), Error);
  }
  EXPECT_EQ(disk.failed(), 1u);
  EXPECT_EQ(Contents(path), "old");
  FileReplacement replacement(path);
  replacement.Write("new");
  disk.Fail({DiskCall::kSyncDirectory, 0});
  EXPECT_THROW(replacement.TakePlace(), Error);
  EXPECT_EQ(disk.failed(), 1u);
}

TEST_F(FileReplacementTest, ANewFileHasTheModeOfTheUmask) {
  const mode_t before = ::umask(027);
  {
    FileReplacement replacement(dir_ + "file");
    replacement.TakePlace();
  }
  ::umask(before);
  struct stat about {};
  ASSERT_EQ(::stat((dir_ + "file").c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 07777, 0640u);
}

}  // namespace
}  // namespace testbed

#include "device/file/directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "device/error.h"

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

// A pipe stands for the device here. With root, the device was /dev/null.
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

}  // namespace
}  // namespace testbed

// Tests which directories root refuses to work in, because another user could lead it elsewhere.
#include "device/os/foreign_directory.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "device/error.h"
#include "device/os/temporary_dir.h"

namespace testbed {
namespace {

class ForeignDirectoryTest : public testing::Test {
 protected:
  static constexpr uid_t kOther = 65534;

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "only root is asked, and can make another user's files";
    ::unsetenv("SUDO_UID");
    std::string pattern = std::filesystem::current_path() / "foreign_directory_test_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    dir_ = std::filesystem::canonical(pattern);
    std::filesystem::create_directories(dir_ + "/open/theirs/below");
    std::filesystem::create_directories(dir_ + "/open/roots");
    ASSERT_EQ(::chmod((dir_ + "/open").c_str(), 01777), 0);
    Give("/open/theirs");
  }
  void TearDown() override {
    ::unsetenv("SUDO_UID");
    if (!dir_.empty()) std::filesystem::remove_all(dir_);
  }
  void Give(const std::string& name) const {
    ASSERT_EQ(::lchown((dir_ + name).c_str(), kOther, kOther), 0);
  }
  void Link(const std::string& target, const std::string& name) const {
    std::filesystem::create_symlink(target, dir_ + name);
  }
  // Returns the part of the path to `name` that belongs to another user, relative to the test's
  // directory.
  std::string Foreign(const std::string& name) const {
    const std::string found = ForeignOnTheWay(dir_ + name);
    return found.empty() ? found : found.substr(dir_.size());
  }

  std::string dir_;
};

TEST_F(ForeignDirectoryTest, WhereAllMayWriteAnothersDirectoryIsRefusedAndWhatIsBelowIt) {
  EXPECT_EQ(Foreign("/open/theirs"), "/open/theirs");
  EXPECT_EQ(Foreign("/open/theirs/"), "/open/theirs");
  EXPECT_EQ(Foreign("/open/theirs/below"), "/open/theirs");
  EXPECT_EQ(Foreign("/open/theirs/not/there"), "/open/theirs");
  EXPECT_EQ(Foreign("/open/roots/../theirs"), "/open/theirs");
  EXPECT_EQ(Foreign("/open"), "");
  EXPECT_EQ(Foreign("/open/roots"), "");
  EXPECT_EQ(Foreign("/open/not/there"), "");
  std::filesystem::create_directories(dir_ + "/open/roots/theirs");
  Give("/open/roots/theirs");
  EXPECT_EQ(Foreign("/open/roots/theirs"), "/open/roots/theirs");
}

TEST_F(ForeignDirectoryTest, ElsewhereAnothersDirectoryIsTaken) {
  if (LiesWhereAllMayWrite(dir_)) GTEST_SKIP() << "everybody may write above " << dir_;
  std::filesystem::create_directories(dir_ + "/home/theirs");
  Give("/home");
  Give("/home/theirs");
  EXPECT_EQ(Foreign("/home/theirs/db"), "");
  // Everybody may write there, but nobody else can rename anything above it.
  ASSERT_EQ(::chmod((dir_ + "/home").c_str(), 0755), 0);
  ASSERT_EQ(::chmod((dir_ + "/home/theirs").c_str(), 01777), 0);
  EXPECT_EQ(Foreign("/home/theirs"), "");
  EXPECT_EQ(Foreign("/home/theirs/"), "");
}

TEST_F(ForeignDirectoryTest, LinksAreFollowedAndMayNotBeAnothersThere) {
  std::filesystem::create_directory(dir_ + "/roots");
  Link("open/theirs", "/to_theirs");
  EXPECT_EQ(Foreign("/to_theirs"), "/open/theirs");
  Link(dir_ + "/roots", "/open/to_roots");
  EXPECT_EQ(Foreign("/open/to_roots"), "");
  Give("/open/to_roots");
  EXPECT_EQ(Foreign("/open/to_roots/db"), "/open/to_roots");
  Link("../../roots", "/open/theirs/to_roots");
  EXPECT_EQ(Foreign("/open/theirs/to_roots/db"), "/open/theirs") << "the way leads through theirs";
  Link("open/roots/", "/slash");
  EXPECT_EQ(Foreign("/slash/../theirs"), "/open/theirs");
  Link("round", "/round");
  EXPECT_EQ(Foreign("/round/db"), "");
}

TEST_F(ForeignDirectoryTest, WhoCalledRootBySudoIsNoOtherUser) {
  ::setenv("SUDO_UID", std::to_string(kOther).c_str(), 1);
  EXPECT_EQ(Foreign("/open/theirs/below"), "");
  for (const char* uid : {"65533", "65534x", "", "-1", "x"}) {
    ::setenv("SUDO_UID", uid, 1);
    EXPECT_EQ(Foreign("/open/theirs/below"), "/open/theirs") << uid;
  }
}

TEST_F(ForeignDirectoryTest, NoTemporaryDirectoryIsMadeThere) {
  try {
    const TemporaryDir made(dir_ + "/open/theirs");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::kUsage);
    EXPECT_NE(std::string(error.what()).find("/open/theirs belongs to another user"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_ + "/open/theirs"), {}), 1);
  const TemporaryDir made(dir_ + "/open");
  EXPECT_TRUE(made.IsOwner());
}

}  // namespace
}  // namespace testbed

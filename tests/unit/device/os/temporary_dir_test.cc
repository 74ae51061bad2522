// Tests which temporary directories count as leftovers of killed runs, and that a directory which
// cannot be had is not left.
#include "device/os/temporary_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "device/error.h"
#include "device/os/sys_file.h"
#include "tests/refused_call.h"

namespace testbed {
namespace {

// Two hosts work in one directory of a file server. Neither sees the locks of the other.
TEST(TemporaryDirTest, WhereAnotherHostServesTheFilesNothingIsALeftover) {
  std::string parent = std::filesystem::current_path() / "temporary_dir_test_XXXXXX";
  ASSERT_NE(::mkdtemp(parent.data()), nullptr);
  const std::optional<uint64_t> id = MountIdOf(parent);
  if (!id) GTEST_SKIP() << "this kernel does not tell the ids of mounts";
  TemporaryDir(parent).Keep();
  std::filesystem::create_directories(parent + "/proc/self");
  const auto leftovers_on = [&](const std::string& type) {
    std::ofstream(parent + "/proc/self/mountinfo")
        << fmt::format("{} 1 0:50 / {} rw,relatime - {} server:/export rw\n", *id, parent, type);
    return TemporaryDir::Leftovers(parent, parent).size();
  };
  EXPECT_EQ(leftovers_on("nfs4"), 0u);
  EXPECT_EQ(leftovers_on("fuse.sshfs"), 0u);
  EXPECT_EQ(leftovers_on("ext4"), 1u);
  std::filesystem::remove_all(parent);
}

class RefusedDirectoryTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(parent_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(parent_); }
  std::string parent_ = std::filesystem::current_path() / "temporary_dir_test_XXXXXX";
};

// A file server may have no service for locks.
TEST_F(RefusedDirectoryTest, NoneIsLeftWhereTheSystemGivesNoLock) {
  const int code = ExitCodeWithout(SYS_flock, ENOLCK, [this] {
    try {
      const TemporaryDir made(parent_);
    } catch (const Error& e) {
      return e.code() == ENOLCK ? 0 : 1;
    }
    return 2;
  });
  if (code == kCannotRefuse) GTEST_SKIP() << kNoFilters;
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(std::filesystem::is_empty(parent_));
}

// On some file systems (vfat, some file servers) all files belong to one user, or to all.
TEST_F(RefusedDirectoryTest, NoneIsLeftWhereItWouldBelongToAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make files of another user";
  ASSERT_EQ(::chmod(parent_.c_str(), 0777), 0);
  ::setfsuid(65534);  // the files that this thread makes belong to that user
  if (::setfsuid(65534) != 65534) GTEST_SKIP() << "this user namespace has no such user";
  const int fd = ::open(parent_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  Error::Kind kind = Error::kRun;
  try {
    const TemporaryDir made(parent_);
  } catch (const Error& e) {
    kind = e.kind();
  }
  ::setfsuid(0);
  if (fd < 0) GTEST_SKIP() << "another user may not enter this directory";
  ::close(fd);
  EXPECT_EQ(kind, Error::kUsage);
  EXPECT_TRUE(std::filesystem::is_empty(parent_));
}

}  // namespace
}  // namespace testbed

#include "device/machine/read_limit.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "device/account/block_device.h"
#include "device/os/dir_lock.h"

namespace testbed {
namespace {

// Directories that imitate the blkio hierarchy of cgroup v1. This process is in the group `own`.
class BlkioGroups : public CgroupFs {
 public:
  explicit BlkioGroups(const std::string& own) {
    std::string pattern = std::filesystem::current_path() / "blkio_groups_XXXXXX";
    prefix_ = mkdtemp(pattern.data());
    std::filesystem::create_directories(prefix_ + "/proc/self");
    std::ofstream(prefix_ + "/proc/self/mountinfo")
        << "40 31 0:37 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n";
    std::ofstream(prefix_ + "/proc/self/cgroup") << "7:blkio:" << own << "\n";
    Add(own);
  }
  ~BlkioGroups() override { std::filesystem::remove_all(prefix_); }
  std::string prefix() const override { return prefix_; }
  // Adds a group and returns its path.
  std::string Add(const std::string& name) const {
    std::string path = prefix_ + "/sys/fs/cgroup/blkio" + name;
    std::filesystem::create_directories(path);
    return path;
  }

 private:
  std::string prefix_;
};

// A run that was started in another session has its group there.
TEST(ReadLimitTest, GroupsOfKilledRunsAreFoundWhereverTheRunsWereStarted) {
  const BlkioGroups groups("/user/session-4");
  const std::string dead = groups.Add("/user/session-3/testbed-00000000000000b1"),
                    held = groups.Add("/user/session-3/testbed-00000000000000b2");
  const DirLock other(held, "");
  const std::vector<std::string> removed = ReadLimit::CleanLeftovers(groups);
  ASSERT_EQ(removed.size(), 1u);
  EXPECT_NE(removed[0].find(dead), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(held));
}

// A btrfs over several devices has more than one (block_device_test.cc); its reads from the others
// had no limit, and the run said that the limit was in force.
TEST(WhyNotAllReadsTest, AFileSystemOnSeveralDevicesIsNamedWithThem) {
  EXPECT_EQ(WhyNotAllReads("loop0", {"loop0"}), "");
  EXPECT_EQ(WhyNotAllReads("md0", {"md0"}), "");
  EXPECT_EQ(WhyNotAllReads("loop0", {"loop0", "loop1"}),
            "the file system lies on 2 devices (loop0, loop1), and the limit would hold on loop0 "
            "alone");
}

TEST(WhyNotAllReadsTest, TheLimitedDeviceIsOneOfThoseOfTheFileSystem) {
  const auto device = BlockDevice::Find(std::filesystem::current_path());
  if (!device) GTEST_SKIP() << "no block device is under the working directory";
  EXPECT_EQ(std::ranges::count(device->devices(), device->name()), 1);
}

}  // namespace
}  // namespace testbed

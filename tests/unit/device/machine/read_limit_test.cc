#include "device/machine/read_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "device/account/block_device.h"

namespace testbed {
namespace {

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

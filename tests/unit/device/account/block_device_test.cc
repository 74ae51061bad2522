#include "device/account/block_device.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "device/error.h"

namespace testbed {
namespace {

TEST(DeviceStatsTest, ParsesEachGenerationOfTheFile) {
  const auto now = ParseDeviceStats(
      "     100        1      816        7      20        2      64        9        3       11  "
      "  16        5        6       40        8       12       13\n");
  ASSERT_TRUE(now);
  EXPECT_EQ(now->reads, 100u);
  EXPECT_EQ(now->read_merges, 1u);
  EXPECT_EQ(now->read_bytes, 816u * 512);
  EXPECT_EQ(now->read_ms, 7u);
  EXPECT_EQ(now->writes, 20u);
  EXPECT_EQ(now->write_merges, 2u);
  EXPECT_EQ(now->write_bytes, 64u * 512);
  EXPECT_EQ(now->write_ms, 9u);
  EXPECT_EQ(now->in_flight, 3u);
  EXPECT_EQ(now->discards, 5u);
  EXPECT_EQ(now->discard_bytes, 40u * 512);
  EXPECT_EQ(now->flushes, 12u);

  const auto old = ParseDeviceStats("1 2 3 4 5 6 7 8 9 10 11");  // before Linux 4.18
  ASSERT_TRUE(old);
  EXPECT_EQ(old->writes, 5u);
  EXPECT_EQ(old->flushes, 0u);

  EXPECT_FALSE(ParseDeviceStats(""));
  EXPECT_FALSE(ParseDeviceStats("1 2 3 4 5"));
  EXPECT_FALSE(ParseDeviceStats("1 2 3 x 5 6 7 8 9 10 11"));
}

TEST(DeviceStatsTest, DifferenceKeepsWhatIsInFlightNow) {
  DeviceStats before, after;
  before.reads = 10;
  before.in_flight = 4;
  after.reads = 25;
  after.in_flight = 1;
  EXPECT_EQ((after - before).reads, 15u);
  EXPECT_EQ((after - before).in_flight, 1u);
}

// The kernel prints times of requests as 32-bit numbers, which begin at 0 again. A difference over
// that moment was a number of 20 digits.
TEST(DeviceStatsTest, TimesThatBeganAtZeroAgainHaveTheirDifference) {
  const auto before = ParseDeviceStats("9 0 72 4294967290 9 0 72 4294967295 0 0 0\n");
  const auto after = ParseDeviceStats("10 0 80 4 10 0 80 0 0 0 0\n");
  ASSERT_TRUE(before && after);
  EXPECT_EQ((*after - *before).read_ms, 10u);
  EXPECT_EQ((*after - *before).write_ms, 1u);
  EXPECT_EQ((*after - *before).reads, 1u);
  EXPECT_EQ((*after - *after).read_ms, 0u);
}

TEST(BlockDeviceTest, KernelDevPacksMajorAndMinor) {
  EXPECT_EQ(KernelDev(makedev(7, 3)), 7u << 20 | 3);
  EXPECT_EQ(KernelDev(makedev(259, 70000)), 259u << 20 | 70000);
}

TEST(BlockDeviceTest, NoDeviceUnderMemory) {
  EXPECT_FALSE(BlockDevice::Find("/proc"));
  EXPECT_FALSE(BlockDevice::Find("/no/such/path"));
  try {
    BlockDevice::Under("/proc");
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    EXPECT_NE(std::string(e.what()).find("/proc"), std::string::npos);
  }
  EXPECT_THROW(BlockDevice::Under("/no/such/path"), Error);
}

// Imitates the /sys of other machines by directories, since this machine has only some devices.
class FakeSysfs : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "sysfs_XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  std::string Disk(const std::string& name) {
    std::filesystem::create_directories(root_ / name / "slaves");
    return root_ / name;
  }
  std::string Partition(const std::string& disk, const std::string& name) {
    std::filesystem::create_directories(root_ / disk / name);
    std::ofstream(root_ / disk / name / "partition") << "1\n";
    return root_ / disk / name;
  }
  void PutOn(const std::string& upper, const std::string& lower) {
    const std::string name = std::filesystem::path(lower).filename();
    std::filesystem::create_symlink(lower, upper + "/slaves/" + name);
  }
  std::filesystem::path root_;
};

TEST_F(FakeSysfs, DeviceMapperAndMdLieOnTheDisksBelowThem) {
  const std::string a = Disk("sda"), md = Disk("md0"), dm = Disk("dm-0");
  Disk("sdb");
  PutOn(md, Partition("sda", "sda1"));
  PutOn(md, Partition("sdb", "sdb1"));
  PutOn(dm, md);
  EXPECT_EQ(DisksBelow(a), std::vector<std::string>{"sda"});
  EXPECT_EQ(DisksBelow(md), (std::vector<std::string>{"sda", "sdb"}));
  EXPECT_EQ(DisksBelow(dm), (std::vector<std::string>{"sda", "sdb"}));
}

TEST_F(FakeSysfs, BtrfsNamesItsDevices) {
  const std::string a = Disk("sda"), b = Disk("sdb"), devices = root_ / "btrfs/uuid/devices";
  std::filesystem::create_directories(root_ / "btrfs/features");
  std::filesystem::create_directories(devices);
  std::filesystem::create_symlink(a, devices + "/sda");
  std::filesystem::create_symlink(b, devices + "/sdb");
  EXPECT_EQ(BtrfsDevices(root_ / "btrfs", "sdb").size(), 2u);
  EXPECT_TRUE(BtrfsDevices(root_ / "btrfs", "sdc").empty());
  EXPECT_TRUE(BtrfsDevices(root_ / "none", "sda").empty());
}

// Once, the statistics of one device were told as those of a btrfs over two.
TEST_F(FakeSysfs, StatisticsOfSeveralDevicesAreAddedUp) {
  const std::string a = Disk("sda"), b = Disk("sdb");
  std::ofstream(a + "/stat") << "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n";
  std::ofstream(b + "/stat") << "100 0 100 100 100 0 100 100 1 0 0 100 0 100 0 100 0\n";
  const DeviceStats one = StatsOf({a}), both = StatsOf({a, b});
  EXPECT_EQ(one.reads, 1u);
  EXPECT_EQ(one.read_bytes, 3u * 512);
  EXPECT_EQ(both.reads, 101u);
  EXPECT_EQ(both.read_merges, 2u);
  EXPECT_EQ(both.read_bytes, 103u * 512);
  EXPECT_EQ(both.read_ms, 104u);
  EXPECT_EQ(both.writes, 105u);
  EXPECT_EQ(both.write_merges, 6u);
  EXPECT_EQ(both.write_bytes, 107u * 512);
  EXPECT_EQ(both.write_ms, 108u);
  EXPECT_EQ(both.in_flight, 10u);
  EXPECT_EQ(both.discards, 112u);
  EXPECT_EQ(both.discard_bytes, 114u * 512);
  EXPECT_EQ(both.flushes, 116u);
  EXPECT_THROW(StatsOf({a, Disk("sdc")}), Error) << "it has no statistics";
}

// A limit of reads is set on a whole device. It bounds all reads of a file system on md or device
// mapper, and those of a btrfs over two partitions of a disk, but not of one over two disks.
TEST_F(FakeSysfs, AFileSystemSendsRequestsToWholeDevices) {
  const std::string md = Disk("md0");
  Disk("sda");
  Disk("sdb");
  const std::string a1 = Partition("sda", "sda1"), a2 = Partition("sda", "sda2");
  const std::string b1 = Partition("sdb", "sdb1");
  PutOn(md, a1);
  PutOn(md, b1);
  EXPECT_EQ(WholeDevices({md}), std::vector<std::string>{"md0"});
  EXPECT_EQ(WholeDevices({a1, a2}), std::vector<std::string>{"sda"});
  const std::string devices = root_ / "btrfs/uuid/devices";
  std::filesystem::create_directories(devices);
  std::filesystem::create_symlink(a2, devices + "/sda2");
  std::filesystem::create_symlink(b1, devices + "/sdb1");
  EXPECT_EQ(WholeDevices(BtrfsDevices(root_ / "btrfs", "sdb1")),
            (std::vector<std::string>{"sda", "sdb"}));
}

TEST_F(FakeSysfs, AMountHasItsSourceWhateverTheNumbersOfItsFiles) {
  std::filesystem::create_directories(root_ / "proc/self");
  std::ofstream(root_ / "proc/self/mountinfo")
      << "22 1 254:0 / / rw - ext4 /dev/vda1 rw\n"
         "31 22 0:41 /home /home rw,relatime shared:7 - btrfs /dev/mapper/a\\040b rw,subvol=/home\n"
         "32 22 0:41 /srv /srv rw,relatime - btrfs /dev/sdb2 rw,subvol=/srv\n"
         "33 22 0:52 / /mnt rw - overlay overlay rw\n";
  EXPECT_EQ(MountSource(31, root_), "/dev/mapper/a b");
  EXPECT_EQ(MountSource(32, root_), "/dev/sdb2");
  EXPECT_EQ(MountSource(33, root_), "");
  EXPECT_EQ(MountSource(41, root_), "");
}

TEST(BlockDeviceTest, SeesWhatIsWrittenToTheDiskUnderThePath) {
  const std::string directory = std::filesystem::current_path();
  const auto device = BlockDevice::Find(directory);
  if (!device) GTEST_SKIP() << directory << " lies on no block device";
  EXPECT_TRUE(std::filesystem::exists(device->sysfs() + "/queue"));
  const std::string path = directory + "/block_device_test.tmp";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  ASSERT_GE(fd, 0);
  const DeviceStats before = device->Stats();
  std::vector<char> megabyte(1 << 20, 'x');
  ASSERT_EQ(::write(fd, megabyte.data(), megabyte.size()), 1 << 20);
  ASSERT_EQ(::fsync(fd), 0);
  const DeviceStats cost = device->Stats() - before;
  ::close(fd);
  std::filesystem::remove(path);
  EXPECT_GE(cost.write_bytes, 1u << 20);
  EXPECT_GE(cost.writes, 1u);

  std::map<std::string, std::string> settings;
  for (auto& [name, value] : device->QueueSettings()) settings[name] = value;
  ASSERT_TRUE(settings.count("scheduler"));
  EXPECT_EQ(settings["scheduler"].find_first_of("[] "), std::string::npos);
  EXPECT_EQ(settings["read_ahead_kb"], std::to_string(device->readahead_kb()));
}

}  // namespace
}  // namespace testbed

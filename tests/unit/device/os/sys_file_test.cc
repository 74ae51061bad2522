#include "device/os/sys_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace testbed {
namespace {

TEST(SysFileTest, FindsNumbersByWholeKeys) {
  const std::string text = "rss 1\nrss_huge 2\ntotal_rss 3\nAnonymous:       112 kB\nname x\n";
  EXPECT_EQ(FindNumber(text, "rss"), 1u);
  EXPECT_EQ(FindNumber(text, "total_rss"), 3u);
  EXPECT_EQ(FindNumber(text, "Anonymous:"), 112u);
  EXPECT_EQ(FindNumber(text, "name"), std::nullopt);
  EXPECT_EQ(FindNumber(text, "huge"), std::nullopt);
  EXPECT_EQ(FindNumber("", "rss"), std::nullopt);
}

TEST(SysFileTest, SplitsLinesAndWords) {
  EXPECT_EQ(SplitLines("a b\n\nc"), (std::vector<std::string>{"a b", "", "c"}));
  EXPECT_EQ(SplitWords("  a \tb\n"), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(SplitLines("").empty());
  EXPECT_TRUE(SplitWords(" \n").empty());
}

TEST(SysFileTest, AbsenceIsAValue) {
  EXPECT_EQ(ReadSmallFile("/proc/no such file"), std::nullopt);
  EXPECT_EQ(ReadNumber("/proc/version"), std::nullopt);  // exists, but is no number
  EXPECT_EQ(ReadLine("/proc/no such file"), "");
  EXPECT_EQ(WriteSmallFile("/proc/no such file", "1"), ENOENT);
}

TEST(SysFileTest, ReadsWholeFilesThroughSmallReads) {
  const std::string path = std::filesystem::current_path() / "sys_file_test_long";
  const std::string long_text(100'000, 'x');
  std::ofstream(path) << long_text << " \n";
  EXPECT_EQ(ReadLine(path), long_text);
  EXPECT_EQ(WriteSmallFile(path, " 7\n"), 0);
  EXPECT_EQ(ReadNumber(path), 7u);
  std::filesystem::remove(path);
}

TEST(SysFileTest, ReadsTheMountTable) {
  const std::string prefix = std::filesystem::current_path() / "sys_file_test_mounts";
  std::filesystem::create_directories(prefix + "/proc/self");
  std::ofstream(prefix + "/proc/self/mountinfo")
      << "27 1 254:0 / / rw,noatime - ext4 /dev/vda rw,resuid=65534\n"
         "28 27 0:30 /sub /mnt/a\\040b ro shared:7 master:1 - cgroup none rw,cpu,memory,"
         "upperdir=/up\\054per\n"
         "broken line\n";
  const std::vector<Mount> mounts = ReadMounts(prefix);
  ASSERT_EQ(mounts.size(), 2u);
  EXPECT_EQ(mounts[0].id, 27u);
  EXPECT_EQ(mounts[0].point, "/");
  EXPECT_EQ(mounts[0].type, "ext4");
  EXPECT_EQ(mounts[0].source, "/dev/vda");
  EXPECT_EQ(mounts[0].options, "rw,noatime,rw,resuid=65534");
  EXPECT_TRUE(mounts[0].HasOption("noatime"));
  EXPECT_TRUE(mounts[0].HasOption("resuid"));
  EXPECT_FALSE(mounts[0].HasOption("res"));
  EXPECT_EQ(mounts[1].root, "/sub");
  EXPECT_EQ(mounts[1].point, "/mnt/a b");
  EXPECT_TRUE(mounts[1].HasOption("memory"));
  EXPECT_EQ(mounts[0].OptionValue("resuid"), "65534");
  EXPECT_EQ(mounts[0].OptionValue("noatime"), "");
  EXPECT_EQ(mounts[0].OptionValue("res"), "");
  EXPECT_EQ(mounts[1].OptionValue("upperdir"), "/up,per");
  std::filesystem::remove_all(prefix);
}

TEST(SysFileTest, StartTimesTellProcessesApart) {
  const auto own = ProcessStartTime(getpid());
  ASSERT_TRUE(own);
  EXPECT_EQ(ProcessStartTime(getpid()), own);
  EXPECT_LE(*ProcessStartTime(1), *own);
  EXPECT_EQ(ProcessStartTime(1 << 30), std::nullopt);
}

TEST(SysFileTest, SizesReadLikeSentences) {
  EXPECT_EQ(SizeText(512), "512 bytes");
  EXPECT_EQ(SizeText(8192), "8 KiB");
  EXPECT_EQ(SizeText(uint64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(SizeText(uint64_t{64} << 20), "64 MiB");
}

}  // namespace
}  // namespace testbed

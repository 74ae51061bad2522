#include "device/machine/host_activity.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

namespace testbed {
namespace {

TEST(HostActivityTest, IsWhatProcStatSays) {
  const std::filesystem::path root =
      std::filesystem::path(testing::TempDir()) / ("host_activity_" + std::to_string(::getpid()));
  std::filesystem::create_directories(root / "proc");
  std::ofstream(root / "proc/stat") << "cpu  100 20 300 4000 50 6 7 8 0 0\n"
                                       "cpu0 100 20 300 4000 50 6 7 8 0 0\n"
                                       "intr 12 3\nctxt 987654321\nbtime 1\n";
  const HostActivity activity = ReadHostActivity(root);
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  EXPECT_EQ(activity.context_switches, 987654321u);
  EXPECT_DOUBLE_EQ(activity.user_seconds, 120 / ticks);
  EXPECT_DOUBLE_EQ(activity.system_seconds, 313 / ticks);
  std::filesystem::remove_all(root);
  EXPECT_EQ(ReadHostActivity(root).context_switches, 0u);
}

// The machine's user and nice time comes from /proc/stat, and the parent's from its own stat file,
// in which the process's name may look like the fields after it.
TEST(HostActivityTest, CpuUseIsOfTheMachineAndOfTheRun) {
  const std::filesystem::path root =
      std::filesystem::path(testing::TempDir()) / ("cpu_use_" + std::to_string(::getpid()));
  const std::filesystem::path parent = root / "proc" / std::to_string(::getppid());
  std::filesystem::create_directories(parent);
  std::ofstream(root / "proc/stat") << "cpu  100000 2000 300 4000 50 6 7 8 0 0\nctxt 1\n";
  std::ofstream(parent / "stat") << "77 (a) S 1 2) S 1 2 3 4 5 6 7 8 9 10 50000 12 13 14\n";
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const CpuUse use = ReadCpuUse(root);
  EXPECT_DOUBLE_EQ(use.host_user_seconds, 102000 / ticks);
  EXPECT_DOUBLE_EQ(use.steal_seconds, 8 / ticks);
  rusage self{};
  getrusage(RUSAGE_SELF, &self);
  EXPECT_GE(use.own_user_seconds, 50000 / ticks);
  EXPECT_LT(use.own_user_seconds, 50000 / ticks + static_cast<double>(self.ru_utime.tv_sec) + 5);
  EXPECT_GT(use.at_seconds, 0);
  std::filesystem::remove_all(root);
  EXPECT_EQ(ReadCpuUse(root).host_user_seconds, 0) << "/proc does not tell";
}

TEST(HostActivityTest, ForeignIsWhatTheRunDidNotTake) {
  const CpuUse before{10, 100, 40};
  // In 2 s, 4 processors had 8 s, of which other programs took 6 - 2 = 4 s.
  EXPECT_DOUBLE_EQ(ForeignCpuShare(before, {12, 106, 42}, 4).value(), 0.5);
  EXPECT_DOUBLE_EQ(ForeignCpuShare(before, {12, 102, 42.5}, 4).value(), 0) << "never below 0";
  EXPECT_DOUBLE_EQ(ForeignCpuShare(before, {12, 150, 42}, 4).value(), 1);
  EXPECT_DOUBLE_EQ(OwnCpuShare(before, {12, 106, 42}, 4).value(), 0.25);
  EXPECT_TRUE(ForeignCpuShare(before, {10.21, 100.1, 40}, 4));
  EXPECT_FALSE(ForeignCpuShare(before, {10.19, 100.1, 40}, 4)) << "too short for ticks of 10 ms";
  EXPECT_FALSE(ForeignCpuShare({10, 0, 40}, {12, 0, 42}, 4)) << "/proc does not tell";
}

TEST(HostActivityTest, StolenIsWhatTheHypervisorTook) {
  const CpuUse before{10, 100, 40, 3};
  EXPECT_DOUBLE_EQ(StealShare(before, {12, 106, 42, 5}, 4).value(), 0.25);
  EXPECT_DOUBLE_EQ(StealShare(before, {12, 106, 42, 3}, 4).value(), 0);
  EXPECT_FALSE(StealShare(before, {10.19, 101, 40, 5}, 4)) << "too short for ticks of 10 ms";
  EXPECT_FALSE(StealShare({10, 0, 40, 0}, {12, 0, 42, 0}, 4)) << "/proc does not tell";
}

TEST(HostActivityTest, CountsWhatThisProcessDoes) {
  const HostActivity before = ReadHostActivity();
  rusage start{}, now{};
  getrusage(RUSAGE_SELF, &start);
  volatile uint64_t sum = 0;
  do {  // takes a third of a second of processor time
    for (uint64_t i = 0; i < 1000000; ++i) sum = sum + i;
    getrusage(RUSAGE_SELF, &now);
  } while ((now.ru_utime.tv_sec - start.ru_utime.tv_sec) * 1000000 + now.ru_utime.tv_usec -
               start.ru_utime.tv_usec <
           333333);
  for (int i = 0; i < 50; ++i) ::usleep(1000);  // each sleep is at least one context switch
  const HostActivity after = ReadHostActivity();
  EXPECT_GE(after.user_seconds - before.user_seconds, 0.25);
  EXPECT_GE(after.context_switches - before.context_switches, 50u);
}

TEST(HostActivityTest, ResidentMemoryGrowsByWhatIsTouched) {
  const uint64_t before = ProcessResidentBytes();
  const std::vector<char> touched(64 << 20, 1);
  EXPECT_NEAR(static_cast<double>(ProcessResidentBytes() - before), 64 << 20, 4 << 20);
  EXPECT_EQ(touched.back(), 1);
}

}  // namespace
}  // namespace testbed

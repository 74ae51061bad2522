// Tests that the processor time of a server of the run counts as the run's, and not as another
// program's.
#include "device/os/run_cpu.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "device/machine/host_activity.h"
#include "device/os/server_process.h"

namespace testbed {
namespace {

double ThreadSeconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

TEST(RunCpuTest, TheProcessesOfAServerCountAsTheRunAndStayCountedWhenItEnds) {
  constexpr double kWork = 0.5;
  std::string directory = testing::TempDir() + "run_cpu_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  ServerCommand command;
  // The work is done by a child of the server, which ends with the server.
  command.words = {"/bin/sh", "-c", "sh -c 'while kill -0 '$$' 2>&-; do :; done' & wait"};
  command.directory = directory;
  command.output = directory + "/log";
  const CpuSeconds before = CpuOfRun();
  const CpuUse use_before = ReadCpuUse();
  const double own_before = ThreadSeconds();
  const auto work = [&] {
    const CpuSeconds now = CpuOfRun();
    return now.user + now.system - before.user - before.system - (ThreadSeconds() - own_before);
  };
  ServerProcess server(command);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (work() < kWork && std::chrono::steady_clock::now() < deadline) ::usleep(20000);
  EXPECT_GE(work(), kWork);
  EXPECT_GT(ReadCpuUse().own_user_seconds - use_before.own_user_seconds, kWork / 10);
  const double most = work();
  server.End(SIGTERM, std::chrono::seconds(10));
  // The server's own time is then that of an ended child. The time of processes that it had not
  // waited for is lost.
  EXPECT_GE(CpuOfRun().user, before.user);
  EXPECT_GT(most, 0);
  std::filesystem::remove_all(directory);
}

TEST(RunCpuTest, TheMemoryOfAServerCountsAsTheRun) {
  constexpr uint64_t kHeld = 16 << 20;
  std::string directory = testing::TempDir() + "run_memory_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  EXPECT_EQ(ServersResidentBytes(), 0u);
  ServerCommand command;
  // A child of the server holds the memory, and ends with the server.
  command.words = {"/bin/sh", "-c",
                   "sh -c 'x=$(head -c 16777216 /dev/zero | tr \"\\0\" a); while kill -0 '$$' "
                   "2>&-; do sleep 0.1; done' & wait"};
  command.directory = directory;
  command.output = directory + "/log";
  ServerProcess server(command);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  uint64_t of_servers = 0, of_run = 0;
  while (of_servers < kHeld && std::chrono::steady_clock::now() < deadline) {
    ::usleep(20000);
    of_servers = ServersResidentBytes();
    of_run = RunResidentBytes();
  }
  EXPECT_GE(of_servers, kHeld);
  EXPECT_GT(of_run, kHeld);
  server.End(SIGTERM, std::chrono::seconds(10));
  EXPECT_EQ(ServersResidentBytes(), 0u);
  std::filesystem::remove_all(directory);
}

TEST(RunCpuTest, WithoutAServerItIsTheProcess) {
  const CpuSeconds cpu = CpuOfRun();
  EXPECT_NEAR(cpu.user + cpu.system, ThreadSeconds(), 5);
  AddServer(-5);  // a server that is gone adds nothing
  EXPECT_LT(CpuOfRun().user - cpu.user, 1);
  RemoveServer(-5);
}

}  // namespace
}  // namespace testbed

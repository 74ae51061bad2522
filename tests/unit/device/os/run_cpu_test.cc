// Tests that the processor time of a server of the run counts as the run's, and not as another
// program's.
#include "device/os/run_cpu.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
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

// Returns the time of the children that have ended, with that of their own children, as the kernel
// gives it to their parent.
double EndedChildrenSeconds() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  double seconds = 0;
  for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
    seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  }
  return seconds;
}

// The time of a child goes to the server when the child ends. The processes that are listed between
// the two make it likely that this happens between the readings of both.
TEST(RunCpuTest, ChildrenThatEndMeanwhileAreCountedOnce) {
  std::string directory = testing::TempDir() + "run_cpu_children_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  ServerCommand command;
  command.words = {"/bin/sh", "-c",
                   "i=0; while [ $i -lt 60 ]; do sleep 60 & i=$((i+1)); done; while :; do "
                   "sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done"};
  command.directory = directory;
  command.output = directory + "/log";
  command.kill_group = true;
  const auto total = [] {
    const CpuSeconds now = CpuOfRun();
    return now.user + now.system;
  };
  const double others = total() - ThreadSeconds(), ended_before = EndedChildrenSeconds();
  ServerProcess server(command);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  double before = total(), fall = 0;
  while (std::chrono::steady_clock::now() < end) {
    const double now = total();
    fall = std::max(fall, before - now);
    before = now;
  }
  EXPECT_LT(fall, 0.005) << "s, and a tick is 0.01 s";
  const double served = total() - ThreadSeconds() - others;
  server.End(SIGTERM, std::chrono::seconds(10));
  EXPECT_NEAR(served, EndedChildrenSeconds() - ended_before, 0.2) << "s, as the kernel tells";
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

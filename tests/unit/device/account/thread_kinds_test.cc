// Tests which threads of the machine the kernel account could take for those of the run's engine.
#include "device/account/thread_kinds.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "device/os/run_cpu.h"

namespace testbed {
namespace {

constexpr char kName[] = "tb_namesake/1", kSort[] = "tb_namesake";

// Starts a process of that name, which is this one's child or, with `orphan`, has lost its parent.
// Returns its id.
pid_t StartNamesake(bool orphan) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const pid_t first = ::getpid();
    if (orphan && ::fork() != 0) ::_exit(0);
    while (orphan && ::getppid() == first) ::usleep(1000);
    ::prctl(PR_SET_NAME, kName);
    const pid_t self = ::getpid();
    if (::write(ends[1], &self, sizeof self) != sizeof self) ::_exit(1);
    for (;;) ::pause();
  }
  pid_t namesake = 0;
  EXPECT_EQ(::read(ends[0], &namesake, sizeof namesake), static_cast<ssize_t>(sizeof namesake));
  ::close(ends[0]);
  ::close(ends[1]);
  if (orphan) ::waitpid(child, nullptr, 0);
  return namesake;
}

TEST(ThreadKindsTest, OnlyProcessesThatAreNotOfTheRunAreNamesakes) {
  EXPECT_FALSE(RegisteredAmong(ThreadsOfOtherPrograms()).contains(kSort));
  RegisterThreads(kSort, FileKind::kData);
  const pid_t own = StartNamesake(/*orphan=*/false);
  EXPECT_FALSE(RegisteredAmong(ThreadsOfOtherPrograms()).contains(kSort)) << "a process of the run";
  const pid_t other = StartNamesake(/*orphan=*/true);
  EXPECT_TRUE(RegisteredAmong(ThreadsOfOtherPrograms()).contains(kSort));
  ::kill(other, SIGKILL);
  ::kill(own, SIGKILL);
  ::waitpid(own, nullptr, 0);
}

TEST(ThreadKindsTest, ThreadsOfASortShareTheirName) {
  EXPECT_EQ(SortOfThread("jbd2/vda-8"), "jbd2");
  EXPECT_EQ(SortOfThread("iou-wrk-4711"), "iou-wrk");
  EXPECT_EQ(SortOfThread("page_cleaner"), "page_cleaner");
}

}  // namespace
}  // namespace testbed

// Tests in which ways a process that crashtest crashes may end.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/os/child_process.h"
#include "tools/crashtest/crash_process.h"

namespace testbed {
namespace {

int Ended(int signal, int code = 0) {
  const pid_t child = ForkChild();
  if (child == 0) {
    if (signal != 0 && signal != SIGKILL) ::signal(signal, SIG_DFL);  // a sanitizer has its own
    if (signal != 0) ::kill(::getpid(), signal);
    ::_exit(code);
  }
  return AwaitChild(child);
}

TEST(WrongEndTest, OnlyTheTestKills) {
  EXPECT_EQ(WrongEnd(Ended(SIGKILL), CrashCause::kKill), "");
  EXPECT_EQ(WrongEnd(Ended(SIGKILL), CrashCause::kNone), "ended by signal 9");
  for (const CrashCause cause : {CrashCause::kNone, CrashCause::kKill}) {
    EXPECT_EQ(WrongEnd(Ended(SIGABRT), cause), "ended by signal 6");
    EXPECT_EQ(WrongEnd(Ended(SIGSEGV), cause), "ended by signal 11");
    EXPECT_EQ(WrongEnd(Ended(0, 1), cause), "ended by itself with exit code 1");
  }
}

TEST(WrongEndTest, AnEngineMayEndWhenItsDeviceIsGone) {
  for (const int signal : {SIGKILL, SIGABRT, SIGBUS}) {
    EXPECT_EQ(WrongEnd(Ended(signal), CrashCause::kDevice), "") << signal;
  }
  EXPECT_EQ(WrongEnd(Ended(0, 1), CrashCause::kDevice), "");
  EXPECT_EQ(WrongEnd(Ended(SIGSEGV), CrashCause::kDevice), "ended by signal 11");
  EXPECT_EQ(WrongEnd(Ended(0, 0), CrashCause::kDevice), "ended by itself with exit code 0");
}

TEST(WrongEndTest, AChildThatHasEndedIsToldFromOneThatLives) {
  const pid_t child = ForkChild();
  if (child == 0) {
    while (true) ::pause();
  }
  EXPECT_FALSE(HasEnded(child));
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_TRUE(HasEnded(child));
  EXPECT_EQ(WrongEnd(AwaitChild(child), CrashCause::kKill), "");
}

}  // namespace
}  // namespace testbed

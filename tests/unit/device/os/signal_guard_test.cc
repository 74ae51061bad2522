#include "device/os/signal_guard.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <vector>

#include "device/error.h"

namespace testbed {
namespace {

// Runs `body` in a child process and returns its wait status. The exit code is 77 when `body`
// returned.
int InChild(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    if (freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
    body();
    _exit(77);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

bool ReachedEnd(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 77; }

// A counter in memory that the parent and its children share.
class Shared {
 public:
  Shared()
      : value_(static_cast<int*>(mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE,
                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~Shared() { munmap(value_, sizeof(int)); }
  int& operator*() const { return *value_; }
  int* get() const { return value_; }

 private:
  int* value_;
};

void Increment(void* counter) { ++*static_cast<int*>(counter); }

TEST(SignalGuardTest, TheFirstSignalAsksAndALaterOneEnds) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Shared undone, asked;
    const int status = InChild([&] {
      const SignalGuard guard;
      const CrashAction undo(&Increment, undone.get());
      if (StopRequested()) _exit(1);
      raise(signal);
      raise(signal);  // a second signal within a moment counts as the same request
      if (!StopRequested()) _exit(2);
      *asked = 1;
      usleep(300'000);
      raise(signal);
    });
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << "status " << status;
    EXPECT_EQ(*asked, 1);
    EXPECT_EQ(*undone, 1);
  }
}

// The parent may look seconds after the terminal has sent Ctrl-C to both.
TEST(SignalGuardTest, ARequestThatTheParentPassesOnLateEndsNothing) {
  const auto ended_by_late = [](bool said) {
    Shared asked;
    return InChild([&] {
      const SignalGuard guard;
      const pid_t parent = getpid(), child = fork();
      if (child == 0) {
        if (said) PassesStopsOn(parent);
        raise(SIGTERM);
        *asked = 1;
        for (;;) usleep(10'000);
      }
      while (*asked == 0) usleep(1'000);
      usleep(300'000);
      kill(child, SIGTERM);
      bool ended = false;
      for (int ms = 0; ms < (said ? 100 : 10'000) && !ended; ++ms) {
        usleep(1'000);
        ended = waitpid(child, nullptr, WNOHANG) == child;
      }
      if (!ended) kill(child, SIGKILL);
      _exit(ended ? 3 : 4);
    });
  };
  EXPECT_EQ(WEXITSTATUS(ended_by_late(false)), 3);
  EXPECT_EQ(WEXITSTATUS(ended_by_late(true)), 4);
}

TEST(SignalGuardTest, SystemCallsGoOnAfterARequest) {
  EXPECT_TRUE(ReachedEnd(InChild([] {
    const SignalGuard guard;
    int ends[2];
    if (pipe(ends) != 0) _exit(1);
    const pid_t reader = getpid();
    if (fork() == 0) {
      usleep(50'000);
      kill(reader, SIGINT);
      usleep(50'000);
      _exit(write(ends[1], "x", 1) == 1 ? 0 : 1);
    }
    char got = 0;
    if (read(ends[0], &got, 1) != 1 || got != 'x') _exit(2);
    if (!StopRequested()) _exit(3);
  })));
}

TEST(SignalGuardTest, CrashesUndoAndThenHaveTheirEffect) {
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT, SIGXCPU}) {
    Shared undone;
    const int status = InChild([&] {
      const SignalGuard guard;
      const CrashAction undo(&Increment, undone.get());
      raise(signal);
    });
    EXPECT_FALSE(ReachedEnd(status)) << strsignal(signal);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << "status " << status;
#endif
    EXPECT_EQ(*undone, 1) << strsignal(signal);
  }
}

TEST(SignalGuardTest, AClosedPipeIsAnErrorOfTheWriteAndNoDeath) {
  EXPECT_TRUE(ReachedEnd(InChild([] {
    ::signal(SIGPIPE, SIG_DFL);
    const SignalGuard guard;
    int ends[2];
    if (pipe(ends) != 0) _exit(1);
    close(ends[0]);
    if (write(ends[1], "x", 1) != -1 || errno != EPIPE || StopRequested()) _exit(2);
  })));
}

TEST(SignalGuardTest, AFileAtItsLimitIsAnErrorOfTheWriteAndNoDeath) {
  EXPECT_TRUE(ReachedEnd(InChild([] {
    ::signal(SIGXFSZ, SIG_DFL);
    const SignalGuard guard;
    const rlimit limit = {4, 4};
    FILE* const file = tmpfile();
    if (file == nullptr || setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    if (write(fileno(file), "12345678", 8) != 4) _exit(2);
    if (write(fileno(file), "5678", 4) != -1 || errno != EFBIG || StopRequested()) _exit(3);
  })));
}

TEST(SignalGuardTest, RealFaultsUndoToo) {
  Shared undone;
  const int status = InChild([&] {
    const SignalGuard guard;
    const CrashAction undo(&Increment, undone.get());
    void* none = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *static_cast<volatile char*>(none) = 1;
  });
  EXPECT_FALSE(ReachedEnd(status));
  EXPECT_EQ(*undone, 1);
}

TEST(SignalGuardTest, ExitUndoes) {
  Shared undone;
  const int status = InChild([&] {
    static const CrashAction* undo = new CrashAction(&Increment, undone.get());
    (void)undo;
    exit(5);
  });
  EXPECT_EQ(WEXITSTATUS(status), 5);
  EXPECT_EQ(*undone, 1);
}

TEST(SignalGuardTest, EndedActionsAndThoseOfTheParentDoNotRun) {
  Shared ended, of_parent, own;
  const CrashAction parents(&Increment, of_parent.get());
  InChild([&] {
    const SignalGuard guard;
    { const CrashAction short_lived(&Increment, ended.get()); }
    const CrashAction undo(&Increment, own.get());
    abort();
  });
  EXPECT_EQ(*ended, 0);
  EXPECT_EQ(*of_parent, 0);
  EXPECT_EQ(*own, 1);
}

TEST(SignalGuardTest, AnInheritedActionThatEndsLeavesTheChildsOwn) {
  Shared of_parent, own;
  auto parents = std::make_unique<CrashAction>(&Increment, of_parent.get());
  InChild([&] {
    const SignalGuard guard;
    const CrashAction undo(&Increment, own.get());  // takes the slot of the parent's action
    parents.reset();
    abort();
  });
  EXPECT_EQ(*of_parent, 0);
  EXPECT_EQ(*own, 1);
}

TEST(SignalGuardTest, IgnoredSignalsStayIgnored) {
  EXPECT_TRUE(ReachedEnd(InChild([] {
    signal(SIGHUP, SIG_IGN);
    const SignalGuard guard;
    raise(SIGHUP);
    if (StopRequested()) _exit(1);
  })));
}

TEST(SignalGuardTest, TheEndOfTheGuardPutsHandlersBack) {
  static volatile sig_atomic_t seen;
  EXPECT_TRUE(ReachedEnd(InChild([] {
    signal(SIGTERM, [](int) { seen = seen + 1; });
    {
      const SignalGuard guard;
      raise(SIGTERM);
      if (seen != 0 || !StopRequested()) _exit(1);
    }
    if (StopRequested()) _exit(2);
    raise(SIGTERM);
    if (seen != 1) _exit(3);
  })));
}

TEST(SignalGuardTest, TooManyActionsAreAnError) {
  int counter = 0;
  std::vector<std::unique_ptr<CrashAction>> held;
  EXPECT_THROW(
      {
        for (size_t i = 0; i <= CrashAction::kMost; ++i) {
          held.push_back(std::make_unique<CrashAction>(&Increment, &counter));
        }
      },
      Error);
  held.clear();
  held.push_back(std::make_unique<CrashAction>(&Increment, &counter));
  EXPECT_EQ(counter, 0);
}

}  // namespace
}  // namespace testbed

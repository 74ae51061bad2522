#include "device/machine/helper_write.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <thread>

#include "device/error.h"
#include "device/os/child_process.h"

namespace testbed {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{1};

// Runs in the helper, between fork and exit, where it may make system calls only. A helper that the
// kernel does not let go must hold no lock, no pipe and no directory of its parent.
[[noreturn]] void WriteAndExit(const char* path, const char* text, size_t bytes) {
  ::closefrom(0);  // also where the kernel has no close_range(2)
  if (::chdir("/") != 0) ::_exit(1);
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  ::_exit(fd >= 0 && ::write(fd, text, bytes) == static_cast<ssize_t>(bytes) ? 0 : 1);
}

// Kills the helper, and waits a moment for its end, so that a helper that ends then leaves no
// zombie.
void KillHelper(pid_t helper) {
  constexpr int kLooks = 200;
  ::kill(helper, SIGKILL);
  for (int i = 0; i < kLooks && ::waitpid(helper, nullptr, WNOHANG) == 0; ++i) {
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

}  // namespace

WriteEnd WriteInHelper(const std::string& path, const std::string& text,
                       std::chrono::milliseconds stall, const std::function<uint64_t()>& left) {
  pid_t helper = 0;
  try {
    helper = ForkChild();
  } catch (const Error&) {
    return WriteEnd::kRefused;
  }
  if (helper == 0) WriteAndExit(path.c_str(), text.data(), text.size());
  auto fell = std::chrono::steady_clock::now();
  uint64_t least = left();
  const uint64_t step = least / 64 + 1;  // a smaller fall is no progress, so the wait ends
  int status = 0;
  while (::waitpid(helper, &status, WNOHANG) == 0) {
    const auto now = std::chrono::steady_clock::now();
    if (const uint64_t rest = left(); rest < least && least - rest >= step) {
      least = rest;
      fell = now;
    }
    if (now - fell > stall) {
      KillHelper(helper);
      return WriteEnd::kStuck;
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? WriteEnd::kDone : WriteEnd::kRefused;
}

}  // namespace testbed

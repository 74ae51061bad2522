// Repeats interrupted system calls. A signal that a process handles may interrupt a system call
// that waits; the call then fails with EINTR and has done nothing (signal(7)). That is no failure
// of a disk.
#ifndef TESTBED_DEVICE_OS_INTERRUPTED_H_
#define TESTBED_DEVICE_OS_INTERRUPTED_H_

#include <cerrno>

namespace testbed {

// Makes a call, and repeats it as long as it is interrupted. `call` returns -1 and sets errno when
// it fails. It must not be close(2), which has closed the descriptor even when it is interrupted.
template <typename Call>
auto Uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_INTERRUPTED_H_

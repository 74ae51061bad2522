// A signal that a process handles may interrupt a system call that waits, which has then failed with
// EINTR and has done nothing (signal(7)). That is no failure of a disk.
#ifndef TESTBED_DEVICE_OS_INTERRUPTED_H_
#define TESTBED_DEVICE_OS_INTERRUPTED_H_

#include <cerrno>

namespace testbed {

// Makes a call anew as long as it is interrupted. `call` returns -1 and sets errno where it fails.
// Not for close(2), whose descriptor is gone after an interruption, too.
template <typename Call>
auto Uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_INTERRUPTED_H_

// Starts threads. When the system makes no more threads, std::thread throws std::system_error,
// which names neither the thread nor the limit; StartThread throws an Error that names both.
//
//   std::thread cleaner = StartThread("the cleaner of the btree", [] { CleanerLoop(); });
#ifndef TESTBED_DEVICE_OS_THREAD_H_
#define TESTBED_DEVICE_OS_THREAD_H_

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "device/error.h"

namespace testbed {

// Returns the error (kIo) for a system that does not make `what`, a thread or a process, with errno
// `code`.
inline Error NotMade(const std::string& what, int code) {
  return Error(Error::kIo,
               "the system does not make " + what + ": " + std::generic_category().message(code) +
                   "; see how many processes and threads this user may have (ulimit -u) and how "
                   "many its cgroup may (pids.max)",
               code);
}

// Returns a thread that runs `run`. When the system makes none, throws Error (kIo), which names
// `whose` thread it was to be and the limits.
template <typename Run>
std::thread StartThread(const std::string& whose, Run&& run) {
  try {
    return std::thread(std::forward<Run>(run));
  } catch (const std::system_error& e) {
    throw NotMade("a thread for " + whose, e.code().value());
  }
}

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_THREAD_H_

// Starts threads, and gives each thread objects of its own.
//
//   std::thread cleaner = StartThread("the cleaner of the btree", [] { CleanerLoop(); });
//   Use(OfThread([] { return std::make_unique<char[]>(4096); }));  // the thread's own 4 KiB
//
// When the system makes no more threads, std::thread throws std::system_error, which names neither
// the thread nor the limit; StartThread throws an Error that names both.
//
// The object of OfThread is made at the thread's first call and destroyed when the thread ends. An
// object that is declared thread_local must not be used once it is destroyed, and the main thread's
// are destroyed at the begin of exit(3): before the program's static objects, one of which may be a
// database that is closed then, and before the functions of atexit(3). A thread's own objects may
// be destroyed in such an order, too. The object of OfThread is then made anew.
#ifndef TESTBED_DEVICE_OS_THREAD_H_
#define TESTBED_DEVICE_OS_THREAD_H_

#include <cxxabi.h>

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "device/error.h"

namespace testbed {

// Returns the error (kIo) that the system refused, with errno `code`, to make `what`: a thread or a
// process.
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

// Returns the calling thread's object. `make` returns a std::unique_ptr to a new one, and may
// throw. Each `make` of the program, which is a lambda, has an object of its own in each thread.
template <typename Make>
auto OfThread(Make make) {
  using Owner = decltype(make());
  // The pointer is never destroyed, so it tells at any time whether the thread has an object.
  thread_local typename Owner::pointer object = nullptr;
  if (object == nullptr) {
    object = make().release();
    // The destructor of a thread_local object is registered once in each thread; this one is
    // registered each time that an object is made. When there is no memory to register it, the
    // object is never destroyed. The last argument is an address in the program or shared library
    // that has the destructor, which is kept loaded until the destructor has run.
    void (*const end)(void*) = [](void*) { const Owner last(std::exchange(object, nullptr)); };
    static_cast<void>(abi::__cxa_thread_atexit(end, nullptr, reinterpret_cast<void*>(end)));
  }
  return object;
}

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_THREAD_H_

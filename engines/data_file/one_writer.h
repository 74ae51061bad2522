// A OneWriter knows which thread has the write transaction. It serves a library that lets one
// thread write at a time, and whose write lock belongs to that thread. Thread-safe.
#ifndef TESTBED_ENGINES_DATA_FILE_ONE_WRITER_H_
#define TESTBED_ENGINES_DATA_FILE_ONE_WRITER_H_

#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include "device/error.h"

namespace testbed {

class OneWriter {
 public:
  explicit OneWriter(std::string engine) : engine_(std::move(engine)) {}

  // The writing thread calls Begin when the library has given it the write lock, and End before the
  // library may give the lock to another thread.
  void Begin() { thread_.store(std::this_thread::get_id(), std::memory_order_relaxed); }
  void End() { thread_.store({}, std::memory_order_relaxed); }

  // Returns whether the calling thread writes.
  bool IsThisThread() const {
    return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }
  // Throws Error (kRun) when the calling thread writes already: its next write transaction would
  // wait for itself.
  void CheckOther() const {
    if (!IsThisThread()) return;
    throw Error(Error::kRun,
                engine_ +
                    " has one writer at a time, and a transaction of this thread is writing: "
                    "commit it or roll it back first");
  }
  // Throws Error (kRun) unless the calling thread writes.
  void CheckThis() const {
    if (IsThisThread()) return;
    throw Error(Error::kRun, engine_ +
                                 " holds a lock of the thread on which a transaction began to "
                                 "write: it must write and end there");
  }

 private:
  const std::string engine_;
  std::atomic<std::thread::id> thread_{};  // the writing thread; thread::id() when none writes
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_DATA_FILE_ONE_WRITER_H_

// A Periodic calls a function every interval on a thread of its own, from its construction to its
// destruction. The engine looks by one whether a checkpoint is due.
#ifndef TESTBED_ENGINES_WIREDTIGER_PERIODIC_H_
#define TESTBED_ENGINES_WIREDTIGER_PERIODIC_H_

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "device/os/mutex.h"
#include "device/os/thread.h"
#include "engines/wiredtiger/file_system.h"

namespace testbed::wiredtiger {

class Periodic {
 public:
  // Starts the thread, which the destructor ends. `body` must not throw.
  Periodic(std::chrono::milliseconds interval, std::function<void()> body)
      : body_(std::move(body)),
        thread_(
            StartThread("the periodic work of wiredtiger", [this, interval] { Run(interval); })) {}
  ~Periodic() {
    {
      LockGuard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;

 private:
  void Run(std::chrono::milliseconds interval) {
    thread_state.application = true;
    UniqueLock lock(mutex_);
    auto next = std::chrono::steady_clock::now() + interval;
    while (!wake_.wait_until(mutex_, next, [this]() REQUIRES(mutex_) { return stop_; })) {
      lock.unlock();
      body_();
      lock.lock();
      next = std::max(next + interval, std::chrono::steady_clock::now());
    }
  }

  const std::function<void()> body_;
  Mutex mutex_;
  CondVar wake_;
  bool stop_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // declared last: it uses the other members
};

}  // namespace testbed::wiredtiger

#endif  // TESTBED_ENGINES_WIREDTIGER_PERIODIC_H_

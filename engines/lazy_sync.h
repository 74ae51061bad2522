// LazySync gives lazy durability to an engine whose library has none, or has one that follows
// another rule. Its thread makes each commit durable within an interval (device/log/lazy_pace.h).
//
//   LazySync lazy(std::chrono::milliseconds(100), [&] { return env.LastCommit(); },
//                 [&] { env.Sync(); });
#ifndef TESTBED_ENGINES_LAZY_SYNC_H_
#define TESTBED_ENGINES_LAZY_SYNC_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "device/error.h"
#include "device/log/lazy_pace.h"
#include "device/os/mutex.h"
#include "device/os/thread.h"

namespace testbed {

class LazySync {
 public:
  // Starts the thread. `newest` returns a number that changes with each commit. `sync` makes all
  // commits so far durable; the thread does not call it when `newest` has not changed since the
  // last sync. When either throws, the thread ends (ThrowIfFailed). Both run beside the threads
  // that commit, so they must be thread-safe; the constructor calls `newest` once on the calling
  // thread.
  LazySync(std::chrono::milliseconds interval, std::function<uint64_t()> newest,
           std::function<void()> sync)
      : LazySync(interval, [newest, sync = std::move(sync), synced = newest()]() mutable {
          const uint64_t now = newest();
          if (now == synced) return false;
          sync();
          synced = now;
          return true;
        }) {}
  // This constructor is for a library that does not tell its commits. `sync` makes all commits so
  // far durable, and returns whether any of them was not durable before. A call that had nothing to
  // do says nothing about how long a sync takes, which decides when the next one begins.
  LazySync(std::chrono::milliseconds interval, std::function<bool()> sync)
      : interval_(interval),
        sync_(std::move(sync)),
        thread_(StartThread("the syncs of lazy commits", [this] { Run(); })) {}
  // Stops the thread, without a last sync.
  ~LazySync() {
    {
      LockGuard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  LazySync(const LazySync&) = delete;
  LazySync& operator=(const LazySync&) = delete;

  // Throws the error that `newest` or `sync` has thrown: later commits are not made durable. An
  // engine calls this before it acknowledges a commit, unless its `sync` reports failures itself.
  void ThrowIfFailed() {
    if (!failed_.load(std::memory_order_acquire)) return;
    LockGuard lock(mutex_);
    throw Error(*failure_);
  }

 private:
  void Run() {
    LazyPace pace(interval_);
    UniqueLock lock(mutex_);
    while (!wake_.wait_until(mutex_, pace.Next(), [this]() REQUIRES(mutex_) { return stop_; })) {
      lock.unlock();
      std::optional<Error> failure;
      try {
        pace.Turn(sync_);
      } catch (const std::exception& error) {
        failure = Error::Of(error);  // no memory, for example
      }
      lock.lock();
      if (failure) {
        failure_ = std::move(failure);
        failed_.store(true, std::memory_order_release);
        return;
      }
    }
  }

  const std::chrono::milliseconds interval_;
  const std::function<bool()> sync_;
  Mutex mutex_;  // protects stop_ and failure_
  CondVar wake_;
  bool stop_ GUARDED_BY(mutex_) = false;
  std::optional<Error> failure_ GUARDED_BY(mutex_);
  std::atomic<bool> failed_{false};
  std::thread thread_;  // declared last: it starts when the members that it uses exist
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_LAZY_SYNC_H_

// Makes each commit durable within an interval (device/log/lazy_pace.h), on a thread of its own: lazy
// durability for engines whose library has none, or one by another rule.
//
//   LazySync lazy(std::chrono::milliseconds(100), [&] { return env.LastCommit(); },
//                 [&] { env.Sync(); });
#ifndef TESTBED_ENGINES_LAZY_SYNC_H_
#define TESTBED_ENGINES_LAZY_SYNC_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "device/log/lazy_pace.h"

namespace testbed {

class LazySync {
 public:
  // `newest` tells how many commits there were; `sync` makes them durable and must not throw. Both
  // are called on the thread.
  LazySync(std::chrono::milliseconds interval, std::function<uint64_t()> newest,
           std::function<void()> sync)
      : interval_(interval),
        newest_(std::move(newest)),
        sync_(std::move(sync)),
        thread_([this] { Run(); }) {}
  ~LazySync() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  LazySync(const LazySync&) = delete;
  LazySync& operator=(const LazySync&) = delete;

 private:
  void Run() {
    LazyPace pace(interval_);
    uint64_t synced = newest_();
    std::unique_lock lock(mutex_);
    while (!wake_.wait_until(lock, pace.Next(), [this] { return stop_; })) {
      pace.Begin();
      const uint64_t newest = newest_();
      if (newest == synced) continue;
      lock.unlock();
      sync_();
      lock.lock();
      pace.End();
      synced = newest;
    }
  }

  const std::chrono::milliseconds interval_;
  const std::function<uint64_t()> newest_;
  const std::function<void()> sync_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_LAZY_SYNC_H_

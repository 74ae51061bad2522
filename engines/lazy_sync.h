// Makes each commit durable within an interval, on a thread of its own: lazy durability for engines
// whose library has none, or only a slower one.
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
  // A commit waits for the end of the sync after it: half of the interval until it begins, and the
  // other half for what it takes.
  void Run() {
    uint64_t synced = newest_();
    std::unique_lock lock(mutex_);
    while (!stop_) {
      wake_.wait_for(lock, interval_ / 2, [this] { return stop_; });
      const uint64_t newest = newest_();
      if (newest == synced) continue;
      lock.unlock();
      sync_();
      lock.lock();
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

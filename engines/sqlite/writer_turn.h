// A WriterTurn lets one session write at a time, because SQLite has one writer at a time. SQLite
// itself would have the others try again after sleeps.
//
//   turn.Take();      // waits; throws Error when a session of this thread has the turn
//   turn.Use();       // at each call of the session that has the turn
//   turn.Pass();
//
// Several threads may use a session one after the other. It counts as a session of the thread that
// used it last, because that thread would wait for itself in Take.
//
// A session that comes when the turn is free takes the turn. So a session that writes again and
// again need not wait until another thread wakes. But when the session that waits longest has
// waited for more than a millisecond, the turn goes to it (the "starvation mode" of Go's
// sync.Mutex). Thread-safe.
#ifndef TESTBED_ENGINES_SQLITE_WRITER_TURN_H_
#define TESTBED_ENGINES_SQLITE_WRITER_TURN_H_

#include <atomic>
#include <chrono>
#include <deque>
#include <thread>

#include "device/error.h"
#include "device/os/mutex.h"

namespace testbed::sqlite {

class WriterTurn {
 public:
  void Take() {
    LockGuard lock(mutex_);
    if (taken_ && user_.load(std::memory_order_relaxed) == std::this_thread::get_id()) {
      throw Error(Error::kRun,
                  "sqlite has one writer at a time, and a transaction of this thread is writing: "
                  "commit it or roll it back first");
    }
    if (taken_) Wait();
    taken_ = true;
    Use();
  }
  void Use() { user_.store(std::this_thread::get_id(), std::memory_order_relaxed); }
  void Pass() {
    LockGuard lock(mutex_);
    taken_ = false;
    user_.store({}, std::memory_order_relaxed);
    if (waiters_.empty()) return;
    Waiter* first = waiters_.front();
    if (Clock::now() - first->since > kPatience) {
      taken_ = first->given = true;
      waiters_.pop_front();
    }
    first->woken.notify_one();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kPatience{1};
  struct Waiter {
    Clock::time_point since = Clock::now();
    bool given = false;
    CondVar woken;
  };

  void Wait() REQUIRES(mutex_) {
    Waiter self;
    waiters_.push_back(&self);
    // Pass wakes the session that is first in the queue.
    self.woken.wait(mutex_, [&]() REQUIRES(mutex_) {
      return self.given || (!taken_ && waiters_.front() == &self);
    });
    if (!self.given) waiters_.pop_front();
  }

  Mutex mutex_;
  bool taken_ GUARDED_BY(mutex_) = false;
  std::atomic<std::thread::id> user_;  // thread that last used the session with the turn
  std::deque<Waiter*> waiters_ GUARDED_BY(mutex_);
};

}  // namespace testbed::sqlite

#endif  // TESTBED_ENGINES_SQLITE_WRITER_TURN_H_

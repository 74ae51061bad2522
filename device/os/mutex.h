// This header has mutexes that clang checks: std::mutex and its companions with clang's
// thread-safety annotations (clang.llvm.org/docs/ThreadSafetyAnalysis.html), which libstdc++'s
// types do not have.
//
//   class Queue {
//    public:
//     void Push(int value) {
//       LockGuard lock(mutex_);
//       values_.push_back(value);
//       changed_.notify_one();
//     }
//     int Pop() {
//       LockGuard lock(mutex_);
//       changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return !values_.empty(); });
//       return Take();
//     }
//
//    private:
//     int Take() REQUIRES(mutex_);        // the caller holds mutex_
//
//     Mutex mutex_;
//     CondVar changed_;
//     std::deque<int> values_ GUARDED_BY(mutex_);
//   };
//
// `tools/lint.sh --only threads` compiles with clang's -Wthread-safety -Werror: a member marked
// GUARDED_BY is touched only where its mutex is held. It compiles each file that names one of these
// types or marks, or includes a header of its own folder that does. The wrappers add nothing to the
// code that is run, and mean nothing to another compiler.
//
// Latches that are handed from one call to the next (of btree's frames and of fractal's nodes) are
// not checked: the analysis ends at the border of a function.
//
// The marks are macros, which no namespace holds. A public header (embed/testbed/) therefore puts
// its includes between two of this header: one with TESTBED_MARKS_BEGIN, which lays the program's
// own macros of these names aside, and one with TESTBED_MARKS_END, which puts them back. The marks
// are defined before the guard, and so again by each include, for a file that includes this header
// after a public one.
#if defined(TESTBED_MARKS_BEGIN)
#pragma push_macro("CAPABILITY")
#undef CAPABILITY
#pragma push_macro("SCOPED_CAPABILITY")
#undef SCOPED_CAPABILITY
#pragma push_macro("GUARDED_BY")
#undef GUARDED_BY
#pragma push_macro("PT_GUARDED_BY")
#undef PT_GUARDED_BY
#pragma push_macro("REQUIRES")
#undef REQUIRES
#pragma push_macro("EXCLUDES")
#undef EXCLUDES
#pragma push_macro("ACQUIRE")
#undef ACQUIRE
#pragma push_macro("RELEASE")
#undef RELEASE
#pragma push_macro("TRY_ACQUIRE")
#undef TRY_ACQUIRE
#pragma push_macro("RETURN_CAPABILITY")
#undef RETURN_CAPABILITY
#pragma push_macro("NO_THREAD_SAFETY_ANALYSIS")
#undef NO_THREAD_SAFETY_ANALYSIS
#elif defined(TESTBED_MARKS_END)
#pragma pop_macro("CAPABILITY")
#pragma pop_macro("SCOPED_CAPABILITY")
#pragma pop_macro("GUARDED_BY")
#pragma pop_macro("PT_GUARDED_BY")
#pragma pop_macro("REQUIRES")
#pragma pop_macro("EXCLUDES")
#pragma pop_macro("ACQUIRE")
#pragma pop_macro("RELEASE")
#pragma pop_macro("TRY_ACQUIRE")
#pragma pop_macro("RETURN_CAPABILITY")
#pragma pop_macro("NO_THREAD_SAFETY_ANALYSIS")
#else

#ifdef __clang__
#define TESTBED_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define TESTBED_THREAD_ATTRIBUTE(x)
#endif
#define CAPABILITY(name) TESTBED_THREAD_ATTRIBUTE(capability(name))
#define SCOPED_CAPABILITY TESTBED_THREAD_ATTRIBUTE(scoped_lockable)
#define GUARDED_BY(mutex) TESTBED_THREAD_ATTRIBUTE(guarded_by(mutex))
#define PT_GUARDED_BY(mutex) TESTBED_THREAD_ATTRIBUTE(pt_guarded_by(mutex))
#define REQUIRES(...) TESTBED_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) TESTBED_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define ACQUIRE(...) TESTBED_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define RELEASE(...) TESTBED_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) TESTBED_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define RETURN_CAPABILITY(mutex) TESTBED_THREAD_ATTRIBUTE(lock_returned(mutex))
// This marks a function whose locking the analysis cannot follow. A comment at each use says why.
#define NO_THREAD_SAFETY_ANALYSIS TESTBED_THREAD_ATTRIBUTE(no_thread_safety_analysis)

#ifndef TESTBED_DEVICE_OS_MUTEX_H_
#define TESTBED_DEVICE_OS_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace testbed {

class CAPABILITY("mutex") Mutex {
 public:
  void lock() ACQUIRE() { mutex_.lock(); }
  void unlock() RELEASE() { mutex_.unlock(); }
  bool try_lock() TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  // Returns the std::mutex itself, for code that the analysis does not check.
  std::mutex& native() { return mutex_; }

 private:
  std::mutex mutex_;
};

// A LockGuard holds a mutex until the end of its scope.
class SCOPED_CAPABILITY LockGuard {
 public:
  explicit LockGuard(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  // Takes over a mutex that the caller has locked, as by try_lock.
  LockGuard(Mutex& mutex, std::adopt_lock_t) REQUIRES(mutex) : mutex_(mutex) {}
  ~LockGuard() RELEASE() { mutex_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Mutex& mutex_;
};

// A UniqueLock holds a mutex until the end of its scope, and may release it and take it again
// before.
class SCOPED_CAPABILITY UniqueLock {
 public:
  explicit UniqueLock(Mutex& mutex) ACQUIRE(mutex) : mutex_(mutex) { lock(); }
  ~UniqueLock() RELEASE() {
    if (held_) mutex_.unlock();
  }
  UniqueLock(const UniqueLock&) = delete;
  UniqueLock& operator=(const UniqueLock&) = delete;
  void lock() ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }
  void unlock() RELEASE() {
    held_ = false;
    mutex_.unlock();
  }

 private:
  Mutex& mutex_;
  bool held_ = false;
};

// A CondVar works as std::condition_variable. The caller holds the mutex, which is released while
// the thread waits. A predicate that reads guarded members is a lambda marked REQUIRES; it must not
// throw.
class CondVar {
 public:
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }
  void wait(Mutex& mutex) REQUIRES(mutex) {
    Adopted lock(mutex);
    condition_.wait(lock.held);
  }
  // The analysis does not see that the predicate runs under the mutex.
  template <typename Predicate>
  void wait(Mutex& mutex, Predicate predicate) REQUIRES(mutex) NO_THREAD_SAFETY_ANALYSIS {
    while (!predicate()) wait(mutex);
  }
  template <typename Time>
  std::cv_status wait_until(Mutex& mutex, const Time& time) REQUIRES(mutex) {
    Adopted lock(mutex);
    return condition_.wait_until(lock.held, time);
  }
  template <typename Time, typename Predicate>
  bool wait_until(Mutex& mutex, const Time& time, Predicate predicate)
      REQUIRES(mutex) NO_THREAD_SAFETY_ANALYSIS {
    while (!predicate()) {
      if (wait_until(mutex, time) == std::cv_status::timeout) return predicate();
    }
    return true;
  }
  template <typename Duration>
  std::cv_status wait_for(Mutex& mutex, const Duration& duration) REQUIRES(mutex) {
    Adopted lock(mutex);
    return condition_.wait_for(lock.held, duration);
  }
  template <typename Duration, typename Predicate>
  bool wait_for(Mutex& mutex, const Duration& duration, Predicate predicate) REQUIRES(mutex) {
    return wait_until(mutex, std::chrono::steady_clock::now() + duration, predicate);
  }

 private:
  // Adopted is a std::unique_lock over a mutex that the caller holds. Its destructor leaves the
  // mutex locked.
  struct Adopted {
    explicit Adopted(Mutex& mutex) : held(mutex.native(), std::adopt_lock) {}
    ~Adopted() { held.release(); }
    std::unique_lock<std::mutex> held;
  };
  std::condition_variable condition_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_MUTEX_H_

#endif  // TESTBED_MARKS_BEGIN

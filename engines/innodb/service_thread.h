// A ServiceThread runs functions that other threads give it, one after the other.
//
// At each statement the embedded server calls pthread_getattr_np to learn the thread's stack. On
// the main thread of a process that function reads /proc/self/maps, which makes a statement 20
// times slower. So the main thread runs its statements on a ServiceThread.
//
//   ServiceThread service;
//   service.Run([&] { connection.Run("SELECT 1"); });   // returns when the statement has ended
#ifndef TESTBED_ENGINES_INNODB_SERVICE_THREAD_H_
#define TESTBED_ENGINES_INNODB_SERVICE_THREAD_H_

#include <exception>
#include <functional>
#include <thread>

#include "device/os/mutex.h"

namespace testbed::innodb {

// Returns whether the calling thread is the main thread of the process.
bool OnMainThread();

// Thread-safe.
class ServiceThread {
 public:
  ServiceThread();
  ~ServiceThread();
  ServiceThread(const ServiceThread&) = delete;
  ServiceThread& operator=(const ServiceThread&) = delete;

  // Runs `work` on the service thread, returns when it has ended, and throws what it threw. The IO
  // of `work` is charged to the caller's operation (device/account/ledger.h). When the caller is
  // the service thread itself, it calls `work` directly.
  void Run(const std::function<void()>& work);

 private:
  void Serve();

  Mutex callers_;  // held by the caller whose work is run
  Mutex mutex_;    // protects the members below
  CondVar changed_;
  const std::function<void()>* work_ GUARDED_BY(mutex_) = nullptr;
  std::exception_ptr thrown_ GUARDED_BY(mutex_);
  bool done_ GUARDED_BY(mutex_) = false, stop_ GUARDED_BY(mutex_) = false;
  uint8_t op_ GUARDED_BY(mutex_) = 0;  // id of the caller's OpKind
  std::thread thread_;                 // declared last: it uses the other members
};

}  // namespace testbed::innodb

#endif  // TESTBED_ENGINES_INNODB_SERVICE_THREAD_H_

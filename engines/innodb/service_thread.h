// A thread that runs what others hand it, one piece after the other.
//
// The embedded server asks pthread_getattr_np for the stack of the thread at each statement; for
// the main thread of a process that reads /proc/self/maps, which makes a statement 20 times slower.
// So what the main thread wants is done here.
//
//   ServiceThread service;
//   service.Run([&] { ... });      // waits for its end; what it throws is thrown here
#ifndef TESTBED_ENGINES_INNODB_SERVICE_THREAD_H_
#define TESTBED_ENGINES_INNODB_SERVICE_THREAD_H_

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace testbed::innodb {

// Whether the calling thread is the one that the process began with.
bool OnMainThread();

// Thread-safe.
class ServiceThread {
 public:
  ServiceThread();
  ~ServiceThread();
  ServiceThread(const ServiceThread&) = delete;
  ServiceThread& operator=(const ServiceThread&) = delete;

  // Runs `work` on the thread, charged to what the caller is charged to (device/account/ledger.h).
  void Run(const std::function<void()>& work);

 private:
  void Serve();

  std::mutex callers_;  // one at a time
  std::mutex mutex_;    // guards what follows
  std::condition_variable changed_;
  const std::function<void()>* work_ = nullptr;
  std::exception_ptr thrown_;
  bool done_ = false, stop_ = false;
  uint8_t op_ = 0;      // OpKind of the caller
  std::thread thread_;  // last: it uses the others
};

}  // namespace testbed::innodb

#endif  // TESTBED_ENGINES_INNODB_SERVICE_THREAD_H_

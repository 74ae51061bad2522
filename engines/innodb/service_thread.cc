#include "engines/innodb/service_thread.h"

#include <pthread.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "device/account/ledger.h"
#include "device/account/thread_kinds.h"
#include "device/os/mutex.h"
#include "device/os/thread.h"
#include "engines/innodb/settings.h"

namespace testbed::innodb {

bool OnMainThread() {
  // A fork makes the forking thread the main thread of the child, but testbed does not fork while
  // an engine is open.
  static thread_local const bool main = ::gettid() == ::getpid();
  return main;
}

ServiceThread::ServiceThread()
    : thread_(StartThread("the server of innodb", [this] { Serve(); })) {}

ServiceThread::~ServiceThread() {
  {
    LockGuard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ServiceThread::Run(const std::function<void()>& work) {
  if (std::this_thread::get_id() == thread_.get_id()) return work();
  LockGuard caller(callers_);
  UniqueLock lock(mutex_);
  work_ = &work;
  op_ = Ledger::ThisThread().op().id;
  done_ = false;
  thrown_ = nullptr;
  changed_.notify_all();
  changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return done_; });
  if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void ServiceThread::Serve() {
  // The server starts its threads from this thread. They inherit its name, by which the kernel
  // account recognises them.
  ::pthread_setname_np(::pthread_self(), kServiceThread);
  // The server's threads write pages. The log is written by the threads that commit and by the
  // thread of LazySync.
  for (const std::string& name : InnodbCapabilities().thread_names) {
    RegisterThreads(name, FileKind::kData);
  }
  UniqueLock lock(mutex_);
  for (;;) {
    changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return stop_ || work_ != nullptr; });
    if (work_ == nullptr) return;
    const std::function<void()>& work = *work_;
    ThreadLedger& ledger = Ledger::ThisThread();
    ledger.set_op(OpKind{op_});
    lock.unlock();
    std::exception_ptr thrown;
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    ledger.set_op(kUnscoped);
    lock.lock();
    thrown_ = thrown;
    work_ = nullptr;
    done_ = true;
    changed_.notify_all();
  }
}

}  // namespace testbed::innodb

#include "engines/innodb/service_thread.h"

#include <pthread.h>
#include <unistd.h>

#include <utility>

#include "device/account/ledger.h"
#include "device/account/thread_kinds.h"

namespace testbed::innodb {

bool OnMainThread() {
  // A fork may make another thread the main one; nobody forks while an engine is open.
  static thread_local const bool main = ::gettid() == ::getpid();
  return main;
}

ServiceThread::ServiceThread() : thread_([this] { Serve(); }) {}

ServiceThread::~ServiceThread() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ServiceThread::Run(const std::function<void()>& work) {
  if (std::this_thread::get_id() == thread_.get_id()) return work();
  std::lock_guard caller(callers_);
  std::unique_lock lock(mutex_);
  work_ = &work;
  op_ = Ledger::ThisThread().op().id;
  done_ = false;
  thrown_ = nullptr;
  changed_.notify_all();
  changed_.wait(lock, [this] { return done_; });
  if (thrown_ != nullptr) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void ServiceThread::Serve() {
  // The server's own threads begin here, and inherit the name by which the account tells them.
  ::pthread_setname_np(::pthread_self(), "innodb");
  // They write pages; the log is written by those who commit, and by the thread of lazy syncs.
  RegisterThreads("innodb", FileKind::kData);
  // MariaDB names them itself from 11.7 on.
  RegisterThreads("page_cleaner", FileKind::kData);
  RegisterThreads("ib_tpool_worker", FileKind::kData);
  RegisterThreads("iou-wrk", FileKind::kData);  // the kernel's threads for their io_uring
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || work_ != nullptr; });
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

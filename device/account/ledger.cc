#include "device/account/ledger.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>

#include "device/account/kernel_account.h"
#include "device/os/mutex.h"
#include "device/os/thread.h"

namespace testbed {

ThreadLedger::ThreadLedger() : private_slot_(std::make_unique<KernelSlot>()) {
  kernel = private_slot_.get();
}

// Each registered thread has one of these objects. Its destructor gives the thread's ThreadLedger
// back to the ledger when the thread ends. Thread-local or static objects that are destroyed later,
// such as a static database, register the thread again, because the ThreadLedger that it had may
// belong to another thread by then.
struct ThreadRegistration {
  ThreadLedger* const thread = Ledger::Get().Acquire();
  ThreadRegistration() = default;
  ThreadRegistration(const ThreadRegistration&) = delete;
  ThreadRegistration& operator=(const ThreadRegistration&) = delete;
  ~ThreadRegistration() {
    internal::this_thread = nullptr;
    Ledger::Get().Release(thread);
  }
};

namespace internal {

ThreadLedger& RegisterThread() {
  const ThreadRegistration* const registration =
      OfThread([] { return std::make_unique<ThreadRegistration>(); });
  Ledger::Get().Rejoin(registration->thread);  // has an effect only in a forked child
  this_thread = registration->thread;
  return *this_thread;
}

}  // namespace internal

Ledger& Ledger::Get() {
  // The ledger is never destroyed: threads of engine libraries may end after main's statics are
  // gone.
  static Ledger* ledger = new Ledger;
  return *ledger;
}

// The handlers hold the lock during a fork, so that the child finds the ledger whole and the lock
// free.
Ledger::Ledger() {
  // The three handlers lock and unlock the mutex across a fork, which the analysis cannot follow.
  ::pthread_atfork([]() NO_THREAD_SAFETY_ANALYSIS { Get().mutex_.lock(); },
                   []() NO_THREAD_SAFETY_ANALYSIS { Get().mutex_.unlock(); },
                   []() NO_THREAD_SAFETY_ANALYSIS { Get().AfterForkInChild(); });
}

// Only the thread that forked lives on in the child, under a new id. The thread registers anew when
// it next asks for its ThreadLedger, and not before: most children execute another program, whose
// IO is not testbed's. The fork handler calls this function with the lock held, and the function
// releases it.
void Ledger::AfterForkInChild() {
  for (auto& thread : threads_) {
    if (thread->tid_ == 0) continue;
    thread->tid_ = 0;
    thread->kernel = thread->private_slot_.get();  // the parent's slot stays the parent's
    if (thread.get() != internal::this_thread) {
      thread->set_op(kUnscoped);
      idle_.push_back(thread.get());
    }
  }
  served_.clear();
  internal::this_thread = nullptr;
  mutex_.unlock();
}

// Registers the thread that forked, in the child, under its new id.
void Ledger::Rejoin(ThreadLedger* thread) {
  LockGuard lock(mutex_);
  if (thread->tid_ != 0) return;
  ++thread->use_;
  thread->tid_ = static_cast<int>(::syscall(SYS_gettid));
  if (kernel_ != nullptr) kernel_->Attach(thread, thread->tid_);
}

void Ledger::Configure(AccountDepth depth, KernelAccount* kernel) {
  LockGuard lock(mutex_);
  depth_.store(depth, std::memory_order_relaxed);
  if (kernel == kernel_) return;
  if (kernel_ != nullptr) {
    for (const auto& [tid, client] : served_) kernel_->Unserve(tid);
  }
  for (auto& thread : threads_) {
    if (kernel_ != nullptr && thread->tid_ != 0) kernel_->Detach(thread.get(), thread->tid_);
    thread->kernel = thread->private_slot_.get();
  }
  kernel_ = kernel;
  if (kernel_ == nullptr) return;
  for (auto& thread : threads_) {
    if (thread->tid_ != 0) kernel_->Attach(thread.get(), thread->tid_);
  }
  for (const auto& [tid, client] : served_) kernel_->Serve(*client, tid);
  for (const auto& [file, known] : files_) {
    kernel_->RegisterFile(file.first, file.second, known.kind);
  }
}

void Ledger::Serve(ThreadLedger* thread, int tid) {
  LockGuard lock(mutex_);
  served_[tid] = thread;
  if (kernel_ != nullptr) kernel_->Serve(*thread, tid);
}

void Ledger::Unserve(int tid) {
  LockGuard lock(mutex_);
  if (served_.erase(tid) != 0 && kernel_ != nullptr) kernel_->Unserve(tid);
}

void Ledger::RegisterFile(uint64_t dev, uint64_t inode, FileKind kind) {
  LockGuard lock(mutex_);
  KnownFile& known = files_[{dev, inode}];
  known.kind = kind;
  known.kept = true;
  known.opening = ++openings_;
  if (kernel_ != nullptr) kernel_->RegisterFile(dev, inode, kind);
}

void Ledger::OpenFile(uint64_t dev, uint64_t inode, FileKind kind) {
  LockGuard lock(mutex_);
  KnownFile& known = files_[{dev, inode}];
  known.kind = kind;
  ++known.opens;
  known.opening = ++openings_;
  if (kernel_ != nullptr) kernel_->RegisterFile(dev, inode, kind);
}

uint64_t Ledger::Opening(uint64_t dev, uint64_t inode) const {
  LockGuard lock(mutex_);
  const auto it = files_.find({dev, inode});
  return it == files_.end() ? 0 : it->second.opening;
}

void Ledger::CloseFile(uint64_t dev, uint64_t inode, bool has_name, uint64_t opening) {
  LockGuard lock(mutex_);
  const auto it = files_.find({dev, inode});
  if (it == files_.end() || it->second.opens == 0) return;
  --it->second.opens;
  if (!has_name) ForgetUnused(dev, inode, opening);
}

void Ledger::ForgetFile(uint64_t dev, uint64_t inode, uint64_t opening) {
  LockGuard lock(mutex_);
  ForgetUnused(dev, inode, opening);
}

void Ledger::ForgetUnused(uint64_t dev, uint64_t inode, uint64_t opening) {
  const auto it = files_.find({dev, inode});
  if (it == files_.end()) return;
  const KnownFile& known = it->second;
  if (known.opens != 0 || known.kept || known.opening != opening) return;
  files_.erase(it);
  if (kernel_ != nullptr) kernel_->ForgetFile(dev, inode);
}

LedgerCounts Ledger::Counts() const {
  LedgerCounts counts;
  LockGuard lock(mutex_);
  for (const auto& thread : threads_) {
    for (size_t i = 0; i < kMaxOps; ++i) {
      const ThreadLedger::OpCounters& from = thread->ops[i];
      LedgerCounts::Op& to = counts.ops[i];
      to.operations += from.operations.Get();
      to.wire +=
          WireCounts{from.round_trips.Get(), from.sent_bytes.Get(), from.received_bytes.Get()};
      for (size_t b = 0; b < kBlockBuckets; ++b) {
        to.file_reads[b] += from.file_reads[b].Get();
        to.kernel_reads[b] += from.kernel_reads[b].Get();
      }
      for (size_t k = 0; k < kFileKinds; ++k) {
        const ThreadLedger::FileCounters& c = from.file[k];
        to.file[k] += FileCounts{c.reads.Get(), c.read_bytes.Get(), c.writes.Get(),
                                 c.write_bytes.Get(), c.syncs.Get()};
      }
    }
  }
  if (kernel_ != nullptr) kernel_->AddCounts(&counts);
  return counts;
}

ThreadLedger* Ledger::Acquire() {
  LockGuard lock(mutex_);
  ThreadLedger* thread;
  if (!idle_.empty()) {
    thread = idle_.back();
    idle_.pop_back();
  } else {
    threads_.push_back(std::make_unique<ThreadLedger>());
    thread = threads_.back().get();
  }
  thread->set_op(kUnscoped);
  ++thread->use_;
  thread->tid_ = static_cast<int>(::syscall(SYS_gettid));
  if (kernel_ != nullptr) kernel_->Attach(thread, thread->tid_);
  return thread;
}

void Ledger::Release(ThreadLedger* thread) {
  LockGuard lock(mutex_);
  thread->set_op(kUnscoped);
  for (auto served = served_.begin(); served != served_.end();) {
    if (served->second != thread) {
      ++served;
      continue;
    }
    if (kernel_ != nullptr) kernel_->Unserve(served->first);
    served = served_.erase(served);
  }
  if (kernel_ != nullptr) kernel_->Detach(thread, thread->tid_);
  thread->kernel = thread->private_slot_.get();
  thread->tid_ = 0;
  idle_.push_back(thread);
}

}  // namespace testbed

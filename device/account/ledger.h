// The ledger: what each operation cost the device, and who caused it.
//
// IO is counted on five levels that must add up (docs/accounting.md): operations (the runner),
// engine (cache hits and misses, an engine's own counters), file (device/file/file.h), kernel (block
// requests each thread caused, device/account/kernel_account.h) and device (its own statistics,
// device/account/block_device.h). This header holds the middle: the scope that says which operation is
// running on a thread, and each thread's counters of the file and kernel levels. Kinds of operations
// are in operations.h, counts as values in counts.h.
//
//   const OpKind kPointRead = DefineOp("point-read", Ground::kForeground);
//   {
//     IoScope scope(kPointRead);
//     file.Read(...);                  // charged to point-read on this thread
//   }                                  // one operation more; its blocks go into the histogram
//   LedgerCounts delta = Ledger::Get().Counts() - before;
//
// Counters are per thread, written only by their thread with plain stores (relaxed atomics without
// a locked instruction), and merged when asked. A thread that ends leaves its counts in the ledger.
// A forked child starts with a copy of its parent's counts and goes on with its own; its kernel
// account is the parent's, and both see the counts of both there.
#ifndef TESTBED_DEVICE_ACCOUNT_LEDGER_H_
#define TESTBED_DEVICE_ACCOUNT_LEDGER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/account/counts.h"
#include "device/account/operations.h"

namespace testbed {

class KernelAccount;

// How deep a run accounts. Each level includes those before it.
enum class AccountDepth : uint8_t { kOff, kFile, kKernel, kDevice };

// Counts of one thread at the block layer, in memory that the kernel program of KernelAccount
// writes and the thread reads for two nanoseconds. `op` and `kind` tell the program what to charge.
// The layout is shared with the program: change both together.
struct KernelSlot {
  std::atomic<uint32_t> op{0};     // OpKind.id running on the thread
  std::atomic<uint32_t> kind{0};   // FileKind of the call under way + 1; 0 = none
  std::atomic<uint64_t> reads{0};  // total requests of the thread, for the per-operation histogram
  std::atomic<uint64_t> writes{0};
  uint64_t unused[5] = {};
  BlockCounts counts[kMaxOps][kFileKinds];
};

// One thread's part of the ledger. Reached by ThisThread(); never freed before the process ends,
// reused after its thread ended.
class ThreadLedger {
 public:
  ThreadLedger();
  OpKind op() const { return op_; }
  void set_op(OpKind op) {
    op_ = op;
    kernel->op.store(op.id, std::memory_order_relaxed);
  }

  struct FileCounters {
    Counter reads, read_bytes, writes, write_bytes, syncs;
  };
  struct OpCounters {
    Counter operations;
    std::array<Counter, kBlockBuckets> file_reads, kernel_reads;
    std::array<FileCounters, kFileKinds> file;
  };

  // What one file call adds. `file_reads_total` lets a scope tell its own reads apart.
  void CountRead(FileKind kind, uint64_t bytes) {
    FileCounters& c = ops[op_.id].file[static_cast<size_t>(kind)];
    c.reads.Add(1);
    c.read_bytes.Add(bytes);
    ++file_reads_total;
  }
  void CountWrite(FileKind kind, uint64_t bytes) {
    FileCounters& c = ops[op_.id].file[static_cast<size_t>(kind)];
    c.writes.Add(1);
    c.write_bytes.Add(bytes);
  }
  void CountSync(FileKind kind) { ops[op_.id].file[static_cast<size_t>(kind)].syncs.Add(1); }

  std::array<OpCounters, kMaxOps> ops;
  uint64_t file_reads_total = 0;
  KernelSlot* kernel;  // the kernel account's slot, or a private one that stays zero

 private:
  friend class Ledger;
  OpKind op_ = kUnscoped;
  int tid_ = 0;  // of the thread that uses this part now
  std::unique_ptr<KernelSlot> private_slot_;
};

namespace internal {
inline thread_local ThreadLedger* this_thread = nullptr;
ThreadLedger& RegisterThread();
}  // namespace internal

// The process's ledger. Thread-safe.
class Ledger {
 public:
  static Ledger& Get();

  AccountDepth depth() const { return depth_.load(std::memory_order_relaxed); }
  // Chooses the depth, and for kKernel and deeper the account that serves it (not owned; null
  // detaches; do so before the account ends). Call while no scope is open on another thread.
  // Threads known before are attached.
  void Configure(AccountDepth depth, KernelAccount* kernel);

  // Tells the kernel level which kind of file an inode (st_ino) of a file system (st_dev) holds;
  // File::Open calls it.
  void RegisterFile(uint64_t dev, uint64_t inode, FileKind kind);

  LedgerCounts Counts() const;

  // The calling thread's part; registers the thread at its first call.
  static ThreadLedger& ThisThread();

 private:
  friend struct ThreadRegistration;
  friend ThreadLedger& internal::RegisterThread();
  Ledger();
  void AfterForkInChild();
  void Rejoin(ThreadLedger* thread);
  ThreadLedger* Acquire();
  void Release(ThreadLedger* thread);

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<ThreadLedger>> threads_;
  std::vector<ThreadLedger*> idle_;
  // By device and inode, for an account that is attached later.
  std::map<std::pair<uint64_t, uint64_t>, FileKind> files_;
  std::atomic<AccountDepth> depth_{AccountDepth::kFile};
  KernelAccount* kernel_ = nullptr;
};

inline ThreadLedger& Ledger::ThisThread() {
  ThreadLedger* thread = internal::this_thread;
  return thread != nullptr ? *thread : internal::RegisterThread();
}

// Charges what the thread does until the end of the scope to `op`, and counts one operation of it.
// Scopes nest: the inner one is charged, the outer continues after it. A few nanoseconds.
class IoScope {
 public:
  explicit IoScope(OpKind op) : IoScope(op, Ledger::ThisThread()) {}
  IoScope(OpKind op, ThreadLedger& thread)
      : thread_(thread),
        previous_(thread.op()),
        file_reads_(thread.file_reads_total),
        kernel_reads_(thread.kernel->reads.load(std::memory_order_relaxed)) {
    thread_.set_op(op);
  }
  ~IoScope() {
    ThreadLedger::OpCounters& c = thread_.ops[thread_.op().id];
    c.operations.Add(1);
    c.file_reads[BlockBucket(thread_.file_reads_total - file_reads_)].Add(1);
    const uint64_t kernel_reads = thread_.kernel->reads.load(std::memory_order_relaxed);
    c.kernel_reads[BlockBucket(kernel_reads - kernel_reads_)].Add(1);
    thread_.set_op(previous_);
  }
  IoScope(const IoScope&) = delete;
  IoScope& operator=(const IoScope&) = delete;

 private:
  ThreadLedger& thread_;
  OpKind previous_;
  uint64_t file_reads_;
  uint64_t kernel_reads_;
};

// An operation that its thread works on in pieces, others in between: a read that waits for the
// device while the thread goes on with the next.
//
//   task.Begin(kPointRead);
//   { IoTask::Work work(&task); ... }   // as often as it takes: charged as in an IoScope
//   task.End();                         // one operation more; its blocks go into the histogram
//
// All of it on one thread.
class IoTask {
 public:
  void Begin(OpKind op) {
    op_ = op;
    file_reads_ = kernel_reads_ = 0;
  }
  void End() {
    ThreadLedger::OpCounters& c = Ledger::ThisThread().ops[op_.id];
    c.operations.Add(1);
    c.file_reads[BlockBucket(file_reads_)].Add(1);
    c.kernel_reads[BlockBucket(kernel_reads_)].Add(1);
  }

  // Charges what the thread does while it lives to the task; to nobody else when that is null.
  class Work {
   public:
    explicit Work(IoTask* task) : task_(task), thread_(Ledger::ThisThread()) {
      if (task_ == nullptr) return;
      previous_ = thread_.op();
      file_reads_ = thread_.file_reads_total;
      kernel_reads_ = thread_.kernel->reads.load(std::memory_order_relaxed);
      thread_.set_op(task_->op_);
    }
    ~Work() {
      if (task_ == nullptr) return;
      task_->file_reads_ += thread_.file_reads_total - file_reads_;
      task_->kernel_reads_ += thread_.kernel->reads.load(std::memory_order_relaxed) - kernel_reads_;
      thread_.set_op(previous_);
    }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    IoTask* const task_;
    ThreadLedger& thread_;
    OpKind previous_;
    uint64_t file_reads_ = 0, kernel_reads_ = 0;
  };

 private:
  OpKind op_;
  uint64_t file_reads_ = 0, kernel_reads_ = 0;
};

// Tells the kernel level which kind of file the system calls of this thread are for while it lives,
// where the block does not say so itself: flushes, and direct IO. device/file/file.h marks its own
// calls; an engine that makes its own marks those.
class CallMark {
 public:
  explicit CallMark(FileKind kind) : slot_(Ledger::ThisThread().kernel) {
    slot_->kind.store(static_cast<uint32_t>(kind) + 1, std::memory_order_relaxed);
  }
  ~CallMark() { slot_->kind.store(0, std::memory_order_relaxed); }
  CallMark(const CallMark&) = delete;
  CallMark& operator=(const CallMark&) = delete;

 private:
  KernelSlot* const slot_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_LEDGER_H_

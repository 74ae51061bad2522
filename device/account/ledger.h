// The ledger says what each operation cost the device and which thread caused the cost.
//
// IO is counted on five levels that must add up (docs/accounting.md): operations (the runner),
// engine (cache hits and misses, an engine's own counters), file (device/file/file.h), kernel (the
// block requests that each thread caused, device/account/kernel_account.h) and device (the device's
// own statistics, device/account/block_device.h). What goes between a database server and its
// client is counted beside them (wire, device/account/wire.h). This header holds what joins them:
// the scope that says which operation is running on a thread, and each thread's counters of the
// file and kernel levels. Kinds of operations are in operations.h, counts as values in counts.h.
//
//   const OpKind kPointRead = DefineOp("point-read", Ground::kForeground);
//   const LedgerCounts before = Ledger::Get().Counts();
//   {
//     IoScope scope(kPointRead);
//     file->Read(offset, buffer, n);   // charged to point-read on this thread
//   }                                  // counts one operation, and its reads in the histogram
//   LedgerCounts delta = Ledger::Get().Counts() - before;
//
// Each thread has its own counters and writes them with plain stores (relaxed atomics without a
// locked instruction); Counts() merges them. A thread that ends leaves its counts in the ledger. A
// forked child starts with a copy of its parent's file counts and goes on with its own. The kernel
// account belongs to both: each of them sees the kernel counts of both.
#ifndef TESTBED_DEVICE_ACCOUNT_LEDGER_H_
#define TESTBED_DEVICE_ACCOUNT_LEDGER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/account/counts.h"
#include "device/account/operations.h"
#include "device/os/mutex.h"

namespace testbed {

class KernelAccount;

// AccountDepth is the deepest level at which a run accounts. Each level includes those before it.
enum class AccountDepth : uint8_t { kOff, kFile, kKernel, kDevice };

// A KernelSlot has the counts of one thread at the block layer. The kernel program of KernelAccount
// writes them to this memory, and the thread reads them in two nanoseconds. The thread writes `op`
// and `kind`, which tell the program what to charge. The program has the layout built in
// (account_program.cc).
struct KernelSlot {
  std::atomic<uint32_t> op{0};  // OpKind.id of the operation that is running on the thread
  // The lowest byte holds FileKind + 1 of the call under way, or 0 when there is none. The second
  // lowest holds FileKind + 1 of the call's writes where it is not that of its reads
  // (MixedCallMark).
  std::atomic<uint32_t> kind{0};
  std::atomic<uint64_t> reads{0};  // all reads of the thread, for the histograms
  std::atomic<uint64_t> writes{0};
  uint64_t unused[5] = {};
  BlockCounts counts[kMaxOps][kFileKinds];
};

// A ThreadLedger is one thread's part of the ledger. Ledger::ThisThread() returns it, and only its
// thread writes it. It lives until the process ends; when its thread has ended, a later thread gets
// it.
class ThreadLedger {
 public:
  ThreadLedger();
  OpKind op() const { return op_; }
  // Returns a number that changes each time that another thread gets this ThreadLedger.
  uint64_t use() const { return use_; }
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
    Counter round_trips, sent_bytes, received_bytes;
  };

  // Each of these functions adds one file call to the counts of the running operation.
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
  // These functions add to the running operation's counts of the wire level. `answers` says that
  // the received bytes are the first ones since bytes were sent.
  void CountSent(uint64_t bytes) { ops[op_.id].sent_bytes.Add(bytes); }
  void CountReceived(uint64_t bytes, bool answers) {
    ops[op_.id].received_bytes.Add(bytes);
    if (answers) ops[op_.id].round_trips.Add(1);
  }

  std::array<OpCounters, kMaxOps> ops;
  uint64_t file_reads_total = 0;  // a scope takes its own reads as a difference of two values
  KernelSlot* kernel;             // the kernel account's slot, or private_slot_, which stays zero

 private:
  friend class Ledger;
  OpKind op_ = kUnscoped;
  int tid_ = 0;  // id of the thread that uses this ThreadLedger now; 0 when none does
  uint64_t use_ = 0;
  std::unique_ptr<KernelSlot> private_slot_;
};

namespace internal {
inline thread_local ThreadLedger* this_thread = nullptr;
ThreadLedger& RegisterThread();
}  // namespace internal

// The Ledger is the process's ledger. Thread-safe.
class Ledger {
 public:
  static Ledger& Get();

  AccountDepth depth() const { return depth_.load(std::memory_order_relaxed); }
  // Sets the depth and, for kKernel and deeper, the account that counts there. `kernel` stays owned
  // by the caller, who detaches it with null before destroying it. All registered threads and files
  // are made known to it. The caller makes sure that no scope is open on another thread.
  void Configure(AccountDepth depth, KernelAccount* kernel);

  // Tells the kernel level which kind of file an inode (st_ino) of a file system (st_dev) holds,
  // for good: the file is not opened by device/file.
  void RegisterFile(uint64_t dev, uint64_t inode, FileKind kind);
  // OpenFile does so for a file that device/file opens. The kernel level forgets such a file when
  // it is closed and has lost its last name, because another program's file may get the inode then.
  // CloseFile is called after the descriptor was closed, and ForgetFile after the caller has closed
  // a descriptor of a file that had lost its last name: until then write-back may be under way,
  // whose end the closing awaits. Both take what Opening returned before the closing, and forget
  // nothing if the inode was registered since, for a new file.
  void OpenFile(uint64_t dev, uint64_t inode, FileKind kind);
  uint64_t Opening(uint64_t dev, uint64_t inode) const;
  void CloseFile(uint64_t dev, uint64_t inode, bool has_name, uint64_t opening);
  void ForgetFile(uint64_t dev, uint64_t inode, uint64_t opening);

  // Charges what thread `tid` of another process causes to the operations that run on `thread`,
  // which is a thread of this process, until Unserve or the end of `thread`
  // (device/account/served_thread.h).
  void Serve(ThreadLedger* thread, int tid);
  void Unserve(int tid);

  // Returns the counts of all threads since the process began, and of the kernel account, if there
  // is one, since it started.
  LedgerCounts Counts() const;

  // Returns the calling thread's ThreadLedger. The first call of a thread registers it.
  static ThreadLedger& ThisThread();

 private:
  friend struct ThreadRegistration;
  friend ThreadLedger& internal::RegisterThread();
  Ledger();
  void AfterForkInChild() RELEASE(mutex_);
  void Rejoin(ThreadLedger* thread);
  ThreadLedger* Acquire();
  void Release(ThreadLedger* thread);
  void ForgetUnused(uint64_t dev, uint64_t inode, uint64_t opening) REQUIRES(mutex_);

  // A KnownFile is a file that the kernel level knows.
  struct KnownFile {
    FileKind kind = FileKind::kOtherFile;
    uint32_t opens = 0;    // how often device/file has it open
    bool kept = false;     // it was registered for good
    uint64_t opening = 0;  // number of its last registration, among those of all files
  };

  mutable Mutex mutex_;  // protects threads_, idle_, files_, served_ and kernel_
  std::vector<std::unique_ptr<ThreadLedger>> threads_ GUARDED_BY(mutex_);
  std::vector<ThreadLedger*> idle_ GUARDED_BY(mutex_);  // ThreadLedgers whose threads have ended
  // The files by device and inode are kept for an account that is attached later.
  std::map<std::pair<uint64_t, uint64_t>, KnownFile> files_ GUARDED_BY(mutex_);
  uint64_t openings_ GUARDED_BY(mutex_) = 0;
  std::map<int, ThreadLedger*> served_ GUARDED_BY(mutex_);  // by id of the server's thread
  std::atomic<AccountDepth> depth_{AccountDepth::kFile};
  KernelAccount* kernel_ GUARDED_BY(mutex_) = nullptr;
};

inline ThreadLedger& Ledger::ThisThread() {
  ThreadLedger* thread = internal::this_thread;
  return thread != nullptr ? *thread : internal::RegisterThread();
}

// Charges the IO of the thread to `op` until the scope ends, and then counts one operation of that
// kind. Scopes nest: IO is charged to the innermost scope. A scope costs a few nanoseconds.
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

// An IoTask is an operation that its thread works on in pieces, with other operations in between: a
// read that waits for the device while the thread goes on with the next read.
//
//   IoTask task;
//   task.Begin(kPointRead);
//   { IoTask::Work work(&task); ... }   // as often as needed; charged as in an IoScope
//   task.End();                         // counts one operation, and its reads in the histogram
//
// Not thread-safe: one thread makes all calls.
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

  // Charges the IO of the thread to the task while the Work lives. With a null task it changes
  // nothing: the IO stays with the operation that runs on the thread.
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

// Tells the kernel level, while the mark lives, which kind of file the system calls of this thread
// are for. The kernel level needs it for flushes and direct IO, whose requests do not lead to a
// file. device/file/file.h marks its calls; an engine that makes system calls of its own marks
// them. Marks do not nest: the end of a mark leaves the thread without one.
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

#include "device/account/ledger.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "device/account/kernel_account.h"
#include "device/error.h"

namespace testbed {
namespace {

struct OpTable {
  struct Entry {
    std::string name;
    Ground ground;
  };
  std::mutex mutex;
  std::vector<Entry> entries = {
      {"unscoped", Ground::kBackground},   {"open", Ground::kBackground},
      {"flush", Ground::kBackground},      {"compaction", Ground::kBackground},
      {"checkpoint", Ground::kBackground}, {"eviction", Ground::kBackground},
      {"log-write", Ground::kBackground},  {"settle", Ground::kBackground},
      {"writeback", Ground::kBackground},
  };
};

OpTable& Ops() {
  static OpTable table;
  return table;
}

}  // namespace

const char* FileKindName(FileKind kind) {
  static constexpr const char* kNames[kFileKinds] = {
      "data", "log", "doublewrite", "temp", "meta", "other-file", "fs-journal", "fs-metadata"};
  return kNames[static_cast<size_t>(kind)];
}

OpKind DefineOp(std::string_view name, Ground ground) {
  OpTable& table = Ops();
  std::lock_guard lock(table.mutex);
  for (size_t i = 0; i < table.entries.size(); ++i) {
    if (table.entries[i].name == name) return OpKind{static_cast<uint8_t>(i)};
  }
  if (table.entries.size() == kMaxOps) {
    throw Error(Error::kUsage, "too many operation kinds: the ledger holds " +
                                   std::to_string(kMaxOps) + ", and '" + std::string(name) +
                                   "' is one more");
  }
  table.entries.push_back({std::string(name), ground});
  return OpKind{static_cast<uint8_t>(table.entries.size() - 1)};
}

std::string OpName(OpKind op) {
  OpTable& table = Ops();
  std::lock_guard lock(table.mutex);
  return table.entries.at(op.id).name;
}

Ground OpGround(OpKind op) {
  OpTable& table = Ops();
  std::lock_guard lock(table.mutex);
  return table.entries.at(op.id).ground;
}

std::vector<OpKind> DefinedOps() {
  OpTable& table = Ops();
  std::lock_guard lock(table.mutex);
  std::vector<OpKind> ops(table.entries.size());
  for (size_t i = 0; i < ops.size(); ++i) ops[i].id = static_cast<uint8_t>(i);
  return ops;
}

FileCounts& FileCounts::operator+=(const FileCounts& o) {
  reads += o.reads;
  read_bytes += o.read_bytes;
  writes += o.writes;
  write_bytes += o.write_bytes;
  syncs += o.syncs;
  return *this;
}

FileCounts& FileCounts::operator-=(const FileCounts& o) {
  reads -= o.reads;
  read_bytes -= o.read_bytes;
  writes -= o.writes;
  write_bytes -= o.write_bytes;
  syncs -= o.syncs;
  return *this;
}

BlockCounts& BlockCounts::operator+=(const BlockCounts& o) {
  reads += o.reads;
  read_bytes += o.read_bytes;
  writes += o.writes;
  write_bytes += o.write_bytes;
  flushes += o.flushes;
  readahead += o.readahead;
  return *this;
}

BlockCounts& BlockCounts::operator-=(const BlockCounts& o) {
  reads -= o.reads;
  read_bytes -= o.read_bytes;
  writes -= o.writes;
  write_bytes -= o.write_bytes;
  flushes -= o.flushes;
  readahead -= o.readahead;
  return *this;
}

FileCounts LedgerCounts::Op::FileTotal() const {
  FileCounts total;
  for (const FileCounts& c : file) total += c;
  return total;
}

BlockCounts LedgerCounts::Op::KernelTotal() const {
  BlockCounts total;
  for (const BlockCounts& c : kernel) total += c;
  return total;
}

BlockCounts LedgerCounts::KernelTotal() const {
  BlockCounts total;
  for (const Op& op : ops) total += op.KernelTotal();
  for (const Foreign& f : foreign) total += f.counts;
  return total;
}

LedgerCounts& LedgerCounts::operator-=(const LedgerCounts& before) {
  for (size_t i = 0; i < kMaxOps; ++i) {
    Op& op = ops[i];
    const Op& old = before.ops[i];
    op.operations -= old.operations;
    for (size_t b = 0; b < kBlockBuckets; ++b) {
      op.file_reads[b] -= old.file_reads[b];
      op.kernel_reads[b] -= old.kernel_reads[b];
    }
    for (size_t k = 0; k < kFileKinds; ++k) {
      op.file[k] -= old.file[k];
      op.kernel[k] -= old.kernel[k];
    }
  }
  for (Foreign& f : foreign) {
    for (const Foreign& old : before.foreign) {
      if (old.thread == f.thread && old.kind == f.kind) f.counts -= old.counts;
    }
  }
  std::erase_if(foreign, [](const Foreign& f) { return f.counts == testbed::BlockCounts{}; });
  return *this;
}

ThreadLedger::ThreadLedger() : private_slot_(std::make_unique<KernelSlot>()) {
  kernel = private_slot_.get();
}

// Lives in each registered thread; its end gives the thread's part back to the ledger.
struct ThreadRegistration {
  ThreadLedger* const thread = Ledger::Get().Acquire();
  ~ThreadRegistration() {
    internal::this_thread = nullptr;
    Ledger::Get().Release(thread);
  }
};

namespace internal {

ThreadLedger& RegisterThread() {
  thread_local ThreadRegistration registration;
  Ledger::Get().Rejoin(registration.thread);  // after a fork
  this_thread = registration.thread;
  return *this_thread;
}

}  // namespace internal

Ledger& Ledger::Get() {
  // Never destroyed: threads of engine libraries may still end after main's statics are gone.
  static Ledger* ledger = new Ledger;
  return *ledger;
}

// Leaves the lock free and the ledger whole in a forked child.
Ledger::Ledger() {
  ::pthread_atfork([] { Get().mutex_.lock(); }, [] { Get().mutex_.unlock(); },
                   [] { Get().AfterForkInChild(); });
}

// Of the parent's threads only the one that forked lives on, under a new number. It registers anew
// when it next asks for its part, and not before: most children turn into another program, whose
// IO is not ours. Called with the lock held.
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
  internal::this_thread = nullptr;
  mutex_.unlock();
}

void Ledger::Rejoin(ThreadLedger* thread) {
  std::lock_guard lock(mutex_);
  if (thread->tid_ != 0) return;
  thread->tid_ = static_cast<int>(::syscall(SYS_gettid));
  if (kernel_ != nullptr) kernel_->Attach(thread, thread->tid_);
}

void Ledger::Configure(AccountDepth depth, KernelAccount* kernel) {
  std::lock_guard lock(mutex_);
  depth_.store(depth, std::memory_order_relaxed);
  if (kernel == kernel_) return;
  for (auto& thread : threads_) {
    if (kernel_ != nullptr && thread->tid_ != 0) kernel_->Detach(thread.get(), thread->tid_);
    thread->kernel = thread->private_slot_.get();
  }
  kernel_ = kernel;
  if (kernel_ == nullptr) return;
  for (auto& thread : threads_) {
    if (thread->tid_ != 0) kernel_->Attach(thread.get(), thread->tid_);
  }
  for (auto [file, kind] : files_) kernel_->RegisterFile(file.first, file.second, kind);
}

void Ledger::RegisterFile(uint64_t dev, uint64_t inode, FileKind kind) {
  std::lock_guard lock(mutex_);
  files_[{dev, inode}] = kind;
  if (kernel_ != nullptr) kernel_->RegisterFile(dev, inode, kind);
}

LedgerCounts Ledger::Counts() const {
  LedgerCounts counts;
  std::lock_guard lock(mutex_);
  for (const auto& thread : threads_) {
    for (size_t i = 0; i < kMaxOps; ++i) {
      const ThreadLedger::OpCounters& from = thread->ops[i];
      LedgerCounts::Op& to = counts.ops[i];
      to.operations += from.operations.Get();
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
  std::lock_guard lock(mutex_);
  ThreadLedger* thread;
  if (!idle_.empty()) {
    thread = idle_.back();
    idle_.pop_back();
  } else {
    threads_.push_back(std::make_unique<ThreadLedger>());
    thread = threads_.back().get();
  }
  thread->set_op(kUnscoped);
  thread->tid_ = static_cast<int>(::syscall(SYS_gettid));
  if (kernel_ != nullptr) kernel_->Attach(thread, thread->tid_);
  return thread;
}

void Ledger::Release(ThreadLedger* thread) {
  std::lock_guard lock(mutex_);
  thread->set_op(kUnscoped);
  if (kernel_ != nullptr) kernel_->Detach(thread, thread->tid_);
  thread->kernel = thread->private_slot_.get();
  thread->tid_ = 0;
  idle_.push_back(thread);
}

}  // namespace testbed

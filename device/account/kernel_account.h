// A KernelAccount counts block requests in the kernel, per thread, per kind of operation and per
// kind of file. It is the ledger's fourth level (device/account/ledger.h).
//
//   std::string why;
//   std::unique_ptr<KernelAccount> account = KernelAccount::Start(device, &why);
//   if (account == nullptr) ...  // *why says what this machine or user lacks
//   Ledger::Get().Configure(AccountDepth::kKernel, account.get());
//   ...
//   Ledger::Get().Configure(AccountDepth::kFile, nullptr);  // before the account is destroyed
//
// A small BPF program (device/account/account_program.h) runs at the block layer's tracepoints,
// filtered to one device. It finds the slot of the thread that submits a request, reads from the
// slot which operation is running, classes the request and counts it in the slot. The class comes
// from the sectors of the file system's journal, from the inode that owns the request's pages, or,
// for direct IO, from the call under way.
//
// The sum of all counts equals the device's own statistics because of what each tracepoint counts:
//   block_getrq       A request is made for a bio, after splitting: one request and its bytes.
//   block_bio_*merge  A bio joins a waiting request: its bytes only.
//   block_rq_merge    An IO scheduler merges two waiting requests: one request less. It is taken
//                     from the thread that merges them, which nearly always made one of them.
// Devices without a queue of requests (zram, device mapper, md) are counted by bio, at
// block_bio_queue. Their own statistics may count a split bio, or a bio that only zeroes,
// differently.
// Discards are left out, as they are neither reads nor writes. The program counts a request at its
// submission and the device at its completion, so the two may be compared only while the device is
// at rest (DeviceStats::in_flight is 0).
//
// A thread without a slot is counted by its name: "kworker", "jbd2", "xfsaild". It belongs to the
// kernel or to another process, or to a library and has never called the ledger. An empty flush by
// a kernel thread is of the file system's journal.
// When nobody called RegisterJournal (some systems do not let even root read the device), metadata
// that jbd2 writes is counted as journal all the same, and an xfs log as metadata.
//
// An account needs root (CAP_BPF and CAP_PERFMON) and the kernel's type information
// (/sys/kernel/btf/vmlinux). Reading a slot costs its thread two nanoseconds. A request costs the
// thread that submits it 0.2 microseconds (in a tight loop) to 0.4 (between other work;
// bench/ledger_bench measures it).
//
// The maps take about 12 MB in the kernel with slots for 512 threads, and 20.8 kB for each thread
// more. They are charged to the cgroup that the process is in at Start. A run with a memory budget
// starts its account before it enters its cgroup, or pays for the maps there.
//
// An account works in the process that started it and in its forked children. All of them count
// into the same slots, and AddCounts returns in each of them the counts of all.
#ifndef TESTBED_DEVICE_ACCOUNT_KERNEL_ACCOUNT_H_
#define TESTBED_DEVICE_ACCOUNT_KERNEL_ACCOUNT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/account/ledger.h"

namespace testbed {

class BlockDevice;

class KernelAccount {
 public:
  static constexpr size_t kDefaultThreads = 512, kMostThreads = 8192, kMostFiles = 65536;
  static constexpr size_t kMostNames = 1024;  // see LacksNames
  // Starts counting on `device`, and stops when the account is destroyed. At most `threads` threads
  // at a time have slots, and no more than kMostThreads. Returns null and sets *why to one sentence
  // when this machine or this user cannot count; `why` may be null.
  static std::unique_ptr<KernelAccount> Start(const BlockDevice& device, std::string* why,
                                              size_t threads = kDefaultThreads);
  virtual ~KernelAccount() = default;

  // Attach gives the thread a slot (thread->kernel), and Detach takes the slot back. A slot belongs
  // to one thread at a time, and its counts outlive the thread. When all slots are taken, further
  // threads get none and are counted by name. The ledger calls both methods, with its lock held.
  virtual void Attach(ThreadLedger* thread, int tid) = 0;
  virtual void Detach(ThreadLedger* thread, int tid) = 0;
  // Returns how many threads got no slot since Start, in this process and its children. Threads of
  // other processes for which there was no room beside the slot of their client (Serve) are among
  // them.
  virtual uint64_t Refused() const { return 0; }

  // Counts thread `tid` of another process in the slot of `client`, until Unserve. The call has no
  // effect while the client has no slot. The ledger calls Serve and Unserve with its lock held.
  virtual void Serve(const ThreadLedger& client, int tid) {}
  virtual void Unserve(int tid) {}

  // Declares which kind of file an inode holds, so that its requests are classed whichever thread
  // writes them back. `dev` is the st_dev of the file. The account holds kMostFiles files; requests
  // to a further one are counted as kOtherFile. ForgetFile declares that the inode holds none of
  // these files any more.
  virtual void RegisterFile(uint64_t dev, uint64_t inode, FileKind kind) = 0;
  virtual void ForgetFile(uint64_t dev, uint64_t inode) {}
  // Returns whether a file found no room since Start, in this process or a child.
  virtual bool LacksFiles() const { return false; }
  // Returns whether requests of threads without a slot were counted together since Start, because
  // the account holds kMostNames pairs of a thread's name and a kind of file, and found no room for
  // a further one. What these requests are for, and whether they are the run's, is then not known.
  virtual bool LacksNames() const { return false; }
  // Declares that the file system's journal has these sectors, in units of 512 bytes from the start
  // of the disk. Returns false when the account holds no further range (kMaxJournalRanges);
  // requests to the range are then counted as metadata.
  virtual bool RegisterJournal(uint64_t first_sector, uint64_t sectors) = 0;

  // Adds to `*counts` everything that was counted since Start.
  virtual void AddCounts(LedgerCounts* counts) const = 0;

  // A Program says what one of the BPF programs cost. `missed` events were not counted, because the
  // kernel does not let a program interrupt itself; each is a difference to the device's
  // statistics. The kernel measures `runs` and `nanoseconds` only while the sysctl
  // kernel.bpf_stats_enabled is 1.
  struct Program {
    std::string tracepoint;
    uint64_t runs = 0, nanoseconds = 0, missed = 0;
  };
  virtual std::vector<Program> Programs() const { return {}; }
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_KERNEL_ACCOUNT_H_

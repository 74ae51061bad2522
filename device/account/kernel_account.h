// Block requests counted in the kernel, per thread, per operation kind and per kind of file: the
// ledger's fourth level.
//
// A small BPF program (device/account/account_program.h) sits on the block layer's tracepoints, filtered to
// one device. It finds the slot of the thread that submits a request, reads from it which operation
// is running, classes the request (by the sector range of the file system's journal, the inode its
// pages belong to, the call under way for direct IO) and counts it there.
//
// What is counted when, so that the sum is the device's own statistics exactly:
//   block_getrq          a request is made for a bio, after splitting: one request and its bytes
//   block_bio_*merge     a bio joins a request that waits: bytes only
//   block_rq_merge       two waiting requests become one (IO schedulers): one request less, taken
//   from the
//                        thread that merged them (nearly always the one that made it)
// Devices without a queue of requests (zram, device mapper, md) are counted by bio, at
// block_bio_queue; of those the device's own statistics may count a split bio, or one that only
// zeroes, differently.
// Discards are left out: they are neither reads nor writes. Counts are taken at submission, the
// device's at completion: compare when the device is at rest (BlockDevice::Quiesce).
//
// Threads without a slot, the kernel's own and those of other processes, are counted by name:
// "kworker", "jbd2", "xfsaild". An empty flush that one of the kernel's own sends belongs to the
// file system's journal. Where the journal's place is not known (RegisterJournal was not called:
// some systems do not let even root read the device), what jbd2 writes of metadata is its journal
// all the same; an xfs log is then counted as metadata.
//
// Needs root (CAP_BPF and CAP_PERFMON) and the kernel's type information (/sys/kernel/btf/vmlinux).
// Reading a slot costs the thread two nanoseconds; a request costs the thread that submits it
// 0.2 (a tight loop) to 0.4 microseconds (between other work; bench/ledger_bench measures it).
//
// Memory: about 6 MB in the kernel, charged to the cgroup of the process at the time of Start. A
// run with a memory budget must start its account before it enters its cgroup, or pay for it there.
//
// Fork: an account works in the process that started it and in its forked children; all of them
// count into the same slots, and AddCounts in any of them sees the counts of all.
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
  // Starts counting on `device`. Returns null and says in one sentence why when this machine or
  // this user cannot (*why may be null).
  static std::unique_ptr<KernelAccount> Start(const BlockDevice& device, std::string* why);
  virtual ~KernelAccount() = default;

  // Gives the thread a slot (thread->kernel); one slot belongs to one thread at a time, and its
  // counts outlive the thread. Beyond kMaxThreads live threads, further ones get none and are
  // counted by name. Called by the ledger.
  static constexpr size_t kMaxThreads = 512;
  virtual void Attach(ThreadLedger* thread, int tid) = 0;
  virtual void Detach(ThreadLedger* thread, int tid) = 0;

  // Tells which kind of file an inode holds, so that writeback by other threads is classed. `dev`
  // is the st_dev of the file.
  virtual void RegisterFile(uint64_t dev, uint64_t inode, FileKind kind) = 0;
  // Sector range (512-byte units, from the start of the disk) of the file system's journal on this
  // device. Returns false when there are too many ranges; the journal is then classed in part.
  virtual bool RegisterJournal(uint64_t first_sector, uint64_t sectors) = 0;

  // Adds everything counted since Start.
  virtual void AddCounts(LedgerCounts* counts) const = 0;

  // What the programs themselves cost. `missed` events were not counted, because the kernel does
  // not let a program interrupt itself; anything but 0 is a difference to the device. Time is
  // measured only while the sysctl kernel.bpf_stats_enabled is 1.
  struct Program {
    std::string tracepoint;
    uint64_t runs = 0, nanoseconds = 0, missed = 0;
  };
  virtual std::vector<Program> Programs() const { return {}; }
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_KERNEL_ACCOUNT_H_

// Counts of the ledger as values: calls and bytes at the file level, requests and bytes at the block
// level, by operation and by kind of file (device/account/ledger.h).
#ifndef TESTBED_DEVICE_ACCOUNT_COUNTS_H_
#define TESTBED_DEVICE_ACCOUNT_COUNTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/account/operations.h"

namespace testbed {

// A counter with one writer and any number of readers: no locked instruction, no torn value.
class Counter {
 public:
  void Add(uint64_t n) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  uint64_t Get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// Calls and bytes at the file level. `writes` and `syncs` are calls that reached the file.
struct FileCounts {
  uint64_t reads = 0, read_bytes = 0, writes = 0, write_bytes = 0, syncs = 0;
  FileCounts& operator+=(const FileCounts& o);
  FileCounts& operator-=(const FileCounts& o);
};

// Requests and bytes at the block layer. A flush is an empty write: counted in `writes` too, as the
// device's statistics do. `readahead` is the share of `reads` that came through the kernel's
// readahead; a plain buffered read does too, if read_ahead_kb is not 0.
struct BlockCounts {
  uint64_t reads = 0, read_bytes = 0, writes = 0, write_bytes = 0, flushes = 0, readahead = 0;
  BlockCounts& operator+=(const BlockCounts& o);
  BlockCounts& operator-=(const BlockCounts& o);
  friend bool operator==(const BlockCounts&, const BlockCounts&) = default;
};

// Per-operation distribution: bucket i < 15 holds operations that caused exactly i reads (or
// writes); the last holds those with 15 and more.
inline constexpr size_t kBlockBuckets = 16;
using BlockHistogram = std::array<uint64_t, kBlockBuckets>;
constexpr size_t BlockBucket(uint64_t n) { return n < kBlockBuckets ? n : kBlockBuckets - 1; }

// The merged counts of all threads, a value that can be subtracted.
struct LedgerCounts {
  struct Op {
    uint64_t operations = 0;                       // scopes ended
    BlockHistogram file_reads{}, kernel_reads{};   // blocks per operation
    std::array<FileCounts, kFileKinds> file{};     // by kind of file
    std::array<BlockCounts, kFileKinds> kernel{};  // by kind of file
    FileCounts FileTotal() const;
    BlockCounts KernelTotal() const;
  };
  std::array<Op, kMaxOps> ops{};

  // Block IO of threads that never called the ledger: the kernel's own, and foreign processes'.
  struct Foreign {
    std::string thread;  // the thread's name: "kworker", "jbd2", "xfsaild", "sshd"
    FileKind kind = FileKind::kOtherFile;
    BlockCounts counts;
  };
  std::vector<Foreign> foreign;

  BlockCounts KernelTotal() const;  // all threads, all operations, foreign included
  LedgerCounts& operator-=(const LedgerCounts& before);
  friend LedgerCounts operator-(LedgerCounts after, const LedgerCounts& before) {
    return after -= before;
  }
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_COUNTS_H_

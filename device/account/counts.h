// This header has the ledger's counts as values (device/account/ledger.h): calls and bytes at the
// file level, requests and bytes at the block level, by operation and by kind of file, and what
// went over the wire.
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

// A Counter is written by one thread and read by any thread. Add() needs no locked instruction, and
// Get() never returns a torn value.
class Counter {
 public:
  void Add(uint64_t n) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  uint64_t Get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// FileCounts are the calls and bytes at the file level. A call that did not reach the file, as one
// that was refused before, is in none of them.
struct FileCounts {
  uint64_t reads = 0, read_bytes = 0, writes = 0, write_bytes = 0, syncs = 0;
  FileCounts& operator+=(const FileCounts& o);
  FileCounts& operator-=(const FileCounts& o);
};

// BlockCounts are the requests and bytes at the block layer. A flush is an empty write and is
// counted in `writes` too, as in the device's statistics. `readahead` counts the reads that the
// kernel's readahead issued, plain buffered reads included unless read_ahead_kb is 0. Numbers of
// requests are below 0, as int64_t, where a thread joined more waiting requests than it made
// (device/account/kernel_account.h).
struct BlockCounts {
  uint64_t reads = 0, read_bytes = 0, writes = 0, write_bytes = 0, flushes = 0, readahead = 0;
  BlockCounts& operator+=(const BlockCounts& o);
  BlockCounts& operator-=(const BlockCounts& o);
  friend bool operator==(const BlockCounts&, const BlockCounts&) = default;
};

// WireCounts are what the client of a database server exchanged with the server
// (device/account/wire.h). `round_trips` is how often the client received something after it had
// sent something.
struct WireCounts {
  uint64_t round_trips = 0, sent_bytes = 0, received_bytes = 0;
  WireCounts& operator+=(const WireCounts& o);
  WireCounts& operator-=(const WireCounts& o);
  friend bool operator==(const WireCounts&, const WireCounts&) = default;
};

// A BlockHistogram is the distribution of reads per operation. Bucket i < 15 counts the operations
// that caused exactly i reads; the last bucket counts those that caused 15 or more. Bucket 0 also
// counts those that caused -1 read: their thread joined two waiting requests, which others had made
// (device/account/kernel_account.h).
inline constexpr size_t kBlockBuckets = 16;
using BlockHistogram = std::array<uint64_t, kBlockBuckets>;
// Returns the bucket for the difference of two counts of reads.
constexpr size_t BlockBucket(uint64_t reads) {
  if (static_cast<int64_t>(reads) < 0) return 0;
  return reads < kBlockBuckets ? reads : kBlockBuckets - 1;
}

// LedgerCounts are the merged counts of all threads. The difference of two values is the cost of
// what happened between them.
struct LedgerCounts {
  struct Op {
    uint64_t operations = 0;                       // number of scopes and tasks that ended
    BlockHistogram file_reads{}, kernel_reads{};   // see BlockHistogram
    std::array<FileCounts, kFileKinds> file{};     // indexed by FileKind
    std::array<BlockCounts, kFileKinds> kernel{};  // indexed by FileKind
    WireCounts wire;                               // 0 where CountsWire() is false
    FileCounts FileTotal() const;
    BlockCounts KernelTotal() const;
  };
  std::array<Op, kMaxOps> ops{};

  // A Foreign holds the block IO of threads that have no slot of the ledger: the kernel's own
  // threads, those of other processes, and those that a library started and that never called the
  // ledger.
  struct Foreign {
    std::string thread;  // thread name without its number: "kworker", "jbd2", "xfsaild", "sshd"
    FileKind kind = FileKind::kOtherFile;
    BlockCounts counts;
  };
  std::vector<Foreign> foreign;

  BlockCounts KernelTotal() const;  // all threads, foreign ones too, and all operations
  // Returns the requests of other programs: of foreign threads, for files that are not the
  // database's.
  BlockCounts OtherPrograms() const;
  LedgerCounts& operator-=(const LedgerCounts& before);
  friend LedgerCounts operator-(LedgerCounts after, const LedgerCounts& before) {
    return after -= before;
  }
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_COUNTS_H_

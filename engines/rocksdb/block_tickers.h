// Counts the blocks that each thread asks RocksDB's block cache for, by RocksDB's own tickers.
//
// RocksDB's perf context holds the same counts, but its cheapest level also counts every key
// comparison and cost a cached point read 5 to 6 % where this costs less than 1 % (RocksDB 7.8, a
// million rows): a Get adds up its tickers and reports them once, at its end. So perf contexts are
// off on the threads of sessions, as in db_bench.
#ifndef TESTBED_ENGINES_ROCKSDB_BLOCK_TICKERS_H_
#define TESTBED_ENGINES_ROCKSDB_BLOCK_TICKERS_H_

#include <rocksdb/perf_level.h>
#include <rocksdb/statistics.h>

#include <cstdint>

namespace testbed {

// A miss is a block read from its file: in mmap mode every block that is not compressed.
struct ThreadBlocks {
  uint64_t hits = 0;
  uint64_t misses = 0;
  bool attached = false;  // the thread's perf context is off
};
inline constinit thread_local ThreadBlocks thread_blocks;

// The calling thread's counts, for all databases of the process.
inline ThreadBlocks& BlocksOfThisThread() {
  ThreadBlocks& blocks = thread_blocks;
  if (!blocks.attached) [[unlikely]] {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
    blocks.attached = true;
  }
  return blocks;
}

class BlockTickers : public rocksdb::Statistics {
 public:
  BlockTickers() { set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers); }

  static const char* kClassName() { return "TestbedBlockTickers"; }
  const char* Name() const override { return kClassName(); }

  void recordTick(uint32_t ticker, uint64_t count) override {
    if (ticker == rocksdb::BLOCK_CACHE_HIT) thread_blocks.hits += count;
    if (ticker == rocksdb::BLOCK_CACHE_MISS) thread_blocks.misses += count;
  }
  // Nothing is kept but what ThreadBlocks holds.
  uint64_t getTickerCount(uint32_t) const override { return 0; }
  void setTickerCount(uint32_t, uint64_t) override {}
  uint64_t getAndResetTickerCount(uint32_t) override { return 0; }
  void histogramData(uint32_t, rocksdb::HistogramData*) const override {}
  void recordInHistogram(uint32_t, uint64_t) override {}
  bool HistEnabledForType(uint32_t) const override { return false; }
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_BLOCK_TICKERS_H_

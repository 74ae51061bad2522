// BlockTickers counts the blocks that each thread asks RocksDB's block cache for. It receives
// RocksDB's tickers as the rocksdb::Statistics of the database.
//
//   db_options.statistics = std::make_shared<BlockTickers>();
//   const uint64_t misses = BlocksOfThisThread().misses;
//
// RocksDB's perf context has the same counts, but even its cheapest level counts every key
// comparison, which made a cached point read 5 to 6 % slower; tickers cost less than 1 %, because a
// Get adds them up and reports them once, at its end (RocksDB 7.8, a million rows). Therefore perf
// contexts are off on the threads of sessions, as in db_bench.
#ifndef TESTBED_ENGINES_ROCKSDB_BLOCK_TICKERS_H_
#define TESTBED_ENGINES_ROCKSDB_BLOCK_TICKERS_H_

#include <rocksdb/perf_level.h>

#include <cstdint>

#include "engines/rocksdb/versions.h"

namespace testbed {

// ThreadBlocks holds the counts of one thread. A miss is a block read from its file. In mmap mode
// every uncompressed block is a miss, since RocksDB does not cache it.
struct ThreadBlocks {
  uint64_t hits = 0;
  uint64_t misses = 0;
  bool attached = false;  // the thread's perf context is off
};
inline constinit thread_local ThreadBlocks thread_blocks;

// Returns the counts of the calling thread, summed over all databases of the process.
inline ThreadBlocks& BlocksOfThisThread() {
  ThreadBlocks& blocks = thread_blocks;
  if (!blocks.attached) [[unlikely]] {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
    blocks.attached = true;
  }
  return blocks;
}

class BlockTickers : public RocksdbStatistics {
 public:
  BlockTickers() { set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers); }

  static const char* kClassName() { return "TestbedBlockTickers"; }
  const char* Name() const override { return kClassName(); }

  void recordTick(uint32_t ticker, uint64_t count) override {
    if (ticker == rocksdb::BLOCK_CACHE_HIT) thread_blocks.hits += count;
    if (ticker == rocksdb::BLOCK_CACHE_MISS) thread_blocks.misses += count;
  }
  // The other functions of the interface do nothing, as only the two tickers are counted.
  uint64_t getTickerCount(uint32_t) const override { return 0; }
  void setTickerCount(uint32_t, uint64_t) override {}
  uint64_t getAndResetTickerCount(uint32_t) override { return 0; }
  void histogramData(uint32_t, rocksdb::HistogramData*) const override {}
  void recordInHistogram(uint32_t, uint64_t) override {}
  bool HistEnabledForType(uint32_t) const override { return false; }
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_BLOCK_TICKERS_H_

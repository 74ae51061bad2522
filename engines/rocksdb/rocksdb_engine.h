// RocksDB under testbed: tables share a column family or have one each (tables.h), files go through
// device/ (file_system.h), sessions are write batches (session.h).
//
// Memory: cache_bytes is the block cache, and index and filter blocks are within it: as blocks of
// the cache, or as memory of table readers that RocksDB reserves in the cache, so that rows' blocks
// get what is left. Write buffers (memtables) are beside it, sized as a share of ram_bytes;
// EffectiveSettings and Counters state all three. In mmap mode RocksDB reads uncompressed blocks in
// place and keeps none of them in its cache.
//
// Durability: sync writes the log and waits for it (WriteOptions::sync); lazy writes the log at
// each commit and a thread makes it durable within the interval; none keeps no log: what is not in
// a table yet is lost in a crash, and a clean close writes it out.
//
// Counters of blocks hold what sessions asked for, by RocksDB's tickers on their threads
// (block_tickers.h); what flush and compaction read and wrote is listed by name. RocksDB tells
// blocks read, not their bytes: those are at the file level.
#ifndef TESTBED_ENGINES_ROCKSDB_ROCKSDB_ENGINE_H_
#define TESTBED_ENGINES_ROCKSDB_ROCKSDB_ENGINE_H_

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engines/engine.h"
#include "engines/lazy_sync.h"
#include "engines/registry.h"
#include "engines/rocksdb/file_system.h"
#include "engines/rocksdb/listener.h"
#include "engines/rocksdb/options.h"
#include "engines/rocksdb/session.h"
#include "engines/rocksdb/tables.h"

namespace testbed {

EngineInfo RocksdbEngineInfo();

class RocksdbEngine : public Engine {
 public:
  RocksdbEngine(const std::string& dir, const EngineOptions& options);
  ~RocksdbEngine() override;

  std::string name() const override { return "rocksdb"; }
  TableId OpenTable(const std::string& table) override;
  std::unique_ptr<Session> NewSession() override;
  void Flush() override;
  void Checkpoint() override;
  void Settle() override;
  bool ResizeCache(uint64_t bytes) override;
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override;
  EngineCounters Counters() const override;
  DiskSize SizeOnDisk() const override;

  rocksdb::DB* db() const { return db_.get(); }
  const RocksdbOptions& options() const { return options_; }
  std::vector<RocksdbTable> tables() const { return tables_->opened(); }  // by TableId
  // Takes back what NewSession gave to a session.
  void Retire(SessionCounts* counts);
  // Throws when the lazy sync failed: commits after it would promise what does not hold.
  void CheckLazySync() const {
    if (lazy_failed_.load(std::memory_order_relaxed)) [[unlikely]]
      ThrowLazyFailure();
  }

 private:
  void Open();
  void SyncLazily();
  [[noreturn]] void ThrowLazyFailure() const;
  void FlushMemtables();
  void WaitForCompactions();

  const std::string dir_;
  const EngineOptions requested_;
  RocksdbOptions options_;
  std::shared_ptr<RocksdbFileSystem> file_system_;
  std::shared_ptr<BackgroundListener> listener_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::DB> db_;
  std::unique_ptr<RocksdbTables> tables_;

  mutable std::mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<SessionCounts>> sessions_;
  SessionCounts retired_;

  mutable std::mutex lazy_mutex_;  // of lazy_error_
  std::string lazy_error_;
  std::atomic<bool> lazy_failed_{false};
  std::unique_ptr<LazySync> lazy_;  // last: it uses the others
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_ROCKSDB_ENGINE_H_

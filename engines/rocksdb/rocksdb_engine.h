// RocksdbEngine implements Engine with RocksDB. Tables share a column family or have one each
// (tables.h), files go through the file layer of device/ (file_system.h), and sessions are write
// batches (session.h).
//
// Memory: cache_bytes is the size of the block cache. Index and filter blocks are included in it,
// either as blocks of the cache or as memory of table readers that RocksDB reserves in the cache;
// data blocks get the rest. Memtables are in addition to the cache, sized as a share of ram_bytes.
// EffectiveSettings and Counters state all three. In mmap mode RocksDB reads uncompressed blocks in
// place and keeps none of them in its cache.
//
// Durability: with sync, a commit writes the log and syncs it (WriteOptions::sync). With lazy, a
// commit writes the log and a thread syncs it within the interval. With none, RocksDB keeps no log:
// a crash loses the rows that are still in memtables, a clean close writes these out.
//
// The block counters are those of the sessions' threads, from RocksDB's tickers (block_tickers.h).
// The work of flush and compaction is listed under names of its own (EngineCounters::more). RocksDB
// counts the blocks that it reads, not their bytes; the file layer counts the bytes.
#ifndef TESTBED_ENGINES_ROCKSDB_ROCKSDB_ENGINE_H_
#define TESTBED_ENGINES_ROCKSDB_ROCKSDB_ENGINE_H_

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/os/dir_lock.h"
#include "device/os/mutex.h"
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
  const RocksdbTables& tables() const { return *tables_; }
  // A session's destructor calls it. Adds `counts` to the total of the closed sessions and frees
  // them.
  void Retire(SessionCounts* counts);
  // Throws Error (kIo) when a lazy sync has failed, since no later commit could become durable.
  void CheckLazySync() const {
    if (lazy_failed_.load(std::memory_order_relaxed)) [[unlikely]]
      ThrowLazyFailure();
  }

 private:
  void Open();
  // Throws Error (kUsage) for options that RocksDB has replaced. If the database had not `existed`,
  // it first removes what this opening has made: all names that are not in `before`.
  void CheckReplaced(bool existed, const std::vector<std::string>& before);
  void SyncLazily();
  [[noreturn]] void ThrowLazyFailure() const;
  void FlushMemtables();
  // Returns the sum of integer properties over all column families.
  uint64_t SumOf(const std::vector<std::string>& properties);
  void WaitForCompactions();

  const std::string dir_;
  const EngineOptions requested_;
  RocksdbOptions options_;
  DirLock lock_;
  std::shared_ptr<RocksdbFileSystem> file_system_;
  std::shared_ptr<BackgroundListener> listener_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<rocksdb::DB> db_;
  std::unique_ptr<RocksdbTables> tables_;

  mutable Mutex mutex_;  // protects sessions_ and retired_
  std::vector<std::unique_ptr<SessionCounts>> sessions_ GUARDED_BY(mutex_);
  SessionCounts retired_ GUARDED_BY(mutex_);  // total of the sessions that were closed

  mutable Mutex lazy_mutex_;  // protects lazy_error_
  std::string lazy_error_ GUARDED_BY(lazy_mutex_);
  std::atomic<bool> lazy_failed_{false};
  std::unique_ptr<LazySync> lazy_;  // declared last: its thread uses the other members
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_ROCKSDB_ENGINE_H_

// BackgroundListener watches RocksDB's background work. It charges the IO of RocksDB's background
// threads to flush or compaction and counts the work that they do. Thread-safe: RocksDB calls the
// functions on its own threads.
#ifndef TESTBED_ENGINES_ROCKSDB_LISTENER_H_
#define TESTBED_ENGINES_ROCKSDB_LISTENER_H_

#include <rocksdb/listener.h>

#include <atomic>
#include <cstdint>

#include "device/os/mutex.h"
#include "engines/rocksdb/versions.h"

namespace testbed {

class BackgroundListener : public RocksdbListener {
 public:
  struct Totals {
    std::atomic<uint64_t> flushes{0}, flush_bytes{0};
    std::atomic<uint64_t> compactions{0}, compaction_read_bytes{0}, compaction_write_bytes{0};
    // These count the tables that were written by flushes, by compactions and by the recovery at
    // the open.
    std::atomic<uint64_t> data_blocks{0}, table_bytes{0};
    std::atomic<uint64_t> write_stalls{0};  // number of times that writers were slowed or stopped
  };
  const Totals& totals() const { return totals_; }

  // Returns the first error of background work; OK when there was none.
  rocksdb::Status background_error() const;

  const char* Name() const override { return "testbed"; }
  void OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo&) override;
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo&) override;
  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override;
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override;
  void OnSubcompactionBegin(const RocksdbSubcompaction&) override;
  void OnTableFileCreated(const rocksdb::TableFileCreationInfo&) override;
  void OnStallConditionsChanged(const rocksdb::WriteStallInfo&) override;
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status*) override;

 private:
  Totals totals_;
  mutable Mutex mutex_;  // protects background_error_
  rocksdb::Status background_error_ GUARDED_BY(mutex_);
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_LISTENER_H_

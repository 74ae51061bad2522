// Watches RocksDB's background work: charges what a background thread does to flush or compaction,
// and keeps totals of what they read and wrote.
#ifndef TESTBED_ENGINES_ROCKSDB_LISTENER_H_
#define TESTBED_ENGINES_ROCKSDB_LISTENER_H_

#include <rocksdb/listener.h>

#include <atomic>
#include <cstdint>
#include <mutex>

namespace testbed {

class BackgroundListener : public rocksdb::EventListener {
 public:
  struct Totals {
    std::atomic<uint64_t> flushes{0}, flush_bytes{0};
    std::atomic<uint64_t> compactions{0}, compaction_read_bytes{0}, compaction_write_bytes{0};
    std::atomic<uint64_t> data_blocks{0}, table_bytes{0};  // of tables written, whoever wrote them
    std::atomic<uint64_t> write_stalls{0};                 // times that writers were slowed or held
  };
  const Totals& totals() const { return totals_; }

  // The first error that stopped background work; OK while there was none.
  rocksdb::Status background_error() const;

  const char* Name() const override { return "testbed"; }
  void OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo&) override;
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo&) override;
  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override;
  void OnCompactionCompleted(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override;
  void OnSubcompactionBegin(const rocksdb::SubcompactionJobInfo&) override;
  void OnTableFileCreated(const rocksdb::TableFileCreationInfo&) override;
  void OnStallConditionsChanged(const rocksdb::WriteStallInfo&) override;
  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status*) override;

 private:
  Totals totals_;
  mutable std::mutex mutex_;
  rocksdb::Status background_error_;
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_LISTENER_H_

#include "engines/rocksdb/listener.h"

#include "device/account/ledger.h"
#include "device/os/mutex.h"

namespace testbed {
namespace {

void Add(std::atomic<uint64_t>* counter, uint64_t n) {
  counter->fetch_add(n, std::memory_order_relaxed);
}

}  // namespace

// RocksDB calls the Begin functions on the thread that does the job. The thread's kind of operation
// stays set after the job: the thread then deletes the files that the job made obsolete, and it
// does nothing but such jobs.
void BackgroundListener::OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo&) {
  Ledger::ThisThread().set_op(kFlush);
}

void BackgroundListener::OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) {
  Ledger::ThisThread().set_op(kCompaction);
}

void BackgroundListener::OnSubcompactionBegin(const RocksdbSubcompaction&) {
  Ledger::ThisThread().set_op(kCompaction);
}

void BackgroundListener::OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo& info) {
  Add(&totals_.flushes, 1);
  const rocksdb::TableProperties& table = info.table_properties;
  Add(&totals_.flush_bytes, table.data_size + table.index_size + table.filter_size);
}

void BackgroundListener::OnCompactionCompleted(rocksdb::DB*,
                                               const rocksdb::CompactionJobInfo& info) {
  Add(&totals_.compactions, 1);
  Add(&totals_.compaction_read_bytes, info.stats.total_input_bytes);
  Add(&totals_.compaction_write_bytes, info.stats.total_output_bytes);
}

void BackgroundListener::OnTableFileCreated(const rocksdb::TableFileCreationInfo& info) {
  if (!info.status.ok()) return;
  Add(&totals_.data_blocks, info.table_properties.num_data_blocks);
  Add(&totals_.table_bytes, info.file_size);
}

void BackgroundListener::OnStallConditionsChanged(const rocksdb::WriteStallInfo& info) {
  if (info.condition.cur != rocksdb::WriteStallCondition::kNormal) Add(&totals_.write_stalls, 1);
}

void BackgroundListener::OnBackgroundError(rocksdb::BackgroundErrorReason,
                                           rocksdb::Status* status) {
  LockGuard lock(mutex_);
  if (background_error_.ok()) background_error_ = *status;
}

rocksdb::Status BackgroundListener::background_error() const {
  LockGuard lock(mutex_);
  return background_error_;
}

}  // namespace testbed

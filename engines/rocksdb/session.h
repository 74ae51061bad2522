// Sessions and cursors of the rocksdb engine.
//
// Isolation: a transaction is a WriteBatch, so it commits as a whole or not at all; reads see what
// is committed when they run, and within a transaction its own writes on top. There are no locks
// and no conflict checks: of two transactions that write one key the later commit stands. A cursor
// walks the state of its last Seek, SeekForPrev, First or Last, and its transaction's writes.
#ifndef TESTBED_ENGINES_ROCKSDB_SESSION_H_
#define TESTBED_ENGINES_ROCKSDB_SESSION_H_

#include <rocksdb/db.h>
#include <rocksdb/utilities/write_batch_with_index.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/account/ledger.h"
#include "engines/engine.h"
#include "engines/rocksdb/tables.h"

namespace testbed {

class RocksdbEngine;
class RocksdbCursor;

// What one session counted, written by its thread alone. The engine owns it and adds all up.
struct SessionCounts {
  Counter block_hits, block_reads;
  Counter log_payload_bytes;
};

class RocksdbSession : public Session {
 public:
  // `counts` and `engine` must outlive the session.
  RocksdbSession(RocksdbEngine* engine, SessionCounts* counts);
  ~RocksdbSession() override;

  void Begin() override;
  void Commit() override;
  void Rollback() override;
  void MultiGet(TableId table, std::span<const std::string_view> keys,
                std::vector<FoundRow>* rows) override;
  bool Get(TableId table, std::string_view key, std::string_view* value) override;
  void Put(TableId table, std::string_view key, std::string_view value) override;
  void Erase(TableId table, std::string_view key) override;
  std::unique_ptr<Cursor> NewCursor(TableId table) override;
  bool BlockCounts(uint64_t* requests, uint64_t* misses) override;

 private:
  friend class RocksdbCursor;

  const RocksdbTable& Table(TableId table) {
    if (table >= tables_.size()) [[unlikely]]
      LearnTables(table);
    return tables_[table];
  }
  // The key as the table's column family has it; valid until the next call.
  rocksdb::Slice KeyIn(const RocksdbTable& table, std::string_view key);
  void LearnTables(TableId wanted);
  void Write(rocksdb::WriteBatch* batch);
  // The open transaction has writes that reads must see.
  bool HasOwnWrites() const;
  // From here on the transaction's writes go to the index, where reads find them. Until a
  // transaction reads, its writes need no index and cost no more than a batch.
  void IndexOwnWrites();
  rocksdb::WriteBatchBase* Pending();
  void EndTransaction();

  RocksdbEngine* const engine_;
  rocksdb::DB* const db_;
  const rocksdb::WriteOptions write_options_;
  const rocksdb::ReadOptions read_options_;
  SessionCounts* const counts_;
  std::vector<RocksdbTable> tables_;  // by TableId
  std::string key_;                   // of the last KeyIn
  rocksdb::PinnableSlice value_;
  std::string multi_bytes_;  // of the last MultiGet, as the three below
  std::vector<rocksdb::Slice> multi_keys_;
  std::vector<rocksdb::PinnableSlice> multi_values_;
  std::vector<rocksdb::Status> multi_statuses_;
  bool in_transaction_ = false;
  bool indexed_ = false;
  rocksdb::WriteBatch batch_;
  rocksdb::WriteBatchWithIndex index_;
  std::vector<RocksdbCursor*> cursors_;  // alive
};

class RocksdbCursor : public Cursor {
 public:
  RocksdbCursor(RocksdbSession* session, TableId table);
  ~RocksdbCursor() override;

  bool Seek(std::string_view key) override;
  bool SeekForPrev(std::string_view key) override;
  bool First() override;
  bool Last() override;
  bool Next() override;
  bool Prev() override;
  std::string_view key() const override;
  std::string_view value() const override;

  // Called before the transaction's writes change: remembers the position and lets the iterator go,
  // which must not outlive what it walks. ParkOwn does so only where it walks uncommitted writes.
  void Park();
  void ParkOwn() {
    if (over_own_writes_) Park();
  }

 private:
  void Renew();  // makes the iterator show the present state
  // Whether it stands on a row of the table; throws when it stopped for an error.
  bool OnRow();

  RocksdbSession* const session_;
  const RocksdbTable table_;
  const rocksdb::Slice begin_, end_;  // the bounds of the table, where its keys have a prefix
  rocksdb::ReadOptions read_options_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
  rocksdb::SequenceNumber sequence_ = 0;  // the state that iterator_ shows
  bool over_own_writes_ = false;          // iterator_ includes the transaction's writes
  bool parked_ = false;
  bool on_row_ = false;  // stands on a row or, when parked, stood on the one with parked_key_
  std::string parked_key_;
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_SESSION_H_

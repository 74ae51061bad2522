// This header has the sessions and cursors of the rocksdb engine.
//
// A transaction is a WriteBatch, so that it commits as a whole or not at all. A read sees the rows
// that are committed when it runs and the writes of its own transaction. Transactions take no locks
// and detect no conflicts: when two of them write a key, the later commit wins. A cursor walks the
// rows that were committed at its last Seek, SeekForPrev, First or Last, and its transaction's
// writes.
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
#include "engines/key_copies.h"
#include "engines/open_tables.h"
#include "engines/rocksdb/tables.h"

namespace testbed {

class RocksdbEngine;
class RocksdbCursor;

// SessionCounts holds the counts of one session. Only the session's thread writes them. The engine
// owns them and adds up the counts of all sessions.
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
  void TakeEach(TableId table, std::span<const std::string_view> keys,
                const TakeRow& take) override;
  bool Get(TableId table, std::string_view key, std::string_view* value) override;
  void Put(TableId table, std::string_view key, std::string_view value) override;
  void Erase(TableId table, std::string_view key) override;
  std::unique_ptr<Cursor> NewCursor(TableId table) override;
  bool BlockCounts(uint64_t* requests, uint64_t* misses) override;

 private:
  friend class RocksdbCursor;

  // Returns the table of a write. If there is no memory for the list of tables, the write counts as
  // failed.
  const RocksdbTable& TableToWrite(TableId table);
  // Returns a copy of the key with the table's prefix, as the column family holds it. Valid until
  // the next call.
  rocksdb::Slice KeyIn(const RocksdbTable& table, std::string_view key);
  // Commits the batch. Throws Error when RocksDB fails or an earlier lazy sync has failed.
  void Write(rocksdb::WriteBatch* batch);
  // Returns whether the open transaction has writes, which reads must see.
  bool HasOwnWrites() const;
  // Moves the transaction's writes from batch_ to index_, where reads find them and where later
  // writes go. A transaction that does not read after its writes never pays for an index.
  void IndexOwnWrites();
  // Returns the batch to which the transaction's next write goes.
  rocksdb::WriteBatchBase* Pending();
  // Writes a row in the open transaction: calls `add` with the key, as KeyIn returns it, and the
  // value. Throws Error (kRun) when a write of the transaction has failed before.
  template <typename AddWrite>
  void WriteInTransaction(const RocksdbTable& table, std::string_view key, std::string_view value,
                          const AddWrite& add, const char* what);
  void EndTransaction();

  RocksdbEngine* const engine_;
  rocksdb::DB* const db_;
  const rocksdb::WriteOptions write_options_;
  const rocksdb::ReadOptions read_options_;
  SessionCounts* const counts_;
  LearnedTables<RocksdbTables, RocksdbTable> tables_;
  std::string key_;               // result of the last KeyIn
  rocksdb::PinnableSlice value_;  // result of the last Get
  // These are copies of the key and the value of a write, which may be bytes that a cursor has
  // returned.
  std::string key_copy_, value_copy_;
  // These are the keys, results and statuses of the last MultiGet.
  KeyCopies<rocksdb::Slice> multi_keys_;
  std::vector<rocksdb::PinnableSlice> multi_values_;
  std::vector<rocksdb::Status> multi_statuses_;
  bool in_transaction_ = false;
  bool failed_ = false;   // a write of the transaction has failed
  bool indexed_ = false;  // the transaction's writes are in index_, not in batch_
  rocksdb::WriteBatch batch_;
  rocksdb::WriteBatchWithIndex index_;
  std::vector<RocksdbCursor*> cursors_;  // all open cursors of the session
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

  // Remembers the cursor's position and destroys its iterator. The session calls Park before it
  // changes the transaction's writes, and ParkOwn before it clears them, because an iterator must
  // not outlive the batch over which it walks. ParkOwn does nothing for a cursor whose iterator
  // does not include the transaction's writes.
  void Park();
  void ParkOwn() {
    if (over_own_writes_) Park();
  }
  // Leaves the row and destroys the iterator where ParkOwn found no memory to remember the row.
  void LeaveOwn() {
    if (!over_own_writes_ || iterator_ == nullptr) return;
    iterator_.reset();
    parked_ = true;
    on_row_ = false;
  }

 private:
  // Makes the iterator show all rows that are committed now. When it throws, the cursor stands on
  // no row, and the next call makes a new iterator.
  void Renew();
  // Returns a copy of the key with the table's prefix. Valid until the next call.
  rocksdb::Slice Wanted(std::string_view key);
  // Updates on_row_ and returns it. Throws Error when the iterator stopped because of an error.
  bool OnRow();

  RocksdbSession* const session_;
  const RocksdbTable table_;
  const rocksdb::Slice begin_, end_;  // bounds of the table's keys, if they have a prefix
  rocksdb::ReadOptions read_options_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
  rocksdb::SequenceNumber sequence_ = 0;  // RocksDB's last commit when iterator_ was renewed
  bool over_own_writes_ = false;          // iterator_ includes the transaction's writes
  bool parked_ = false;                   // Park has destroyed iterator_
  // The cursor stands on a row. When it is parked, that is the row of parked_key_.
  bool on_row_ = false;
  std::string parked_key_;
  std::string wanted_key_;  // result of the last Wanted
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_SESSION_H_

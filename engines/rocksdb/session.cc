#include "engines/rocksdb/session.h"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "device/error.h"
#include "engines/failed_before.h"
#include "engines/rocksdb/block_tickers.h"
#include "engines/rocksdb/errors.h"
#include "engines/rocksdb/options.h"
#include "engines/rocksdb/rocksdb_engine.h"

namespace testbed {
namespace {

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view ToView(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

// A BlockMeter adds the blocks that the thread asks for during its lifetime to a session's counts.
class BlockMeter {
 public:
  explicit BlockMeter(SessionCounts* counts)
      : counts_(counts),
        blocks_(BlocksOfThisThread()),
        hits_(blocks_.hits),
        misses_(blocks_.misses) {}
  ~BlockMeter() {
    counts_->block_hits.Add(blocks_.hits - hits_);
    counts_->block_reads.Add(blocks_.misses - misses_);
  }
  BlockMeter(const BlockMeter&) = delete;
  BlockMeter& operator=(const BlockMeter&) = delete;

 private:
  SessionCounts* const counts_;
  const ThreadBlocks& blocks_;
  const uint64_t hits_, misses_;
};

// A Copier copies the writes of a WriteBatch into a WriteBatchWithIndex.
class Copier : public rocksdb::WriteBatch::Handler {
 public:
  Copier(const std::vector<RocksdbTable>& tables, rocksdb::WriteBatchWithIndex* to)
      : tables_(tables), to_(to) {}
  rocksdb::Status PutCF(uint32_t id, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    return to_->Put(Find(id), key, value);
  }
  rocksdb::Status DeleteCF(uint32_t id, const rocksdb::Slice& key) override {
    return to_->Delete(Find(id), key);
  }

 private:
  rocksdb::ColumnFamilyHandle* Find(uint32_t id) const {
    return std::find_if(tables_.begin(), tables_.end(),
                        [id](const auto& table) { return table.family->GetID() == id; })
        ->family;
  }
  const std::vector<RocksdbTable>& tables_;
  rocksdb::WriteBatchWithIndex* const to_;
};

}  // namespace

RocksdbSession::RocksdbSession(RocksdbEngine* engine, SessionCounts* counts)
    : engine_(engine),
      db_(engine->db()),
      write_options_(engine->options().write),
      read_options_(engine->options().read),
      counts_(counts),
      tables_(&engine->tables(), "rocksdb"),
      index_(rocksdb::BytewiseComparator(), 0, /*overwrite_key=*/true) {}

RocksdbSession::~RocksdbSession() { engine_->Retire(counts_); }

const RocksdbTable& RocksdbSession::TableToWrite(TableId table) {
  try {
    return tables_.Find(table);
  } catch (const std::bad_alloc&) {
    failed_ = in_transaction_;
    throw;
  }
}

// Copies the key. The key may lie in the value that Get returned last or in a cursor's row, both of
// which the calling function frees.
rocksdb::Slice RocksdbSession::KeyIn(const RocksdbTable& table, std::string_view key) {
  key_.assign(table.prefix).append(key);
  return key_;
}

bool RocksdbSession::Get(TableId id, std::string_view key, std::string_view* value) {
  const RocksdbTable& table = tables_.Find(id);
  const rocksdb::Slice row = KeyIn(table, key);
  BlockMeter meter(counts_);
  value_.Reset();
  rocksdb::Status status;
  if (HasOwnWrites()) [[unlikely]] {
    IndexOwnWrites();
    status = index_.GetFromBatchAndDB(db_, read_options_, table.family, row, &value_);
  } else {
    status = db_->Get(read_options_, table.family, row, &value_);
  }
  if (status.IsNotFound()) return false;
  Check(status, "rocksdb could not read a row");
  *value = {value_.data(), value_.size()};
  return true;
}

void RocksdbSession::MultiGet(TableId id, std::span<const std::string_view> keys,
                              std::vector<FoundRow>* rows) {
  if (HasOwnWrites()) return Session::MultiGet(id, keys, rows);
  const RocksdbTable& table = tables_.Find(id);
  BlockMeter meter(counts_);
  multi_keys_.Take(keys, table.prefix);
  // A slice that is moved while it pins a block has no buffer of its own afterwards (RocksDB 7.8),
  // so the slices are reset before the vector may move them.
  for (rocksdb::PinnableSlice& value : multi_values_) value.Reset();
  multi_values_.resize(keys.size());
  multi_statuses_.resize(keys.size());
  db_->MultiGet(read_options_, table.family, keys.size(), multi_keys_.keys().data(),
                multi_values_.data(), multi_statuses_.data());
  rows->resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!multi_statuses_[i].IsNotFound()) Check(multi_statuses_[i], "rocksdb could not read a row");
    (*rows)[i] = {multi_statuses_[i].ok(), {multi_values_[i].data(), multi_values_[i].size()}};
  }
}

void RocksdbSession::TakeEach(TableId id, std::span<const std::string_view> keys,
                              const TakeRow& take) {
  if (HasOwnWrites()) return Session::TakeEach(id, keys, take);
  TakeEachOfMultiGet(id, keys, take);
}

bool RocksdbSession::HasOwnWrites() const {
  return in_transaction_ && (indexed_ || batch_.Count() != 0);
}

rocksdb::WriteBatchBase* RocksdbSession::Pending() {
  if (indexed_) return &index_;
  return &batch_;
}

void RocksdbSession::IndexOwnWrites() {
  if (indexed_) return;
  try {
    Copier copier(tables_.copy(), &index_);
    Check(batch_.Iterate(&copier), "rocksdb could not index a transaction's writes");
  } catch (...) {
    index_.Clear();  // otherwise the next transaction would commit what is in index_
    throw;
  }
  batch_.Clear();
  indexed_ = true;
}

void RocksdbSession::Begin() {
  if (in_transaction_) throw Error(Error::kUsage, "rocksdb: Begin inside a transaction");
  batch_.Clear();
  in_transaction_ = true;
}

void RocksdbSession::Commit() {
  if (!in_transaction_) throw Error(Error::kUsage, "rocksdb: Commit without Begin");
  // The transaction ends even when the write fails, and then nothing of it is committed.
  struct End {
    RocksdbSession* session;
    ~End() { session->EndTransaction(); }
  } end{this};
  for (RocksdbCursor* cursor : cursors_) cursor->ParkOwn();
  if (failed_) throw FailedBefore("rocksdb");
  if (HasOwnWrites()) Write(indexed_ ? index_.GetWriteBatch() : &batch_);
}

void RocksdbSession::Rollback() {
  if (!in_transaction_) throw Error(Error::kUsage, "rocksdb: Rollback without Begin");
  try {
    for (RocksdbCursor* cursor : cursors_) cursor->ParkOwn();
  } catch (...) {
    EndTransaction();
    throw;
  }
  EndTransaction();
}

void RocksdbSession::EndTransaction() {
  for (RocksdbCursor* cursor : cursors_) cursor->LeaveOwn();
  if (indexed_) index_.Clear();
  indexed_ = false;
  in_transaction_ = failed_ = false;
}

void RocksdbSession::Write(rocksdb::WriteBatch* batch) {
  engine_->CheckLazySync();
  if (!write_options_.disableWAL) counts_->log_payload_bytes.Add(batch->GetDataSize());
  BlockMeter meter(counts_);
  Check(db_->Write(write_options_, batch), "rocksdb could not commit");
}

template <typename AddWrite>
void RocksdbSession::WriteInTransaction(const RocksdbTable& table, std::string_view key,
                                        std::string_view value, const AddWrite& add,
                                        const char* what) {
  if (failed_) throw FailedBefore("rocksdb");
  try {
    // The key and the value may be bytes of an iterator, which Park destroys, or of the batch
    // itself, which grows.
    if (!cursors_.empty()) {
      key = key_copy_.assign(key);
      value = value_copy_.assign(value);
      for (RocksdbCursor* cursor : cursors_) cursor->Park();
    }
    Check(add(KeyIn(table, key), ToSlice(value)), what);
  } catch (...) {
    failed_ = true;  // the batch may have a part of the row
    throw;
  }
}

void RocksdbSession::Put(TableId id, std::string_view key, std::string_view value) {
  CheckKeySize("rocksdb", key.size(), kLongestRocksdbKey);
  CheckValueSize("rocksdb", value.size(), kLongestRocksdbValue);
  const RocksdbTable& table = TableToWrite(id);
  if (in_transaction_) {
    const auto put = [&](const rocksdb::Slice& row, const rocksdb::Slice& bytes) {
      return Pending()->Put(table.family, row, bytes);
    };
    WriteInTransaction(table, key, value, put, "rocksdb could not put a row");
    return;
  }
  const rocksdb::Slice row = KeyIn(table, key);
  batch_.Clear();
  Check(batch_.Put(table.family, row, ToSlice(value)), "rocksdb could not put a row");
  Write(&batch_);
}

void RocksdbSession::Erase(TableId id, std::string_view key) {
  const RocksdbTable& table = TableToWrite(id);
  if (in_transaction_) {
    const auto erase = [&](const rocksdb::Slice& row, const rocksdb::Slice&) {
      return Pending()->Delete(table.family, row);
    };
    WriteInTransaction(table, key, {}, erase, "rocksdb could not erase a row");
    return;
  }
  const rocksdb::Slice row = KeyIn(table, key);
  batch_.Clear();
  Check(batch_.Delete(table.family, row), "rocksdb could not erase a row");
  Write(&batch_);
}

std::unique_ptr<Cursor> RocksdbSession::NewCursor(TableId table) {
  return std::make_unique<RocksdbCursor>(this, table);
}

bool RocksdbSession::BlockCounts(uint64_t* requests, uint64_t* misses) {
  *misses = counts_->block_reads.Get();
  *requests = counts_->block_hits.Get() + *misses;
  return true;
}

RocksdbCursor::RocksdbCursor(RocksdbSession* session, TableId table)
    : session_(session),
      table_(session->tables_.Find(table)),
      begin_(table_.prefix),
      end_(table_.end),
      read_options_(session->read_options_) {
  if (!table_.prefix.empty()) {
    read_options_.iterate_lower_bound = &begin_;
    read_options_.iterate_upper_bound = &end_;
  }
  session_->cursors_.push_back(this);
}

RocksdbCursor::~RocksdbCursor() { std::erase(session_->cursors_, this); }

void RocksdbCursor::Renew() {
  const bool own = session_->HasOwnWrites();
  const rocksdb::SequenceNumber now = session_->db_->GetLatestSequenceNumber();
  parked_ = false;
  if (iterator_ != nullptr && own == over_own_writes_ && now == sequence_) return;
  on_row_ = false;
  if (iterator_ != nullptr && !own && !over_own_writes_) {
    const rocksdb::Status refreshed = iterator_->Refresh();
    if (!refreshed.ok()) iterator_.reset();
    Check(refreshed, "rocksdb could not renew a cursor");
    sequence_ = now;
    return;
  }
  iterator_.reset();
  if (own) session_->IndexOwnWrites();
  std::unique_ptr<rocksdb::Iterator> made(session_->db_->NewIterator(read_options_, table_.family));
  if (own) {
    // NewIteratorWithBase takes ownership of `base` even when it finds no memory: RocksDB may have
    // freed `base` then.
    rocksdb::Iterator* const base = made.release();
    made.reset(session_->index_.NewIteratorWithBase(table_.family, base));
  }
  iterator_ = std::move(made);
  over_own_writes_ = own;
  sequence_ = now;
}

void RocksdbCursor::Park() {
  if (parked_ || iterator_ == nullptr) return;
  if (on_row_) parked_key_.assign(iterator_->key().data(), iterator_->key().size());
  iterator_.reset();
  parked_ = true;
}

// The iterator's bounds apply only to committed rows. The transaction's writes include those of
// other tables in the column family, so this checks the prefix of the key.
bool RocksdbCursor::OnRow() {
  on_row_ = iterator_->Valid();
  if (!on_row_) Check(iterator_->status(), "rocksdb could not read a row");
  if (on_row_ && over_own_writes_) on_row_ = iterator_->key().starts_with(table_.prefix);
  return on_row_;
}

// The key may be that of the cursor's own row, whose bytes Renew frees.
rocksdb::Slice RocksdbCursor::Wanted(std::string_view key) {
  return wanted_key_.assign(table_.prefix).append(key);
}

bool RocksdbCursor::Seek(std::string_view key) {
  BlockMeter meter(session_->counts_);
  const rocksdb::Slice row = Wanted(key);
  Renew();
  iterator_->Seek(row);
  return OnRow();
}

bool RocksdbCursor::SeekForPrev(std::string_view key) {
  BlockMeter meter(session_->counts_);
  const rocksdb::Slice row = Wanted(key);
  Renew();
  iterator_->SeekForPrev(row);
  return OnRow();
}

bool RocksdbCursor::First() {
  BlockMeter meter(session_->counts_);
  Renew();
  if (table_.prefix.empty()) {
    iterator_->SeekToFirst();
  } else {
    iterator_->Seek(table_.prefix);
  }
  return OnRow();
}

bool RocksdbCursor::Last() {
  BlockMeter meter(session_->counts_);
  Renew();
  if (table_.prefix.empty()) {
    iterator_->SeekToLast();
  } else {
    iterator_->SeekForPrev(table_.end);
    // table_.end can be a key of the next table: that of the row with an empty key.
    if (iterator_->Valid() && iterator_->key() == rocksdb::Slice(table_.end)) iterator_->Prev();
  }
  return OnRow();
}

bool RocksdbCursor::Next() {
  BlockMeter meter(session_->counts_);
  if (!on_row_) return false;
  if (parked_) {
    Renew();
    iterator_->Seek(parked_key_);
    // If the row was erased meanwhile, Seek has already moved to the next row.
    if (!OnRow() || iterator_->key() != rocksdb::Slice(parked_key_)) return on_row_;
  }
  iterator_->Next();
  return OnRow();
}

bool RocksdbCursor::Prev() {
  BlockMeter meter(session_->counts_);
  if (!on_row_) return false;
  if (parked_) {
    Renew();
    iterator_->SeekForPrev(parked_key_);
    if (!OnRow() || iterator_->key() != rocksdb::Slice(parked_key_)) return on_row_;
  }
  iterator_->Prev();
  return OnRow();
}

std::string_view RocksdbCursor::key() const {
  return ToView(iterator_->key()).substr(table_.prefix.size());
}
std::string_view RocksdbCursor::value() const { return ToView(iterator_->value()); }

}  // namespace testbed

#include "engines/rocksdb/session.h"

#include <algorithm>

#include "device/error.h"
#include "engines/rocksdb/block_tickers.h"
#include "engines/rocksdb/errors.h"
#include "engines/rocksdb/rocksdb_engine.h"

namespace testbed {
namespace {

rocksdb::Slice ToSlice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
std::string_view ToView(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

// Adds the blocks asked for in its lifetime to a session's counts.
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

// Copies a batch into an index.
class Copier : public rocksdb::WriteBatch::Handler {
 public:
  Copier(const std::vector<rocksdb::ColumnFamilyHandle*>& handles, rocksdb::WriteBatchWithIndex* to)
      : handles_(handles), to_(to) {}
  rocksdb::Status PutCF(uint32_t id, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    return to_->Put(Find(id), key, value);
  }
  rocksdb::Status DeleteCF(uint32_t id, const rocksdb::Slice& key) override {
    return to_->Delete(Find(id), key);
  }

 private:
  rocksdb::ColumnFamilyHandle* Find(uint32_t id) const {
    return *std::find_if(handles_.begin(), handles_.end(),
                         [id](auto* handle) { return handle->GetID() == id; });
  }
  const std::vector<rocksdb::ColumnFamilyHandle*>& handles_;
  rocksdb::WriteBatchWithIndex* const to_;
};

}  // namespace

RocksdbSession::RocksdbSession(RocksdbEngine* engine, SessionCounts* counts)
    : engine_(engine),
      db_(engine->db()),
      write_options_(engine->options().write),
      read_options_(engine->options().read),
      counts_(counts),
      index_(rocksdb::BytewiseComparator(), 0, /*overwrite_key=*/true) {}

RocksdbSession::~RocksdbSession() { engine_->Retire(counts_); }

void RocksdbSession::LearnTables(TableId wanted) {
  handles_ = engine_->handles();
  if (wanted >= handles_.size()) {
    throw Error(Error::kUsage,
                "rocksdb has no table number " + std::to_string(wanted) + ": open it first");
  }
}

bool RocksdbSession::Get(TableId table, std::string_view key, std::string_view* value) {
  rocksdb::ColumnFamilyHandle* const handle = Handle(table);
  BlockMeter meter(counts_);
  value_.Reset();
  rocksdb::Status status;
  if (HasOwnWrites()) [[unlikely]] {
    IndexOwnWrites();
    status = index_.GetFromBatchAndDB(db_, read_options_, handle, ToSlice(key), &value_);
  } else {
    status = db_->Get(read_options_, handle, ToSlice(key), &value_);
  }
  if (status.IsNotFound()) return false;
  Check(status, "rocksdb could not read a row");
  *value = {value_.data(), value_.size()};
  return true;
}

void RocksdbSession::MultiGet(TableId table, std::span<const std::string_view> keys,
                              std::vector<FoundRow>* rows) {
  if (HasOwnWrites()) return Session::MultiGet(table, keys, rows);
  BlockMeter meter(counts_);
  multi_keys_.clear();
  for (const std::string_view key : keys) multi_keys_.push_back(ToSlice(key));
  multi_values_.resize(keys.size());
  for (rocksdb::PinnableSlice& value : multi_values_) value.Reset();
  multi_statuses_.resize(keys.size());
  db_->MultiGet(read_options_, Handle(table), keys.size(), multi_keys_.data(), multi_values_.data(),
                multi_statuses_.data());
  rows->resize(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!multi_statuses_[i].IsNotFound()) Check(multi_statuses_[i], "rocksdb could not read a row");
    (*rows)[i] = {multi_statuses_[i].ok(), {multi_values_[i].data(), multi_values_[i].size()}};
  }
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
  Copier copier(handles_, &index_);
  Check(batch_.Iterate(&copier), "rocksdb could not index a transaction's writes");
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
  // Ends the transaction even when the write fails: it did not happen then.
  struct End {
    RocksdbSession* session;
    ~End() { session->EndTransaction(); }
  } end{this};
  if (HasOwnWrites()) Write(indexed_ ? index_.GetWriteBatch() : &batch_);
}

void RocksdbSession::Rollback() {
  if (!in_transaction_) throw Error(Error::kUsage, "rocksdb: Rollback without Begin");
  EndTransaction();
}

void RocksdbSession::EndTransaction() {
  for (RocksdbCursor* cursor : cursors_) cursor->ParkOwn();
  if (indexed_) index_.Clear();
  indexed_ = false;
  in_transaction_ = false;
}

void RocksdbSession::Write(rocksdb::WriteBatch* batch) {
  engine_->CheckLazySync();
  if (!write_options_.disableWAL) counts_->log_payload_bytes.Add(batch->GetDataSize());
  BlockMeter meter(counts_);
  Check(db_->Write(write_options_, batch), "rocksdb could not commit");
}

void RocksdbSession::Put(TableId table, std::string_view key, std::string_view value) {
  rocksdb::ColumnFamilyHandle* const handle = Handle(table);
  if (in_transaction_) {
    for (RocksdbCursor* cursor : cursors_) cursor->Park();
    Check(Pending()->Put(handle, ToSlice(key), ToSlice(value)), "rocksdb could not put a row");
    return;
  }
  batch_.Clear();
  Check(batch_.Put(handle, ToSlice(key), ToSlice(value)), "rocksdb could not put a row");
  Write(&batch_);
}

void RocksdbSession::Erase(TableId table, std::string_view key) {
  rocksdb::ColumnFamilyHandle* const handle = Handle(table);
  if (in_transaction_) {
    for (RocksdbCursor* cursor : cursors_) cursor->Park();
    Check(Pending()->Delete(handle, ToSlice(key)), "rocksdb could not erase a row");
    return;
  }
  batch_.Clear();
  Check(batch_.Delete(handle, ToSlice(key)), "rocksdb could not erase a row");
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
    : session_(session), handle_(session->Handle(table)) {
  session_->cursors_.push_back(this);
}

RocksdbCursor::~RocksdbCursor() { std::erase(session_->cursors_, this); }

void RocksdbCursor::Renew() {
  const bool own = session_->HasOwnWrites();
  const rocksdb::SequenceNumber now = session_->db_->GetLatestSequenceNumber();
  parked_ = false;
  if (iterator_ != nullptr && own == over_own_writes_ && now == sequence_) return;
  sequence_ = now;
  if (iterator_ != nullptr && !own && !over_own_writes_) {
    Check(iterator_->Refresh(), "rocksdb could not renew a cursor");
    return;
  }
  over_own_writes_ = own;
  iterator_.reset(session_->db_->NewIterator(session_->read_options_, handle_));
  if (own) {
    session_->IndexOwnWrites();
    iterator_.reset(session_->index_.NewIteratorWithBase(handle_, iterator_.release()));
  }
}

void RocksdbCursor::Park() {
  if (parked_ || iterator_ == nullptr) return;
  on_row_ = iterator_->Valid();
  if (on_row_) parked_key_.assign(iterator_->key().data(), iterator_->key().size());
  iterator_.reset();
  parked_ = true;
}

bool RocksdbCursor::OnRow() {
  if (iterator_->Valid()) return true;
  Check(iterator_->status(), "rocksdb could not read a row");
  return false;
}

bool RocksdbCursor::Seek(std::string_view key) {
  BlockMeter meter(session_->counts_);
  Renew();
  iterator_->Seek(ToSlice(key));
  return OnRow();
}

bool RocksdbCursor::SeekForPrev(std::string_view key) {
  BlockMeter meter(session_->counts_);
  Renew();
  iterator_->SeekForPrev(ToSlice(key));
  return OnRow();
}

bool RocksdbCursor::First() {
  BlockMeter meter(session_->counts_);
  Renew();
  iterator_->SeekToFirst();
  return OnRow();
}

bool RocksdbCursor::Last() {
  BlockMeter meter(session_->counts_);
  Renew();
  iterator_->SeekToLast();
  return OnRow();
}

bool RocksdbCursor::Next() {
  BlockMeter meter(session_->counts_);
  if (parked_) {
    if (!on_row_) return false;
    Renew();
    iterator_->Seek(parked_key_);
    // The row may have gone: then the cursor stands on the next one already.
    if (!OnRow() || iterator_->key() != rocksdb::Slice(parked_key_)) return iterator_->Valid();
  }
  if (iterator_ == nullptr || !iterator_->Valid()) return false;
  iterator_->Next();
  return OnRow();
}

bool RocksdbCursor::Prev() {
  BlockMeter meter(session_->counts_);
  if (parked_) {
    if (!on_row_) return false;
    Renew();
    iterator_->SeekForPrev(parked_key_);
    if (!OnRow() || iterator_->key() != rocksdb::Slice(parked_key_)) return iterator_->Valid();
  }
  if (iterator_ == nullptr || !iterator_->Valid()) return false;
  iterator_->Prev();
  return OnRow();
}

std::string_view RocksdbCursor::key() const { return ToView(iterator_->key()); }
std::string_view RocksdbCursor::value() const { return ToView(iterator_->value()); }

}  // namespace testbed

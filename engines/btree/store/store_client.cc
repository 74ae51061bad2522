// This file has look-ups, commits, and the moving of rows from the change buffer to their leaves.
#include <algorithm>
#include <bitset>
#include <cstring>
#include <optional>
#include <utility>

#include "device/os/mutex.h"
#include "engines/btree/store/commit_attempt.h"
#include "engines/btree/tree/overflow.h"

namespace testbed::btree {
namespace {

constexpr size_t kKeptBuffer = 1 << 20;  // bytes; a larger buffer is freed after its commit

}  // namespace

StoreClient::StoreClient(Store* store) : store_(store), context_(store->pool()) {
  context_.read_ahead =
      static_cast<uint32_t>(store->options_.scan_readahead_bytes / store->options_.page_size);
  if (store->change_buffer() != nullptr) context_.filler = this;
  LockGuard lock(store_->clients_mutex_);
  store_->slots_.insert(&slot_);
}

StoreClient::~StoreClient() {
  LockGuard lock(store_->clients_mutex_);
  store_->slots_.erase(&slot_);
}

// Writes the values that are too long for a leaf to overflow pages, and sets runs_. `begin` is a
// log position at or before the commit's record.
void StoreClient::WriteLongValues(std::span<const RowWrite> operations, Lsn begin) {
  runs_.assign(operations.size(), OverflowRef{});
  for (size_t i = 0; i < operations.size(); ++i) {
    const RowWrite& op = operations[i];
    if (op.erase || !store_->Table(op.table)->NeedsOverflow(op.key.size(), op.value.size())) {
      continue;
    }
    runs_[i] = WriteOverflow(store_->pool(), store_->space(), &store_->redo_, &context_.client,
                             op.table, op.value, begin);
  }
}

// Appends the commit as one record or, when it is longer than kMaxPart, in parts. Recovery ignores
// the commit unless its last part is in the log and its first part lies behind the redo point.
LogRange StoreClient::AppendOperations(std::span<const RowWrite> operations) {
  size_t bytes = 0;
  for (const RowWrite& op : operations) bytes += OperationBytes(op);
  const std::string header = OperationsHeader({});
  if (bytes <= kMaxPart) {
    return store_->redo_.Append(header.size() + bytes, [&](char* to) {
      std::memcpy(to, header.data(), header.size());
      to += header.size();
      for (const RowWrite& op : operations) to = PutOperation(op, to);
    });
  }
  return AppendParts(operations);
}

LogRange StoreClient::AppendParts(std::span<const RowWrite> operations) {
  encoded_.clear();
  for (const RowWrite& op : operations) AppendOperation(op, &encoded_);
  const uint64_t transaction = store_->next_transaction_.fetch_add(1);
  LogRange range;
  for (size_t at = 0; at < encoded_.size();) {
    const size_t n = std::min(kMaxPart, encoded_.size() - at);
    part_ = OperationsHeader({transaction, at > 0, at + n < encoded_.size(), {}});
    part_.append(encoded_, at, n);
    const LogRange appended = store_->redo_.Append(part_);
    if (at == 0) range.begin = appended.begin;
    range.end = appended.end;
    at += n;
  }
  if (encoded_.capacity() > kKeptBuffer) std::string().swap(encoded_);
  return range;
}

// Appends the commit, and sets context_.commit. The log takes no records after an error, so the
// store is out of service then. Want of memory comes before the log has the whole commit.
void StoreClient::AppendOrFail(std::span<const RowWrite> operations) {
  try {
    context_.commit = AppendOperations(operations);
  } catch (const Error& e) {
    store_->Fail(e);
    throw;
  }
}

void StoreClient::Apply(std::span<const RowWrite> operations) {
  ChangeBuffer* const buffer = store_->change_buffer();
  Tree* tree = nullptr;
  ExclusiveGuard leaf;  // leaf of the last row; the next row often belongs to it, too
  for (size_t i = 0; i < operations.size(); ++i) {
    const RowWrite& op = operations[i];
    LeafWrite row{op.key, op.erase, {op.value, false}};
    std::string encoded;
    if (runs_[i].pages > 0) {
      encoded = Node::EncodeOverflow(runs_[i]);
      row.value = {encoded, true};
    }
    if (buffer != nullptr) {
      buffer->Write(&context_, store_->Table(op.table), row);
      continue;
    }
    if (Tree* const next = store_->Table(op.table); next != tree) {
      leaf.Release();
      tree = next;
    }
    tree->Write(&context_, row, &leaf);
  }
}

bool StoreClient::Get(const Tree* tree, std::string_view key, std::string* value) {
  store_->row_locks_.AwaitUnlocked(tree->table(), key);
  bool erased;
  if (const ChangeBuffer* buffer = store_->change_buffer();
      buffer != nullptr && buffer->Find(&context_, tree, key, &erased, value)) {
    return !erased;
  }
  return tree->Get(&context_, key, value);
}

// Returns the most bytes that the rows can take in leaves. Long values lie elsewhere.
template <typename Rows>
uint64_t StoreClient::LeafBytes(const Rows& rows) const {
  constexpr uint64_t kFields = 64;  // slot, lengths, reference to a long value
  const uint64_t longest = MaxInlineRow(store_->options().page_size);
  uint64_t bytes = 0;
  for (const auto& row : rows) {
    bytes += std::min<uint64_t>(row.key.size() + row.value.size() + kFields,
                                std::max<uint64_t>(longest, row.key.size() + kFields));
  }
  return bytes;
}

CommitSize StoreClient::SizeOf(std::span<const RowWrite> operations) {
  CommitSize size{operations.size(), LeafBytes(operations), 0, 1};
  std::bitset<kMaxTables> seen;
  for (const RowWrite& op : operations) {
    if (seen[op.table]) continue;
    seen[op.table] = true;
    ++size.trees;
    size.levels = std::max(size.levels, store_->Table(op.table)->Levels(&context_));
  }
  return size;
}

void StoreClient::Commit(std::span<const RowWrite> operations) {
  if (operations.empty()) return;
  store_->CheckUsable();
  runs_.clear();
  rows_.clear();
  for (const RowWrite& op : operations) rows_.push_back(RowLocks::RowOf(op));
  {
    Attempt attempt(this, SizeOf(operations));
    WriteLongValues(operations, slot_.active.load(std::memory_order_relaxed));
    RowLocks::Holder rows(&store_->row_locks_, &rows_);
    AppendOrFail(operations);
    attempt.Logged();
    try {
      const Pool::Applying applying(store_->pool());
      Apply(operations);
    } catch (const Error& e) {
      store_->Fail(e);
      throw Error(e.kind(),
                  std::string(e.what()) +
                      "; the transaction is in the log and may be there when the "
                      "database is opened again",
                  e.code());
    } catch (const std::exception& e) {
      store_->Fail(e);
      throw;
    }
    attempt.Applied();
  }
  if (store_->options_.durability == Durability::kSync) {
    try {
      store_->redo_.WaitDurable(context_.commit.end);
    } catch (const std::exception& e) {
      store_->Fail(e);
      throw;
    }
  }
  store_->NoteLogGrowth(context_.commit.end);
  EmptyFullBuffer();
}

// Moves rows out of the change buffer while it is too large. Errors are ignored, also want of
// memory, because the caller's commit has succeeded. A later read of the leaf reports them, and a
// later commit does if they have put the store out of service.
void StoreClient::EmptyFullBuffer() {
  ChangeBuffer* const buffer = store_->change_buffer();
  try {
    while (buffer != nullptr && buffer->full() && MoveToNextLeaf()) {
    }
  } catch (const std::exception&) {
  }
}

bool StoreClient::MoveToNextLeaf() {
  const IoScope scope(store_->merge_op_);
  uint32_t table;
  std::string key;
  if (!store_->change_buffer()->NextRow(&context_, &table, &key)) return false;
  const Tree* const tree = store_->Table(table);
  if (tree == nullptr) {
    throw Error(Error::kCorruption, "the change buffer of the btree database in " + store_->dir_ +
                                        " has a row of table " + std::to_string(table) +
                                        ", which does not exist: restore the database from a copy");
  }
  tree->CopyLeaf(&context_, Tree::Bound::kCover, key, context_.scratch.data());
  const Node leaf(context_.scratch.data(), store_->options_.page_size);
  const std::vector<BufferedRow> rows = RowsOf(*tree, leaf, ChangeBuffer::kMostTogether);
  if (!rows.empty()) MoveToLeaf(store_->Table(table), rows);
  store_->NoteLogGrowth(context_.commit.end);
  return true;
}

uint64_t StoreClient::Moves() const { return store_->change_buffer()->moves(); }

// Returns the rows that the change buffer has for a leaf. If their bytes are `most_bytes` or more,
// returns only the first of them.
std::vector<BufferedRow> StoreClient::RowsOf(const Tree& tree, const Node& leaf,
                                             size_t most_bytes) {
  std::optional<std::string_view> high;
  if (!leaf.unbounded()) high = leaf.HighFence();
  return store_->change_buffer()->RowsBetween(&context_, tree.table(), leaf.LowFence(), high,
                                              most_bytes);
}

// Moves the leaf's rows from the change buffer to it, or returns them in *waiting. Reads go on when
// commits do not: on a full disk, and in a store that is out of service. A cursor then asks for no
// space, and leaves it to commits to find out whether there is space again.
bool StoreClient::Fill(const Tree& tree, const Node& leaf, std::vector<BufferedRow>* waiting) {
  waiting->clear();
  if (&tree == store_->change_buffer()->tree()) return false;
  if (store_->service_.load(std::memory_order_relaxed) == Store::Service::kUsable) {
    const std::vector<BufferedRow> rows = RowsOf(tree, leaf, ChangeBuffer::kMostTogether);
    if (rows.empty()) return false;
    try {
      MoveToLeaf(store_->Table(tree.table()), rows);
      store_->NoteLogGrowth(context_.commit.end);
      return true;
    } catch (const Error& e) {
      if (e.kind() != Error::kIo) throw;
    }
  }
  *waiting = RowsOf(tree, leaf, SIZE_MAX);
  return false;
}

// Writes the rows to their leaf by a commit of their own. `candidates` were read without locks, so
// each row is looked up again under its lock, and skipped if the buffer no longer has it.
void StoreClient::MoveToLeaf(Tree* tree, const std::vector<BufferedRow>& candidates) {
  store_->CheckUsable();
  ChangeBuffer* const buffer = store_->change_buffer();
  runs_.clear();
  rows_.clear();
  for (const BufferedRow& row : candidates)
    rows_.push_back(RowLocks::RowOf(tree->table(), row.key));
  Attempt attempt(this, {candidates.size(), LeafBytes(candidates), 1, tree->Levels(&context_)});
  const RowLocks::Holder locked(&store_->row_locks_, &rows_);
  std::vector<BufferedRow> rows;
  for (const BufferedRow& row : candidates) {
    BufferedRow now{false, row.key, {}};
    if (buffer->Find(&context_, tree, row.key, &now.erase, &now.value))
      rows.push_back(std::move(now));
  }
  if (rows.empty()) return;
  std::vector<RowWrite> operations;
  for (const BufferedRow& row : rows)
    operations.push_back({row.erase, tree->table(), row.key, row.value});
  AppendOrFail(operations);
  attempt.Logged();
  try {
    const Pool::Applying applying(store_->pool());
    for (const BufferedRow& row : rows) {
      buffer->WriteThrough(&context_, tree, {row.key, row.erase, {row.value, false}});
    }
  } catch (const std::exception& e) {
    store_->Fail(e);  // the log has the move, and the trees may have a part of it
    throw;
  }
  attempt.Applied();
  buffer->CountMoved(rows.size());
}

}  // namespace testbed::btree

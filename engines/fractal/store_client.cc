// This file has one thread's commits and reads of a database.
#include <algorithm>

#include "device/os/mutex.h"
#include "engines/fractal/store.h"

namespace testbed::fractal {

StoreClient::StoreClient(Store* store) : store_(store) {
  LockGuard lock(store_->clients_mutex_);
  store_->clients_.insert(this);
}

StoreClient::~StoreClient() {
  LockGuard lock(store_->clients_mutex_);
  store_->clients_.erase(this);
  store_->ended_reads_.Add(reads_);
}

// Makes room in the cache for a reader. If a dirty node cannot be written, that is no error for the
// reader.
void StoreClient::Relax() {
  if (store_->cache_->over_limit()) store_->cache_->Evict(Cache::Unwritable::kKeep);
}

bool StoreClient::Get(const Tree* tree, std::string_view key, std::string* value) {
  store_->AwaitCommit();
  const bool found = tree->Get(key, value, &reads_);
  Relax();
  return found;
}

void StoreClient::CopyBasement(const Tree* tree, Tree::Bound bound, std::string_view key,
                               BasementCopy* copy) {
  store_->AwaitCommit();
  tree->CopyBasement(bound, key, copy, &reads_);
  Relax();
}

LogRange StoreClient::AppendOperations(std::span<const RowWrite> operations) {
  constexpr size_t kKept = 1 << 20;
  encoded_ = CommitHeader(0, false);
  const size_t header = encoded_.size();
  for (const RowWrite& op : operations) AppendOperation(op, &encoded_);
  if (encoded_.size() - header <= kMostPart) return store_->log_->Append(encoded_);
  const uint64_t transaction = store_->next_transaction_++;
  LogRange range;
  for (size_t at = header; at < encoded_.size();) {
    const size_t n = std::min(kMostPart, encoded_.size() - at);
    part_ = CommitHeader(transaction, at + n < encoded_.size());
    part_.append(encoded_, at, n);
    range = store_->log_->Append(part_);
    at += n;
  }
  if (encoded_.capacity() > kKept) std::string().swap(encoded_);
  return range;
}

// Puts the operations into the trees, table by table. The operations of a table keep their order.
void StoreClient::Apply(std::span<const RowWrite> operations, uint64_t number) {
  std::vector<Message>& messages = store_->messages_;
  std::vector<uint32_t> tables;
  for (const RowWrite& op : operations) {
    if (std::find(tables.begin(), tables.end(), op.table) == tables.end()) {
      tables.push_back(op.table);
    }
  }
  for (const uint32_t table : tables) {
    messages.clear();
    for (const RowWrite& op : operations) {
      if (op.table == table) messages.push_back({number, op.erase, op.key, op.value});
    }
    store_->Table(table)->Insert(messages);
  }
}

// An Applying makes readers wait until a commit of several rows is applied, or has failed.
class StoreClient::Applying {
 public:
  Applying(Store* store, bool many) : store_(many ? store : nullptr) {
    if (store_ != nullptr) store_->applying_.fetch_add(1, std::memory_order_seq_cst);
  }
  ~Applying() {
    if (store_ == nullptr) return;
    store_->applying_.fetch_add(1, std::memory_order_release);
    store_->applying_.notify_all();
  }
  Applying(const Applying&) = delete;
  Applying& operator=(const Applying&) = delete;

 private:
  Store* const store_;
};

// Makes room in the roots and in the cache, before the commit takes any lock.
void StoreClient::MakeRoom(std::span<const RowWrite> operations) {
  store_->CheckWritable();
  const Tree* last = nullptr;
  for (const RowWrite& op : operations) {
    Tree* tree = store_->Table(op.table);
    if (tree != last) tree->MakeRoom(&reads_);
    last = tree;
  }
  if (store_->cache_->over_limit()) store_->cache_->Evict();
}

bool StoreClient::RootIsOverfull(std::span<const RowWrite> operations) const {
  const Tree* last = nullptr;
  for (const RowWrite& op : operations) {
    const Tree* tree = store_->Table(op.table);
    if (tree != last && tree->overfull()) return true;
    last = tree;
  }
  return false;
}

bool StoreClient::TryCommit(std::span<const RowWrite> operations, LogRange* range) {
  LockGuard commits(store_->commits_);
  if (RootIsOverfull(operations)) return false;
  const Gate::Pass pass(&store_->gate_);
  // From here on the log or the trees may have a part of the commit. Any failure, even a lack of
  // memory, puts the store out of service, so that no checkpoint has half of the commit.
  try {
    *range = AppendOperations(operations);
    const Applying applying(store_, operations.size() > 1);
    Apply(operations, range->begin);
  } catch (const std::exception& e) {
    store_->Fail(e);
    throw;
  }
  return true;
}

void StoreClient::Commit(std::span<const RowWrite> operations) {
  if (operations.empty()) return;
  LogRange range;
  do {
    MakeRoom(operations);
  } while (!TryCommit(operations, &range));
  if (store_->options_.durability == Durability::kSync) {
    try {
      store_->log_->WaitDurable(range.end);
    } catch (const std::exception& e) {
      store_->Fail(e);
      throw;
    }
  }
  store_->NoteLogGrowth(range.end);
}

}  // namespace testbed::fractal

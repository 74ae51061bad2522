#include "engines/fractal/store.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>

#include "device/os/mutex.h"
#include "device/os/signal_guard.h"

namespace testbed::fractal {

void Store::Reads::Add(const ReadCounters& counters) {
  requests += counters.requests.Get();
  missed += counters.missed.Get();
  reads += counters.reads.Get();
  header_reads += counters.header_reads.Get();
  bytes += counters.bytes.Get();
}

Store::Reads Store::client_reads() const {
  LockGuard lock(clients_mutex_);
  Reads sum = ended_reads_;
  sum.Add(own_reads_);
  for (const StoreClient* client : clients_) sum.Add(client->reads());
  return sum;
}

Store::Reads Store::cleaner_reads() const {
  Reads reads;
  reads.Add(cleaner_reads_);
  return reads;
}

void Store::CheckUsable() const {
  if (!failed()) return;
  LockGuard lock(failure_mutex_);
  throw Error(Error::kIo,
              "the fractal database in " + dir_ + " is out of service since an error: " +
                  (failure_.empty() ? "a change or a write of a node was cut short" : failure_) +
                  "; open it again");
}

// Throws Error when the database takes no commits. An opening on a full disk may have left the log
// without its reserve, which the next opening needs; a checkpoint gives the reserve back.
void Store::CheckWritable() {
  CheckUsable();
  if (!log_->LacksReserve()) return;
  std::string why = "the log has no reserve";
  try {
    Checkpoint();
    if (!log_->LacksReserve()) return;
  } catch (const Error& e) {
    CheckUsable();
    if (!e.disk_is_full()) throw;
    why = e.what();
  }
  throw Error(Error::kIo,
              "the fractal database in " + dir_ + " takes no commits while its disk is full (" +
                  why + "): free space, and it goes on",
              ENOSPC);
}

void Store::Fail(const std::exception& why) noexcept {
  LockGuard lock(failure_mutex_);
  if (failed_.exchange(true)) return;
  try {
    failure_ = SentenceOf(why);
  } catch (const std::bad_alloc&) {
    return;  // there is no memory for the reason
  }
}

uint32_t Store::height() const {
  LockGuard lock(tables_mutex_);
  uint32_t height = 0;
  for (const auto& tree : trees_) height = std::max(height, tree->height());
  return height;
}

void Store::AddTree(const TableEntry& entry, NodeRef root) {
  catalogue_.push_back(entry);
  trees_.push_back(
      std::make_unique<Tree>(TreeEnv{cache_.get(), &gate_, &tree_counters_,
                                     TreeOptions{options_.page_size, options_.node_size,
                                                 options_.fanout, options_.transaction_bytes / 2},
                                     &root_limit_},
                             entry.id, std::move(root)));
  tables_[entry.id].store(trees_.back().get(), std::memory_order_release);
  SetRootLimit();
}

// Sets how much each root may hold. Roots stay in the cache, and all of them together may have a
// quarter of it.
void Store::SetRootLimit() {
  constexpr uint64_t kLeast = 16 << 10;
  const uint64_t tables = std::max<size_t>(1, trees_.size());
  root_limit_.store(std::max(kLeast, std::min(options_.node_size, cache_->limit() / (4 * tables))));
}

Tree* Store::OpenTable(const std::string& name) {
  LockGuard lock(tables_mutex_);
  for (const TableEntry& entry : catalogue_) {
    if (entry.name == name) return Table(entry.id);
  }
  CheckWritable();
  if (catalogue_.size() + 1 >= kMaxTables) {
    throw Error(Error::kUsage, "fractal has no more than " + std::to_string(kMaxTables - 1) +
                                   " tables in a database");
  }
  if (name.size() > kMaxKeySize) {
    throw Error(Error::kUsage, "a table's name of " + std::to_string(name.size()) +
                                   " bytes is too long for fractal");
  }
  // No checkpoint begins meanwhile, so none begins behind the record and lacks the table.
  LockGuard commits(commits_);
  TableEntry entry;
  entry.id = static_cast<uint32_t>(catalogue_.size() + 1);
  entry.name = name;
  try {
    const LogRange range = log_->Append(TableRecord(entry.id, name));
    // A table is as durable as a commit. A failure here leaves none for a second call to find.
    if (options_.durability == Durability::kSync) log_->WaitDurable(range.end);
    const Gate::Pass pass(&gate_);
    NodeRef root = Tree::CreateRoot(cache_.get(), options_.page_size);
    entry.root = root->block;
    AddTree(entry, std::move(root));
  } catch (const std::exception& e) {
    Fail(e);
    throw;
  }
  return Table(entry.id);
}

void Store::ResizeCache(uint64_t bytes) {
  cache_->SetLimit(bytes);
  {
    LockGuard lock(tables_mutex_);
    SetRootLimit();
  }
  cache_->Evict();
}

void Store::AwaitCommit() const {
  const uint64_t now = applying_.load(std::memory_order_acquire);
  if (now % 2 != 0) applying_.wait(now, std::memory_order_acquire);
}

// Writes the table in progress, and enters its place into the header.
void Store::WriteTable(Header* next, const std::string& tables) {
  std::string bytes = tables + table_->SerializeInProgress();
  const uint64_t extent = RoundUpToUnit(bytes.size());
  AlignedBuffer buffer(extent);
  bytes.resize(extent);
  std::copy(bytes.begin(), bytes.end(), buffer.data());
  next->table_bytes = extent;
  next->table_checksum = Checksum(bytes, next->number);
  next->table_offset = table_->Allocate(extent);
  try {
    file_->Write(next->table_offset, buffer.data(), extent);
  } catch (...) {
    table_->Discard(next->table_offset, extent);
    throw;
  }
}

void Store::Checkpoint() {
  LockGuard one(checkpointing_);
  CheckUsable();
  // The checkpoint is not needed when nothing was committed since the last one and no node has
  // changed. The cleaner changes nodes without a commit, and an eviction may have written them.
  if (log_->EndLsn() == header_.replay_from && !log_->LacksReserve() && !cache_->HasDirtyNode() &&
      !table_->HasChanges()) {
    return;
  }
  IoScope scope(kCheckpoint);
  Header next = header_;
  ++next.number;
  std::string tables;
  try {
    LockGuard commits(commits_);
    const Gate::Close close(&gate_);
    CheckUsable();  // a thread that held the gate may have left a change half done
    next.replay_from = log_->EndLsn();
    cache_->BeginCheckpoint();
    next.next_block = cache_->next_block();
    tables = SerializeTables(ChangelessCatalogue());
  } catch (const std::exception& e) {
    Fail(e);  // a checkpoint that is half begun can be neither ended nor abandoned
    throw;
  }
  try {
    cache_->WriteCheckpoint();
    WriteTable(&next, tables);
  } catch (const std::exception& e) {
    // After a full disk the state of the database is known, and the next checkpoint may find room.
    // After any other Error, and after a lack of memory, the store goes out of service.
    const auto* error = dynamic_cast<const Error*>(&e);
    if (error == nullptr || !error->disk_is_full()) Fail(e);
    {
      const Gate::Close close(&gate_);
      cache_->AbandonCheckpoint();
    }
    throw;
  }
  // The trees have all commits before replay_from, so the log must be durable up to there, too.
  try {
    log_->Sync();
    file_->Sync();
    WriteHeader(file_.get(), next);
    file_->Sync();
    header_ = next;
    table_->EndCheckpoint(next.table_offset, next.table_bytes);
    log_->TruncateBefore(next.replay_from);
  } catch (const std::exception& e) {
    Fail(e);
    throw;
  }
  replay_from_.store(next.replay_from);
  checkpoints_.fetch_add(1);
}

void Store::NoteLogGrowth(Lsn end) {
  const Lsn from = replay_from_.load(std::memory_order_relaxed);
  if (LogGrowth(from, end) < options_.checkpoint_log_bytes) return;
  {
    LockGuard lock(wake_mutex_);
    if (checkpoint_wanted_) return;
    checkpoint_wanted_ = true;
  }
  wake_.notify_all();
}

void Store::CheckpointLoop() {
  UniqueLock lock(wake_mutex_);
  while (!stop_) {
    wake_.wait_for(wake_mutex_, std::chrono::milliseconds(options_.checkpoint_period_ms),
                   [this]() REQUIRES(wake_mutex_) { return stop_ || checkpoint_wanted_; });
    if (stop_) return;
    lock.unlock();
    try {
      Checkpoint();
    } catch (const Error&) {
      // If the device is full, the next checkpoint may find room. Any worse error has put the
      // database out of service.
    } catch (const std::exception& e) {
      Fail(e);
    }
    lock.lock();
    checkpoint_wanted_ = false;
  }
}

uint32_t Store::CleanRound(Tree::Reach reach) {
  const IoScope scope(kCompaction);
  LockGuard one(cleaning_);
  std::vector<Tree*> trees;
  {
    LockGuard tables(tables_mutex_);
    for (const auto& tree : trees_) trees.push_back(tree.get());
  }
  // The cleaner flushes a node only when the node has a page of messages for some child. Less is
  // not worth the reads.
  const uint64_t least = uint64_t{options_.page_size} * options_.fanout;
  uint32_t flushed = 0;
  // The round also ends when the cleaner has found no such node in any table.
  for (size_t idle = 0; flushed < options_.cleaner_nodes && idle < trees.size() && !failed();) {
    Tree* const tree = trees[next_cleaned_++ % trees.size()];
    if (tree->Clean(least, &cleaner_reads_, reach)) {
      ++flushed;
      idle = 0;
    } else {
      ++idle;
    }
  }
  return flushed;
}

// Each flush moves messages closer to the leaves, so the rounds end when no commit brings new ones.
void Store::Settle() {
  if (options_.cleaner_period_ms > 0) {
    const Lsn end = log_->EndLsn();
    while (!StopRequested() && log_->EndLsn() == end && CleanRound(Tree::Reach::kTree) > 0) {
    }
    cache_->Evict();
  }
  Checkpoint();
}

void Store::CleanerLoop() {
  UniqueLock lock(wake_mutex_);
  while (!stop_) {
    wake_.wait_for(wake_mutex_, std::chrono::milliseconds(options_.cleaner_period_ms),
                   [this]() REQUIRES(wake_mutex_) { return stop_; });
    if (stop_) return;
    lock.unlock();
    try {
      CleanRound();
    } catch (const Error&) {
      // The next operation that needs this node, or the room, will meet the error.
    } catch (const std::exception& e) {
      Fail(e);
    }
    lock.lock();
  }
}

Store::~Store() {
  {
    LockGuard lock(wake_mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread* thread : {&checkpointer_, &cleaner_}) {
    if (thread->joinable()) thread->join();
  }
  if (log_ == nullptr) return;
  IoScope scope(kOpen);
  try {
    if (!failed()) Checkpoint();
  } catch (const std::exception&) {
    // No commit is lost, because the log has all of them.
  }
  log_.reset();
}

}  // namespace testbed::fractal

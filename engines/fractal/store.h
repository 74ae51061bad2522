// A Store is a database of Be-trees: its files, its trees, its log, commits, checkpoints and
// recovery. docs/engines/fractal.md has the formats and the arguments.
//
// A commit appends its operations to the log as one record and puts them into the roots of its
// trees, under one mutex, so the trees get commits in the order of the log. All slow work (making
// room in the root and in the cache, waiting for the log's device) is done before or after that.
//
// Errors. A commit that fails before its record is appended did not happen. A failed append, sync
// or write puts the database out of service until it is opened again, and so does an exception
// inside the gate. The write of a node that finds the disk full does not: the node stays dirty, and
// the thread that needs the room gets the error. A log that finds the disk full does.
//
// A Store is thread-safe. A StoreClient belongs to one thread.
#ifndef TESTBED_ENGINES_FRACTAL_STORE_H_
#define TESTBED_ENGINES_FRACTAL_STORE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "device/error.h"
#include "device/log/log.h"
#include "device/os/dir_lock.h"
#include "device/os/mutex.h"
#include "engines/engine.h"
#include "engines/fractal/cache/block_table.h"
#include "engines/fractal/cache/cache.h"
#include "engines/fractal/cache/gate.h"
#include "engines/fractal/cache/meta.h"
#include "engines/fractal/log_record.h"
#include "engines/fractal/tree/tree.h"

namespace testbed::fractal {

inline constexpr uint32_t kMaxTables = 4096;
inline constexpr size_t kMaxKeySize = 1024;
inline constexpr size_t kMaxValueSize = 1 << 20;
// This is the most bytes of messages that a transaction may have. A root takes a commit when it
// holds at most half as many bytes (Tree::overfull), and garbage may double the length of a message
// buffer. So places in buffers and in nodes fit into 32 bits.
inline constexpr uint64_t kMostTransactionBytes = 1 << 30;
inline constexpr uint32_t kMinPageSize = 4096, kMaxPageSize = 1 << 20;

struct StoreOptions {
  bool create = true;
  IoMode io = IoMode::kBuffered;
  Advice advice = Advice::kNormal;
  uint32_t page_size = 8192;
  uint64_t cache_bytes = 64ull << 20;
  // This is the size of nodes. 0 stands for the size that the database has or, for a new database,
  // for a size that follows from the cache.
  uint64_t node_size = 0;
  uint32_t fanout = 0;  // 0: that of the database, or 16 for a new one
  Codec codec = Codec::kNone;
  Durability durability = Durability::kLazy;
  bool merge_reads = false;
  uint64_t row_overhead = 0;          // see CacheOptions
  uint32_t cleaner_period_ms = 2000;  // 0: there is no cleaner
  uint32_t cleaner_nodes = 5;  // number of nodes, of all tables, that each cleaner round flushes
  uint32_t checkpoint_period_ms = 60000;
  uint64_t checkpoint_log_bytes = 1ull << 30;
  uint64_t transaction_bytes = kMostTransactionBytes;  // tests set less
  LogOptions log;
};

// Returns the bytes of log from `from`, where a replay begins, to `end`, where a commit ends. They
// are 0 when a checkpoint that began after the commit has moved `from` behind `end`.
inline uint64_t LogGrowth(Lsn from, Lsn end) { return end > from ? end - from : 0; }

// A RecoveryReport says what was done when the database was opened.
struct RecoveryReport {
  uint64_t log_bytes = 0, transactions = 0, rows = 0;
};

class StoreClient;

class Store {
 public:
  // Returns whether `dir` holds a database.
  static bool Exists(const std::string& dir);
  // Opens the database in `dir`, and recovers it if needed; makes it when `dir` holds none and
  // options.create is set. Throws Error: kUsage when there is no database, the options are not
  // those of the database or another process has it open; kCorruption when it is damaged; kIo.
  static std::unique_ptr<Store> Open(const std::string& dir, const StoreOptions& options);
  // Takes a checkpoint, unless the store is out of service. The clients must have been destroyed
  // before.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Returns the table, and makes it when it does not exist. The tree stays owned by the store.
  // Throws Error: kUsage when the name is too long or there are too many tables; kIo when the store
  // is out of service.
  Tree* OpenTable(const std::string& name);
  // Returns the table of that number; null when there is none.
  Tree* Table(uint32_t table) const {
    return table < kMaxTables ? tables_[table].load(std::memory_order_acquire) : nullptr;
  }
  // Writes all dirty nodes and makes all commits durable, and truncates the log. Throws Error when
  // a write or sync fails.
  void Checkpoint();
  // Does the work that the cleaner would do later, if the store has a cleaner, and then takes a
  // checkpoint. Nodes that are only in the file are cleaned too, since a later reader may bring
  // them into memory. Cleans no further when the run should end (StopRequested), and when another
  // thread commits meanwhile. Throws Error when a read, write or sync fails.
  void Settle();
  // Changes the size of the cache, and evicts what is beyond it. Throws what Cache::Evict throws.
  void ResizeCache(uint64_t bytes);

  const StoreOptions& options() const { return options_; }
  // The objects that these four functions return stay owned by the store.
  const RecoveryReport& recovery() const { return recovery_; }
  Cache* cache() const { return cache_.get(); }
  Log* log() const { return log_.get(); }
  const TreeCounters& tree_counters() const { return tree_counters_; }
  BlockTable::Sizes sizes() const { return table_->sizes(); }
  uint64_t checkpoints() const { return checkpoints_.load(); }  // those since it was opened
  // Returns the bytes of messages above which a root is flushed. They follow from the sizes of
  // nodes and cache, and from the number of tables.
  uint64_t root_limit() const { return root_limit_.load(); }
  uint32_t height() const;                              // height of the highest tree
  uint64_t FileBytes() const { return file_->Size(); }  // length of the data file
  // Reads are those of all clients, including clients that have ended, or those of the cleaner.
  struct Reads {
    uint64_t requests = 0, missed = 0, reads = 0, header_reads = 0, bytes = 0;
    void Add(const ReadCounters& counters);
  };
  Reads client_reads() const;
  Reads cleaner_reads() const;
  // Flushes up to cleaner_nodes nodes, and returns how many it has flushed. The tables take turns,
  // and the next round goes on with the next table. The cleaner's thread calls it each
  // cleaner_period_ms.
  uint32_t CleanRound(Tree::Reach reach = Tree::Reach::kMemory);

 private:
  friend class StoreClient;
  Store(const std::string& dir, const StoreOptions& options);

  // These functions are in store_open.cc.
  void Create();
  void OpenFiles() NO_THREAD_SAFETY_ANALYSIS;
  void LoadTrees(const std::vector<TableEntry>& tables) NO_THREAD_SAFETY_ANALYSIS;
  void Recover() NO_THREAD_SAFETY_ANALYSIS;
  void Replay(const LogRecord& record) NO_THREAD_SAFETY_ANALYSIS;
  void RunAgain(std::string_view operations, Lsn lsn);
  void StartThreads();

  // Returns the catalogue while the gate is closed. Tables are only added inside the gate, so the
  // catalogue does not change meanwhile.
  const std::vector<TableEntry>& ChangelessCatalogue() const NO_THREAD_SAFETY_ANALYSIS {
    return catalogue_;
  }
  void AddTree(const TableEntry& entry, NodeRef root) REQUIRES(tables_mutex_);
  void SetRootLimit() REQUIRES(tables_mutex_);
  void WriteTable(Header* next, const std::string& tables);
  bool failed() const { return failed_.load(std::memory_order_relaxed) || gate_.broken(); }
  void CheckUsable() const;
  void CheckWritable() EXCLUDES(commits_);
  void Fail(const std::exception& why) noexcept;
  void NoteLogGrowth(Lsn end);
  void CheckpointLoop();
  void CleanerLoop();
  // Waits while a commit of several rows is being put into the roots. So a reader that has seen one
  // row of a commit finds all rows of it.
  void AwaitCommit() const;

  const std::string dir_;
  StoreOptions options_;
  DirLock lock_;
  std::unique_ptr<File> file_;
  std::unique_ptr<BlockTable> table_;
  Gate gate_;
  TreeCounters tree_counters_;
  std::unique_ptr<Cache> cache_;
  std::unique_ptr<Log> log_;
  RecoveryReport recovery_;
  std::atomic<uint64_t> root_limit_{0};

  mutable Mutex tables_mutex_;
  std::vector<TableEntry> catalogue_ GUARDED_BY(tables_mutex_);
  std::vector<std::unique_ptr<Tree>> trees_ GUARDED_BY(tables_mutex_);
  std::array<std::atomic<Tree*>, kMaxTables> tables_{};

  Mutex commits_;                      // gives commits the same order in the log and in the trees
  std::atomic<uint64_t> applying_{0};  // odd while a commit of several rows is applied
  std::vector<Message> messages_ GUARDED_BY(commits_);  // messages of the commit
  uint64_t next_transaction_ GUARDED_BY(commits_) = 1;

  Mutex checkpointing_;
  Header header_ GUARDED_BY(checkpointing_);  // header of the newest checkpoint
  std::atomic<Lsn> replay_from_{0};
  std::atomic<uint64_t> checkpoints_{0};

  std::atomic<bool> failed_{false};
  mutable Mutex failure_mutex_;
  std::string failure_ GUARDED_BY(failure_mutex_);

  mutable Mutex clients_mutex_;
  std::set<const StoreClient*> clients_ GUARDED_BY(clients_mutex_);
  Reads ended_reads_ GUARDED_BY(clients_mutex_);
  ReadCounters own_reads_;  // reads during the opening of the database

  Mutex cleaning_;  // held by the thread that runs CleanRound
  // This is the index in trees_ of the table that CleanRound looks at next.
  size_t next_cleaned_ GUARDED_BY(cleaning_) = 0;
  ReadCounters cleaner_reads_;  // reads of CleanRound

  Mutex wake_mutex_;
  CondVar wake_;
  bool stop_ GUARDED_BY(wake_mutex_) = false, checkpoint_wanted_ GUARDED_BY(wake_mutex_) = false;
  std::thread checkpointer_, cleaner_;
  TransactionParts parts_;  // commits that replay has not applied yet
};

// A StoreClient is one thread's access to a store (store_client.cc).
class StoreClient {
 public:
  explicit StoreClient(Store* store);
  ~StoreClient();
  StoreClient(const StoreClient&) = delete;
  StoreClient& operator=(const StoreClient&) = delete;

  // Writes the rows atomically, and returns when the commit is as durable as the options demand.
  // The rows have no more than StoreOptions::transaction_bytes of messages. Throws Error when the
  // commit failed.
  void Commit(std::span<const RowWrite> operations);
  // Returns whether the table has a committed row of that key; if so, sets *value. Throws Error
  // when a read fails or a node is damaged.
  bool Get(const Tree* tree, std::string_view key, std::string* value);
  // Copies the basement of the table that `bound` and `key` name (Tree::Bound).
  void CopyBasement(const Tree* tree, Tree::Bound bound, std::string_view key, BasementCopy* copy);
  const ReadCounters& reads() const { return reads_; }

 private:
  void MakeRoom(std::span<const RowWrite> operations);
  bool RootIsOverfull(std::span<const RowWrite> operations) const;
  // Appends the operations to the log and applies them. Returns false, and has done nothing, when a
  // root has no room any more because other commits came first.
  bool TryCommit(std::span<const RowWrite> operations, LogRange* range);
  LogRange AppendOperations(std::span<const RowWrite> operations) REQUIRES(store_->commits_);
  class Applying;
  void Apply(std::span<const RowWrite> operations, uint64_t number) REQUIRES(store_->commits_);
  void Relax();

  Store* const store_;
  ReadCounters reads_;
  std::string encoded_, part_;
};

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_STORE_H_

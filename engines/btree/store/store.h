// A Store is an open database: tables in one data file, with log, checkpoints and recovery. The
// engine (btree_engine.h) and the checker (inspect/check.h) use it.
//
//   StoreOptions options;
//   auto store = Store::Open(dir, options);
//   Tree* tree = store->OpenTable("default");
//   StoreClient client(store.get());               // one per thread
//   client.Commit(operations);                     // atomic; as durable as options.durability says
//   client.Get(tree, key, &value);
//
// A commit is one logical log record. It is appended while the locks of its rows are held, and then
// applied to the trees. Uncommitted rows never reach a page, so recovery has nothing to undo.
// Isolation is read committed: a reader sees each row as some commit left it. A Get waits for a
// commit of several rows that is writing its row, so that Gets never show a part of a commit. A
// cursor does not wait: a scan may show some rows from before and some from after a commit that
// runs meanwhile.
//
// Files in the directory:
//   btree.data          pages (page.h); its presence means that the database exists
//   btree.doublewrite   torn-page protection (page_file.h)
//   btree.checkpoint.N  states of the last two checkpoints, N = 0 and 1 (meta.h)
//   btree.log/          the write-ahead log (device/log/log.h)
//   btree.replay        operations from the log during recovery (replay_spool.h)
//   btree.data.new      the data file while the database is made
//
// An error after a commit is in the log, and a failed write or sync of any file, puts the store out
// of service: every later commit and checkpoint throws Error, reads go on, and opening the database
// again recovers every acknowledged commit. A full disk puts the store out of service only while it
// is full: commits are refused and reads go on; the first commit that finds space again succeeds.
#ifndef TESTBED_ENGINES_BTREE_STORE_STORE_H_
#define TESTBED_ENGINES_BTREE_STORE_STORE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/file/file.h"
#include "device/log/log.h"
#include "device/os/dir_lock.h"
#include "device/os/mutex.h"
#include "engines/btree/page/meta.h"
#include "engines/btree/page/page_codec.h"
#include "engines/btree/page/space.h"
#include "engines/btree/pool/page_file.h"
#include "engines/btree/pool/pool.h"
#include "engines/btree/pool/redo_log.h"
#include "engines/btree/store/row_locks.h"
#include "engines/btree/tree/change_buffer.h"
#include "engines/btree/tree/tree.h"
#include "engines/engine.h"

namespace testbed::btree {

inline constexpr PageId kCatalogueRoot = 1;
inline constexpr uint32_t kCatalogueTable = 0;
inline constexpr uint32_t kMaxTables = 4096;  // including the catalogue

struct StoreOptions {
  bool create = true;
  IoMode io = IoMode::kBuffered;
  Advice advice = Advice::kNormal;
  uint32_t page_size = 8192;
  uint64_t cache_bytes = 64ull << 20;
  Durability durability = Durability::kLazy;
  TornPage torn_page = TornPage::kDoublewrite;
  // A checkpoint is taken after this many bytes of log. A commit waits for the checkpoint when the
  // log would grow to twice this length. So this bounds the size of the log and of what recovery
  // replays, except for page images.
  uint64_t checkpoint_log_bytes = 256ull << 20;
  uint64_t scan_readahead_bytes = 128ull << 10;  // bytes that a scan reads ahead at once, at most
  // This is the codec of pages that are written from now on. A database may have compressed pages
  // only if it was created with a codec. A codec is refused with mmap, with pages of 4096 bytes and
  // with TornPage::kAtomic.
  PageCodec compression = PageCodec::kNone;
  uint32_t compressed_cache_pct = 0;  // share of cache_bytes for compressed pages, 0 to 95
  uint64_t change_buffer_bytes = 0;   // most bytes of rows in the change buffer; 0 = none
  LogOptions log;
};

// Throws Error (kUsage), as Store::Open does, when no database can be opened with these options in
// any directory. Opens nothing. Thread-safe.
void CheckOptions(const StoreOptions& options);
// Returns whether the pool's part of options.cache_bytes holds the least number of pages that a
// pool has. Thread-safe.
bool HoldsEnoughPages(const StoreOptions& options);

struct RecoveryResult {
  bool needed = false;         // the log had records after the checkpoint
  uint64_t log_bytes = 0;      // bytes of log that were read
  uint64_t transactions = 0;   // transactions that were replayed
  uint64_t pages_changed = 0;  // pages changed by replaying changes of shape
  uint32_t torn_pages = 0;     // pages restored from the doublewrite file
};

class ReplaySpool;
class Store;

// A CommitSlot tells checkpoints about the commit that a thread is executing.
struct alignas(64) CommitSlot {
  // All log records of the commit lie at or after this position; kNoLsn = no commit.
  std::atomic<Lsn> active{kNoLsn};
};

// A StoreClient is one thread's access to a store. Not thread-safe. Destroy it before the store.
class StoreClient : public LeafFiller {
 public:
  explicit StoreClient(Store* store);
  ~StoreClient() override;
  StoreClient(const StoreClient&) = delete;
  StoreClient& operator=(const StoreClient&) = delete;

  TreeContext* context() { return &context_; }
  // Returns whether the table has a committed row of that key; if so, sets *value. Throws Error
  // when a page cannot be read.
  bool Get(const Tree* tree, std::string_view key, std::string* value);
  // Writes the rows atomically, and returns when the commit is as durable as the store's options
  // demand. No two of the rows may have the same table and key. Throws Error when the commit
  // failed. If it failed after the log had it, the store is out of service, and the next open may
  // find the commit.
  void Commit(std::span<const RowWrite> operations);

 private:
  friend class Store;
  class Attempt;
  void WriteLongValues(std::span<const RowWrite> operations, Lsn begin);
  template <typename Rows>
  uint64_t LeafBytes(const Rows& rows) const;
  CommitSize SizeOf(std::span<const RowWrite> operations);
  LogRange AppendOperations(std::span<const RowWrite> operations);
  LogRange AppendParts(std::span<const RowWrite> operations);
  void AppendOrFail(std::span<const RowWrite> operations);
  void Apply(std::span<const RowWrite> operations);
  uint64_t Moves() const override;
  bool Fill(const Tree& tree, const Node& leaf, std::vector<BufferedRow>* waiting) override;
  std::vector<BufferedRow> RowsOf(const Tree& tree, const Node& leaf, size_t most_bytes);
  void EmptyFullBuffer();
  // Moves rows of the change buffer to the next leaf. Returns false when the buffer is empty.
  bool MoveToNextLeaf();
  void MoveToLeaf(Tree* tree, const std::vector<BufferedRow>& candidates);

  Store* const store_;
  TreeContext context_;
  CommitSlot slot_;
  // The members below keep their memory between commits, so that a commit allocates nothing.
  std::vector<RowLocks::Row> rows_;
  std::vector<OverflowRef> runs_;  // by operation; `pages` is 0 when a value needs no run
  std::string encoded_, part_;
};

// Thread-safe.
class Store {
 public:
  // Opens the database in `dir`, and recovers it if needed; creates it when `dir` holds none and
  // options.create is set. Throws Error: kUsage when there is no database, options clash or another
  // process has it open; kCorruption when it is damaged; kIo.
  static std::unique_ptr<Store> Open(const std::string& dir, const StoreOptions& options);
  // Takes a checkpoint, unless the store is out of service. Clients must have been destroyed.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Destroys the store, and returns the lock that it has on its directory.
  static DirLock Close(std::unique_ptr<Store> store);

  // Returns whether `dir` holds a database.
  static bool Exists(const std::string& dir);

  // Returns whether a Get of the row would not wait for a commit (RowLocks::Unlocked).
  bool RowUnlocked(const Tree* tree, std::string_view key) {
    return row_locks_.Unlocked(tree->table(), key);
  }

  // Returns the table, and creates it when it does not exist. The tree stays owned by the store.
  // Throws Error (kUsage) when the name is longer than a key or there are too many tables.
  Tree* OpenTable(const std::string& name);
  // Returns the table of that number; null when there is none.
  Tree* Table(uint32_t id) const {
    return id < kMaxTables ? tables_[id].load(std::memory_order_acquire) : nullptr;
  }
  // Returns the table of that number to a session. Throws Error (kUsage) when there is none, and
  // for the tables that are the store's own: the catalogue and that of the change buffer.
  Tree* SessionTable(uint32_t id) const {
    Tree* const tree = Table(id);
    const bool is_buffer = change_buffer_ != nullptr && change_buffer_->tree() == tree;
    if (tree == nullptr || id == kCatalogueTable || is_buffer) ThrowNotOpened(id);
    return tree;
  }
  std::map<std::string, uint32_t> TableNames() const;

  // Changes the size of the pool and the compressed cache together, and the limit of the change
  // buffer with them. HoldsEnoughPages must be true of the size. Throws what Pool::Resize throws,
  // and the sizes are then the old ones.
  void ResizeCache(uint64_t bytes);

  // Writes all pages that are dirty when it is called.
  void Flush();
  // Writes all dirty pages and makes all commits durable, records that state as a checkpoint, and
  // truncates the log before it. Throws Error when a write or sync fails.
  void Checkpoint();
  // Takes a checkpoint and returns its state. The log behind its redo point stays, whatever later
  // checkpoints say, until KeepLogFrom names another position: the log before that may go, kNoLsn
  // says that all of it may.
  CheckpointState CheckpointKeepingLog();
  void KeepLogFrom(Lsn lsn) { kept_log_.store(lsn); }

  // Puts the store out of service: it takes no more commits. The first reason is kept for errors.
  void Fail(const std::exception& why) noexcept;
  // Throws Error (kIo) when the store is out of service.
  void CheckUsable() {
    if (service_.load(std::memory_order_relaxed) != Service::kUsable) ThrowUnlessUsable();
  }

  const StoreOptions& options() const { return options_; }
  // Returns the protection that is in force. A full disk may leave the doublewrite file in force in
  // place of images in the log, until the next opening.
  TornPage torn_page() const {
    const bool images = options_.torn_page == TornPage::kFullPageImage;
    return images && !logs_images_ ? TornPage::kDoublewrite : options_.torn_page;
  }
  const RecoveryResult& recovery() const { return recovery_; }
  Pool* pool() { return pool_.get(); }
  PageFile* file() { return file_.get(); }
  Space* space() { return space_.get(); }
  // Returns the change buffer; null when the database has none.
  ChangeBuffer* change_buffer() const { return change_buffer_.get(); }
  Log* log() { return redo_.log(); }
  uint64_t checkpoints() const { return checkpoints_.load(); }
  uint64_t DataBytesOnDisk() const;  // data, doublewrite and checkpoint files
  uint64_t LogBytesOnDisk() const;
  const std::string& dir() const { return dir_; }

 private:
  friend class StoreClient;

  Store(const std::string& dir, const StoreOptions& options);
  uint64_t CompressedCacheBytes(uint64_t cache_bytes) const;
  void Create();
  CheckpointState OpenFiles();
  CheckpointState ReadDurableCheckpoint() const;
  void Recover(const CheckpointState& state);
  void EndRecovery();
  void GrowFiles(uint32_t pages);
  void RunAgain(ReplaySpool* spool);
  uint64_t KeepFreePages();
  // PutOff has the writes that found no page on a full disk: for each table and key, the log record
  // and the value.
  using PutOff = std::map<std::pair<uint32_t, std::string>, std::pair<LogRange, std::string>>;
  void RunPutOff(StoreClient* client, PutOff* put_off);
  std::optional<Error> TryOperation(StoreClient* client, const RowWrite& op, bool keep);
  void RunOperation(StoreClient* client, const RowWrite& op) NO_THREAD_SAFETY_ANALYSIS;
  bool RewriteLongValue(TreeContext* context, const Tree* tree, const RowWrite& op);
  void LoadCatalogue() NO_THREAD_SAFETY_ANALYSIS;
  void LoadChangeBuffer() NO_THREAD_SAFETY_ANALYSIS;
  void StartChangeBuffer();
  Tree* AddTable(const std::string& name, std::string_view value) REQUIRES(tables_mutex_);
  [[noreturn]] static void ThrowNotOpened(uint32_t table);
  Lsn RedoPoint();
  void TakeCheckpoint() REQUIRES(checkpoint_mutex_);
  void CheckpointLoop();
  void CheckWritable();
  void ThrowUnlessUsable();
  [[noreturn]] void ThrowUnusable();
  void OweCheckpoint(const Error& error);
  void NoteFileError(const Error& error, bool lasts);
  bool failed() const { return service_.load() == Service::kFailed; }
  // Returns whether the store must take a checkpoint before it may be kUsable.
  bool owes_checkpoint() const {
    const Log* log = redo_.log();
    return log != nullptr && log->LacksReserve();
  }
  void NoteLogGrowth(Lsn end);

  const std::string dir_;
  const StoreOptions options_;
  DirLock lock_;  // lock on dir_
  std::unique_ptr<PageFile> file_;
  RedoLog redo_;
  std::unique_ptr<Space> space_;
  std::unique_ptr<Pool> pool_;
  RowLocks row_locks_;
  std::unique_ptr<ChangeBuffer> change_buffer_;
  OpKind merge_op_;  // kind of operation of moving rows out of the change buffer
  RecoveryResult recovery_;
  CheckpointState state_;          // state of the last checkpoint
  uint64_t checkpoint_space_ = 0;  // bytes that each checkpoint file has space for
  // This is true while page images in the log protect from torn pages. During recovery the
  // doublewrite file protects from them, as images would fill the log's reserve.
  std::atomic<bool> logs_images_{false};

  mutable Mutex tables_mutex_;              // protects the members up to next_table_
  std::vector<std::atomic<Tree*>> tables_;  // indexed by table number; read without the mutex
  std::deque<std::unique_ptr<Tree>> owned_tables_ GUARDED_BY(tables_mutex_);
  std::map<std::string, uint32_t> table_names_ GUARDED_BY(tables_mutex_);
  uint32_t next_table_ GUARDED_BY(tables_mutex_) = 1;  // number of the next new table

  mutable Mutex clients_mutex_;  // protects slots_
  std::set<CommitSlot*> slots_ GUARDED_BY(clients_mutex_);

  mutable Mutex failure_mutex_;  // protects failure_ and changes of service_
  enum class Service : uint8_t { kUsable, kDiskFull, kFailed };
  std::atomic<Service> service_{Service::kUsable};
  std::string failure_ GUARDED_BY(failure_mutex_);  // why service_ is not kUsable

  Mutex checkpoint_mutex_;             // held by the thread that takes a checkpoint
  std::atomic<Lsn> last_redo_{0};      // redo point of the last checkpoint
  std::atomic<Lsn> kept_log_{kNoLsn};  // a backup needs the log from here on
  // This is about how many bytes of page images the pool had logged when the redo point of the last
  // checkpoint was taken.
  std::atomic<uint64_t> images_at_redo_{0};
  std::atomic<uint64_t> checkpoints_{0};
  // This is the number of the next transaction that is logged in parts. At an open it is set to the
  // end of the log, which grows faster than this number, so that no number is used twice.
  std::atomic<uint64_t> next_transaction_{0};
  Mutex wake_mutex_;  // protects wanted_, stop_ and checkpoint_rounds_
  CondVar wake_, checkpointed_;
  bool wanted_ GUARDED_BY(wake_mutex_) = false, stop_ GUARDED_BY(wake_mutex_) = false;
  // This is the number of checkpoints that the checkpointer has tried to take.
  uint64_t checkpoint_rounds_ GUARDED_BY(wake_mutex_) = 0;
  std::thread checkpointer_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_STORE_STORE_H_

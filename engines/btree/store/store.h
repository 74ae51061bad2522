// A database: tables in one data file, with log, checkpoints and recovery. The engine interface
// (btree_engine.h) and the checker (check.h) stand on it.
//
//   StoreOptions options;
//   auto store = Store::Open(dir, options);
//   Tree* tree = store->OpenTable("default");
//   StoreClient client(store.get());               // one a thread
//   client.Commit(operations);                     // atomic; durable as options.durability says
//   client.Get(tree, key, &value);
//
// A commit is one logical log record, appended while the rows' locks are held, then applied to the
// trees; uncommitted rows never reach a page, so recovery has nothing to undo. Isolation is read
// committed: a reader sees each row as some commit left it. A Get waits for a commit that is just
// writing its row, so Gets never show half a commit; a cursor waits for none, so rows of a scan may
// come from before and from after a commit that runs beside it.
//
// Files in the directory:
//   btree.data          pages (page.h); its presence means that the database exists
//   btree.doublewrite   torn-page protection (page_file.h)
//   btree.checkpoint.N  what the last two checkpoints left (meta.h)
//   btree.lock          locked while the database is open
//   btree.log/          the write-ahead log (device/log/log.h)
//
// Errors that happen after a commit is in the log, and failed writes and syncs of any file, put the
// store out of service: every later commit and checkpoint throws, reads go on, and opening the
// database again recovers it with every acknowledged commit. Pages that find the disk full do so
// only until there is room: commits are refused, reads go on, and the first commit that finds room
// goes on too.
#ifndef TESTBED_ENGINES_BTREE_STORE_STORE_H_
#define TESTBED_ENGINES_BTREE_STORE_STORE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "device/error.h"
#include "device/file/file.h"
#include "device/log/log.h"
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
inline constexpr uint32_t kMaxTables = 4096;  // the catalogue counts as one

struct StoreOptions {
  bool create = true;
  IoMode io = IoMode::kBuffered;
  Advice advice = Advice::kNormal;
  uint32_t page_size = 8192;
  uint64_t cache_bytes = 64ull << 20;
  Durability durability = Durability::kLazy;
  TornPage torn_page = TornPage::kDoublewrite;
  // A checkpoint after so much log. Commits wait rather than let it grow to more than twice that,
  // so this bounds the log's size and what recovery has to replay, page images not counted.
  uint64_t checkpoint_log_bytes = 256ull << 20;
  // The most that a scan reads ahead at once.
  uint64_t scan_readahead_bytes = 128ull << 10;
  // Of pages written from now on. A new database that has one, and only such a one, may have
  // compressed pages; not with mmap, nor with pages of 4096 bytes, nor with TornPage::kAtomic.
  PageCodec compression = PageCodec::kNone;
  // Of cache_bytes, what the cache of compressed pages has. 0 to 95; where pages are compressed.
  uint32_t compressed_cache_pct = 0;
  // Rows that may wait in the change buffer; 0 = there is none.
  uint64_t change_buffer_bytes = 0;
  LogOptions log;
};

struct RecoveryResult {
  bool needed = false;         // the log had records after the checkpoint
  uint64_t log_bytes = 0;      // of it
  uint64_t transactions = 0;   // run again
  uint64_t pages_changed = 0;  // by replaying changes of shape
  uint32_t torn_pages = 0;     // put back from the doublewrite file
};

class ReplaySpool;
class Store;

// Where a thread's commit has got to, for checkpoints.
struct alignas(64) CommitSlot {
  // Everything that the commit under way writes to the log comes at or after this; kNoLsn = idle.
  std::atomic<Lsn> active{kNoLsn};
};

class StoreClient : public LeafFiller {
 public:
  explicit StoreClient(Store* store);
  ~StoreClient() override;
  StoreClient(const StoreClient&) = delete;
  StoreClient& operator=(const StoreClient&) = delete;

  TreeContext* context() { return &context_; }
  // The row as the last commit of it left it; the store's own writes only, not a transaction's.
  bool Get(const Tree* tree, std::string_view key, std::string* value);
  // Writes the rows atomically. No two of them may have the same table and key.
  void Commit(std::span<const RowWrite> operations);

 private:
  friend class Store;
  class Attempt;
  void WriteLongValues(std::span<const RowWrite> operations, Lsn begin);
  LogRange AppendOperations(std::span<const RowWrite> operations);
  LogRange AppendParts(std::span<const RowWrite> operations);
  void Apply(std::span<const RowWrite> operations);
  uint64_t Moves() const override;
  bool Fill(const Tree& tree, const Node& leaf) override;
  void EmptyFullBuffer();
  bool MoveToNextLeaf();
  void MoveToLeaf(Tree* tree, const std::vector<BufferedRow>& candidates);

  Store* const store_;
  TreeContext context_;
  CommitSlot slot_;
  // Kept between commits, so that they allocate nothing.
  std::vector<RowLocks::Row> rows_;
  std::vector<OverflowRef> runs_;  // one for each operation, pages 0 when it needs none
  std::string encoded_, part_;
};

class Store {
 public:
  static std::unique_ptr<Store> Open(const std::string& dir, const StoreOptions& options);
  // Takes a checkpoint, unless the store is out of service. Clients must be gone.
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // True when `dir` holds a database.
  static bool Exists(const std::string& dir);

  // Whether no commit is just writing the row, together with others: a Get would not wait.
  bool RowUnlocked(const Tree* tree, std::string_view key) {
    return row_locks_.Unlocked(tree->table(), key);
  }

  Tree* OpenTable(const std::string& name);
  Tree* Table(uint32_t id) const { return tables_[id].load(std::memory_order_acquire); }
  std::map<std::string, uint32_t> TableNames() const;

  // Of pool and compressed cache together; as Pool::Resize.
  void ResizeCache(uint64_t bytes);

  // Writes pages that are dirty now.
  void Flush();
  // The same, and makes what is committed durable and the log before it unnecessary.
  void Checkpoint();

  // The store will not take commits any more; the first reason is kept.
  void Fail(const std::string& why);
  void CheckUsable() {
    if (service_.load(std::memory_order_relaxed) != Service::kUsable) ThrowUnlessUsable();
  }

  const StoreOptions& options() const { return options_; }
  const RecoveryResult& recovery() const { return recovery_; }
  Pool* pool() { return pool_.get(); }
  PageFile* file() { return file_.get(); }
  Space* space() { return space_.get(); }
  // Null when the database has none.
  ChangeBuffer* change_buffer() const { return change_buffer_.get(); }
  Log* log() { return redo_.log(); }
  uint64_t checkpoints() const { return checkpoints_.load(); }
  uint64_t DataBytesOnDisk() const;  // pages, torn-page protection, checkpoint records
  uint64_t LogBytesOnDisk() const;
  const std::string& dir() const { return dir_; }

 private:
  friend class StoreClient;

  Store(const std::string& dir, const StoreOptions& options);
  uint64_t CompressedCacheBytes(uint64_t cache_bytes) const;
  void LockDirectory();
  void Create();
  void OpenFiles();
  void Recover(const CheckpointState& state);
  void RunAgain(ReplaySpool* spool);
  void RunOperation(StoreClient* client, const RowWrite& op);
  void LoadCatalogue();
  void LoadChangeBuffer();
  void StartChangeBuffer();
  Tree* AddTable(const std::string& name, std::string_view value);
  Lsn RedoPoint();
  void CheckpointLoop();
  void ThrowUnlessUsable();
  void NoteFileError(const Error& error, bool lasts);
  bool failed() const { return service_.load() == Service::kFailed; }
  void NoteLogGrowth(Lsn end);

  const std::string dir_;
  const StoreOptions options_;
  int lock_fd_ = -1;
  std::unique_ptr<PageFile> file_;
  RedoLog redo_;
  std::unique_ptr<Space> space_;
  std::unique_ptr<Pool> pool_;
  RowLocks row_locks_;
  std::unique_ptr<ChangeBuffer> change_buffer_;
  OpKind merge_op_;
  RecoveryResult recovery_;
  CheckpointState state_;  // of the last checkpoint

  mutable std::mutex tables_mutex_;
  std::vector<std::atomic<Tree*>> tables_;  // by number
  std::deque<std::unique_ptr<Tree>> owned_tables_;
  std::map<std::string, uint32_t> table_names_;
  uint32_t next_table_ = 1;

  mutable std::mutex clients_mutex_;
  std::set<CommitSlot*> slots_;

  mutable std::mutex failure_mutex_;
  enum class Service : uint8_t { kUsable, kDiskFull, kFailed };
  std::atomic<Service> service_{Service::kUsable};
  std::string failure_;

  std::mutex checkpoint_mutex_;  // one at a time
  std::atomic<Lsn> last_redo_{0};
  std::atomic<uint64_t> images_at_redo_{0};  // bytes of the pool's page images before it, or after
  std::atomic<uint64_t> checkpoints_{0};
  // Numbers for transactions that are logged in parts. Begins at the log's end, which grows faster,
  // so no number comes twice.
  std::atomic<uint64_t> next_transaction_{0};
  std::mutex wake_mutex_;
  std::condition_variable wake_, checkpointed_;
  bool wanted_ = false, stop_ = false;
  uint64_t checkpoint_rounds_ = 0;  // tried, whether they failed or not
  std::thread checkpointer_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_STORE_STORE_H_

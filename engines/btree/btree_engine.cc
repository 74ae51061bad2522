#include "engines/btree/btree_engine.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <utility>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/os/mutex.h"
#include "engines/btree/inspect/check.h"
#include "engines/btree/page/meta.h"
#include "engines/btree/store/backup.h"
#include "engines/btree/store/compact.h"
#include "engines/btree/store/read_queue.h"
#include "engines/btree/store/store.h"
#include "engines/btree/tree/cursor.h"
#include "engines/extra_options.h"
#include "engines/failed_before.h"
#include "engines/key_copies.h"
#include "engines/log_settings.h"

namespace testbed {
namespace {

using btree::Store;
using btree::StoreOptions;
using btree::TornPage;

std::string Absolute(const std::string& dir) {
  return dir.empty() ? dir : std::filesystem::absolute(dir).string();
}

class BtreeSession : public Session {
 public:
  explicit BtreeSession(Store* store) : store_(store), client_(store) {}

  void Begin() override {
    if (in_transaction_) throw Error(Error::kRun, "btree: Begin inside a transaction");
    in_transaction_ = true;
  }

  void Commit() override {
    if (!in_transaction_) throw Error(Error::kRun, "btree: Commit without Begin");
    in_transaction_ = false;
    ++state_.epoch;
    if (std::exchange(failed_, false)) {
      state_.writes.Clear();
      throw FailedBefore("btree");
    }
    try {
      client_.Commit(state_.writes.rows());
    } catch (...) {
      state_.writes.Clear();
      throw;
    }
    state_.writes.Clear();
  }

  void Rollback() override {
    if (!in_transaction_) throw Error(Error::kRun, "btree: Rollback without Begin");
    in_transaction_ = failed_ = false;
    ++state_.epoch;
    state_.writes.Clear();
  }

  bool Get(TableId table, std::string_view key, std::string_view* value) override {
    const btree::Tree* tree = store_->SessionTable(table);
    if (!state_.writes.empty()) {
      if (const auto* write = state_.writes.Find(table, key)) {
        *value = write->value;
        return !write->erase;
      }
    }
    const bool found = client_.Get(tree, Apart(key, value_, &key_copy_), &value_);
    *value = value_;
    return found;
  }

  void MultiGet(TableId table, std::span<const std::string_view> keys,
                std::vector<FoundRow>* rows) override {
    multi_keys_.Take(keys);
    if (!Together(keys.size())) return Session::MultiGet(table, multi_keys_.keys(), rows);
    GetTogether(table, rows);
  }

  void TakeEach(TableId table, std::span<const std::string_view> keys,
                const TakeRow& take) override {
    multi_keys_.Take(keys);
    if (!Together(keys.size())) return Session::TakeEach(table, multi_keys_.keys(), take);
    GetTogether(table, &multi_rows_);
    for (size_t i = 0; i < multi_rows_.size(); ++i) take(i, multi_rows_[i]);
  }

  void Put(TableId table, std::string_view key, std::string_view value) override {
    CheckRow(key, value);
    Write({false, table, key, value});
  }

  void Erase(TableId table, std::string_view key) override { Write({true, table, key, {}}); }

  std::unique_ptr<Cursor> NewCursor(TableId table) override {
    return std::make_unique<btree::BtreeCursor>(store_->SessionTable(table), client_.context(),
                                                &state_, store_->options().page_size);
  }

  std::unique_ptr<ReadQueue> NewReadQueue(uint32_t depth) override {
    if (!store_->file()->can_start_reads()) return nullptr;
    return std::make_unique<btree::BtreeReadQueue>(store_, &client_, &state_, depth);
  }

  bool BlockCounts(uint64_t* requests, uint64_t* misses) override {
    *requests = client_.context()->client.requests.Get();
    *misses = client_.context()->client.misses.Get() + client_.context()->client.fetched.Get();
    return true;
  }

 private:
  // Looks multi_keys_ up together: the look-ups whose pages are in the pool go on by turns, and the
  // others have their reads in flight at the same time (BtreeReadQueue::StartAll).
  void GetTogether(TableId table, std::vector<FoundRow>* rows) {
    store_->SessionTable(table);
    const std::vector<std::string_view>& keys = multi_keys_.keys();
    rows->resize(keys.size());
    try {
      multi_->StartAll(table, keys);
      for (size_t ended = 0; ended < keys.size(); ++ended) {
        FoundRow row;
        const uint32_t i = multi_->Finish(&row.found, &row.value);
        (*rows)[i] = row;
      }
    } catch (...) {
      // The queue's destructor ends the reads that are still in flight, whose pages are latched.
      multi_.reset();
      throw;
    }
  }
  // Returns whether MultiGet keeps the reads of `n` keys in flight together. If so, multi_ has
  // enough slots.
  bool Together(size_t keys) { return keys >= 2 && PrepareQueue(keys); }
  // Makes multi_ large enough for `slots` look-ups. Returns false when no reads can be in flight.
  bool PrepareQueue(size_t slots) {
    if (!store_->file()->can_start_reads() || slots > kMostTogether) return false;
    if (multi_ != nullptr && multi_slots_ >= slots) return true;
    const auto larger = static_cast<uint32_t>(std::bit_ceil(std::max<size_t>(slots, 32)));
    try {
      multi_ = std::make_unique<btree::BtreeReadQueue>(store_, &client_, &state_, larger, false);
    } catch (const Error&) {
      return false;  // the kernel gives no io_uring, and multi_ stays as it is
    }
    multi_slots_ = larger;
    return true;
  }

  void CheckRow(std::string_view key, std::string_view value) const {
    const size_t longest = btree::MaxKeySize(store_->options().page_size);
    if (key.size() > longest) {
      throw Error(Error::kUsage, "a key of " + std::to_string(key.size()) +
                                     " bytes is too long for btree: with pages of " +
                                     std::to_string(store_->options().page_size) + " it takes " +
                                     std::to_string(longest) + "; give a larger --page-size");
    }
    if (value.size() > btree::kMaxValueSize) {
      throw Error(Error::kUsage, "a value of " + std::to_string(value.size()) +
                                     " bytes is too long for btree, which takes " +
                                     std::to_string(btree::kMaxValueSize));
    }
  }

  void Write(const RowWrite& row) {
    store_->SessionTable(row.table);
    if (failed_) throw FailedBefore("btree");
    // Such a row is an erase, which has no row to erase.
    if (row.key.size() > btree::MaxKeySize(store_->options().page_size)) return;
    ++state_.epoch;
    if (!in_transaction_) return client_.Commit({&row, 1});
    try {
      state_.writes.Set(row.table, row.key, row.erase, row.value);
    } catch (...) {
      failed_ = true;  // if memory ran out, the write set may or may not have the row
      throw;
    }
  }

  Store* const store_;
  btree::StoreClient client_;
  btree::SessionState state_;
  bool in_transaction_ = false;
  bool failed_ = false;  // a write of the transaction has failed
  std::string value_, key_copy_;
  static constexpr size_t kMostTogether = 1024;
  // These are the keys and rows of MultiGet and TakeEach. The keys are copies, as they may be
  // values that the queue's slots hold.
  KeyCopies<std::string_view> multi_keys_;
  std::vector<FoundRow> multi_rows_;
  std::unique_ptr<btree::BtreeReadQueue> multi_;  // the queue of MultiGet
  uint32_t multi_slots_ = 0;                      // number of slots of multi_
};

class BtreeEngine : public Engine {
 public:
  BtreeEngine(std::unique_ptr<Store> store, const EngineOptions& options)
      : store_(std::move(store)), lazy_interval_ms_(options.lazy_interval_ms) {}
  // A forked child closes nothing: it has a copy of the engine's memory, but none of its threads,
  // and the files are its parent's.
  ~BtreeEngine() override {
    if (!InForkedChild()) return;
    [[maybe_unused]] const Store* const of_parent = store_.release();
  }

  std::string name() const override { return "btree"; }
  TableId OpenTable(const std::string& table) override {
    CheckProcess();
    if (table == btree::kChangeBufferTable) {
      throw Error(Error::kUsage, "btree keeps a table of the name " + table + " for itself");
    }
    return store_->OpenTable(table)->table();
  }
  std::unique_ptr<Session> NewSession() override {
    CheckProcess();
    return std::make_unique<BtreeSession>(store_.get());
  }
  void Flush() override {
    CheckProcess();
    store_->Flush();
  }
  void Checkpoint() override {
    CheckProcess();
    store_->Checkpoint();
  }
  void Settle() override { Checkpoint(); }
  // Refuses a size with which the database could not be opened: the pool would keep its least
  // number of frames, and hold more than it was given.
  bool ResizeCache(uint64_t bytes) override {
    CheckProcess();
    StoreOptions resized = store_->options();
    resized.cache_bytes = bytes;
    if (!btree::HoldsEnoughPages(resized)) return false;
    store_->ResizeCache(bytes);
    return true;
  }
  void Backup(const std::string& dir) override {
    CheckProcess();
    const std::string to = Absolute(dir);
    LockGuard one(backup_mutex_);
    btree::BackUp(store_.get(), to);
  }

  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override {
    CheckProcess();
    const StoreOptions& o = store_->options();
    const btree::CompressedCache::Counters compressed = CompressedCounters();
    std::vector<std::pair<std::string, std::string>> settings = {
        {"io", IoModeName(o.io)},
        {"advice", AdviceName(o.advice)},
        {"page_size", std::to_string(o.page_size)},
        {"cache_bytes", std::to_string(store_->pool()->bytes() + compressed.budget)},
        {"compression", btree::PageCodecName(o.compression)},
        {"compressed_cache_pct", std::to_string(o.compressed_cache_pct)},
        {"cache_pages", std::to_string(store_->pool()->frames())},
        {"cache_held_bytes", std::to_string(store_->pool()->MemoryBytes() + compressed.memory)},
        {"cache_fixed_bytes", std::to_string(btree::Pool::kFixedBytes)},
        {"replacement", "s3-fifo"},
        {"durability", DurabilityName(o.durability)},
        {"lazy_interval_ms", std::to_string(lazy_interval_ms_)},
        {"torn_page", btree::TornPageName(store_->torn_page())},
        {"checkpoint_log", std::to_string(o.checkpoint_log_bytes)},
        {"scan_readahead", std::to_string(o.scan_readahead_bytes)},
        {"change_buffer_bytes", std::to_string(ChangeBufferLimit())},
    };
    for (auto& [name, value] : store_->log()->EffectiveSettings()) {
      settings.emplace_back(name, std::move(value));
    }
    return settings;
  }

  EngineCounters Counters() const override {
    CheckProcess();
    EngineCounters c;
    const btree::PoolCounters pool = store_->pool()->Counters();
    const LogCounters log = store_->log()->Counters();
    const uint64_t page_size = store_->options().page_size;
    c.block_requests = pool.requests;
    c.block_hits = pool.requests - std::min(pool.misses, pool.requests);
    c.block_reads = pool.misses + pool.fetched;
    c.block_read_bytes = *c.block_reads * page_size - store_->file()->bytes_skipped();
    c.blocks_written = pool.written;
    c.block_write_bytes = store_->file()->bytes_written();
    c.log_payload_bytes = log.payload_bytes;
    c.log_written_bytes = log.written_bytes;
    const btree::CompressedCache::Counters compressed = CompressedCounters();
    c.cache_bytes = store_->pool()->MemoryBytes() + compressed.memory;
    c.now = {
        {"file_pages", store_->space()->file_pages()},
        {"used_pages", store_->space()->used_pages()},
        {"recovered_log_bytes", store_->recovery().log_bytes},
        {"recovered_transactions", store_->recovery().transactions},
        {"recovered_torn_pages", store_->recovery().torn_pages},
    };
    c.more = {
        {"pages_read_ahead", pool.fetched},
        {"doublewrite_bytes", store_->file()->doublewrite_bytes()},
        {"page_images", pool.images},
        {"page_image_bytes", pool.image_bytes},
        {"evictions", pool.evictions},
        {"pages_cleaned", pool.cleaned},
        {"frame_waits", pool.frame_waits},
        {"checkpoints", store_->checkpoints()},
    };
    if (store_->file()->compressed_cache() != nullptr) {
      c.now.emplace_back("compressed_cache_pages", compressed.pages);
      c.now.emplace_back("compressed_cache_bytes", compressed.bytes);
      c.more.emplace_back("compressed_cache_requests", compressed.requests);
      c.more.emplace_back("compressed_cache_hits", compressed.hits);
    }
    if (const btree::ChangeBuffer* buffer = store_->change_buffer()) {
      c.now.emplace_back("change_buffer_rows", buffer->rows());
      c.now.emplace_back("change_buffer_bytes", buffer->bytes());
      c.more.emplace_back("change_buffer_rows_buffered", buffer->rows_buffered());
      c.more.emplace_back("change_buffer_rows_moved", buffer->rows_moved());
      c.more.emplace_back("change_buffer_leaves_filled", buffer->leaves_filled());
    }
    for (auto& counter : LogCounterPairs(log)) c.more.push_back(std::move(counter));
    return c;
  }

  DiskSize SizeOnDisk() const override {
    CheckProcess();
    return {store_->DataBytesOnDisk(), store_->LogBytesOnDisk()};
  }

 private:
  // Returns the limit that ResizeCache has set, or else that of the opening; 0 when there is no
  // change buffer, also because the opening found no room for it.
  uint64_t ChangeBufferLimit() const {
    const btree::ChangeBuffer* const buffer = store_->change_buffer();
    return buffer != nullptr ? buffer->most_bytes() : 0;
  }
  bool InForkedChild() const { return ::getpid() != process_; }
  // A child that used the database would wait for threads that it does not have, such as one that
  // held a mutex at the fork, or write to the files of its parent's database.
  void CheckProcess() const {
    if (!InForkedChild()) return;
    throw Error(Error::kRun, "the btree database in " + store_->dir() +
                                 " was opened by the process from which this one was forked: use "
                                 "it there alone, or open it after the fork");
  }
  btree::CompressedCache::Counters CompressedCounters() const {
    const btree::CompressedCache* cache = store_->file()->compressed_cache();
    return cache != nullptr ? cache->Count() : btree::CompressedCache::Counters();
  }

  std::unique_ptr<Store> store_;
  Mutex backup_mutex_;  // held by the thread that makes a backup
  const uint32_t lazy_interval_ms_;
  const pid_t process_ = ::getpid();  // the process that opened the database
};

StoreOptions OptionsOf(const EngineOptions& options) {
  const ExtraOptions extra("btree", options.extra);
  StoreOptions o;
  o.create = options.create;
  o.io = options.io;
  o.advice = options.io == IoMode::kMmap       ? options.mmap_advice
             : options.io == IoMode::kBuffered ? options.file_advice
                                               : Advice::kNormal;
  o.page_size = options.page_size;
  o.cache_bytes = options.cache_bytes;
  o.durability = options.durability;
  o.torn_page = extra.Choice(
      "torn_page", TornPage::kDoublewrite,
      {TornPage::kDoublewrite, TornPage::kFullPageImage, TornPage::kAtomic, TornPage::kNone},
      btree::TornPageName);
  o.checkpoint_log_bytes =
      extra.Bytes("checkpoint_log", CheckpointLogBytes(options), 1ull << 20, 1ull << 40);
  o.scan_readahead_bytes = extra.Bytes("scan_readahead", 128ull << 10, 0, 16ull << 20);
  o.change_buffer_bytes = options.cache_bytes / 100 * extra.Integer("change_buffer_pct", 0, 0, 50);
  o.compression = btree::PageCodecByName(options.compression);
  o.compressed_cache_pct = static_cast<uint32_t>(extra.Integer("compressed_cache_pct", 0, 0, 95));
  if (o.compressed_cache_pct > 0 && o.compression == btree::PageCodec::kNone) {
    throw Error(Error::kUsage,
                "compressed_cache_pct keeps compressed pages: give --compression lz4 or zstd");
  }
  o.log = LogOptionsOf(options, extra);
  o.log.reserve = true;
  return o;
}

std::unique_ptr<Engine> OpenChecked(const std::string& dir, const EngineOptions& options) {
  return std::make_unique<BtreeEngine>(Store::Open(dir, OptionsOf(options)), options);
}

// A compaction that was interrupted while it exchanged the files has left the database in its own
// directory.
DatabaseFormat FormatOf(const std::string& dir) {
  const std::string compacted = btree::DataPath(btree::CompactedPath(dir));
  const std::string path = IsThere(compacted) ? compacted : btree::DataPath(dir);
  const btree::SuperblockFields super = btree::CheckSuperblock(path, dir, 0);
  return {super.page_size, super.compressed};
}

}  // namespace

EngineInfo BtreeEngineInfo() {
  EngineInfo info;
  info.name = "btree";
  info.summary = "page-based b-tree of this project: pool, write-ahead log, checkpoints";
  info.version = "1";
  Capabilities& can = info.capabilities;
  can.io_modes = {IoMode::kDirect, IoMode::kBuffered, IoMode::kMmap};
  can.resizable_cache = true;
  can.reads_in_flight = true;
  can.backup = true;
  can.durabilities = {Durability::kSync, Durability::kLazy, Durability::kNone};
  can.compressions = {"none", "lz4", "zstd"};
  can.min_page_size = btree::kMinPageSize;
  can.max_page_size = btree::kMaxPageSize;
  can.max_key_size = btree::MaxKeySize(btree::kMinPageSize);
  can.max_value_size = btree::kMaxValueSize;
  can.extra_options = {
      {"torn_page",
       "protection from torn pages: doublewrite (default), full_page_image (in the log), atomic "
       "(the device writes whole pages), none (torn pages are only detected)"},
      {"checkpoint_log", "bytes of log after which a checkpoint is taken (--ram, 64M to 2G)"},
      {"change_buffer_pct",
       "size limit of the change buffer, in percent of the cache: 0 (no change buffer) to 50 (0)"},
      {"compressed_cache_pct",
       "percent of the cache that holds compressed pages, as the file has them: 0 to 95 (0)"},
      {"scan_readahead",
       "most bytes that a scan reads ahead, with all these reads in flight together; 0: none "
       "(128k)"},
  };
  AddLogOptions(&can);
  // Databases that earlier versions made have a btree.lock.
  info.files = {"btree.data",         "btree.data.new",    "btree.backup",
                "btree.lock",         "btree.doublewrite", "btree.checkpoint.0",
                "btree.checkpoint.1", "btree.replay",      "btree.log/log-#"};
  for (const char* left : {"btree.*", "btree.log/log-#", "btree.old/log-#"}) {
    // An interrupted compaction leaves these files.
    info.files.push_back(std::string("btree.compact*/") + left);
  }
  info.recognises = [](const std::string& dir) { return Store::Exists(dir); };
  info.check_options = [](const EngineOptions& o) { btree::CheckOptions(OptionsOf(o)); };
  info.open = OpenChecked;
  info.check = info.tree = btree::InspectDatabase;
  info.compact = [](const std::string& dir, const EngineOptions& options) {
    btree::Compact(dir, OptionsOf(options));
  };
  info.format = FormatOf;
  return info;
}

std::unique_ptr<Engine> OpenBtree(const std::string& dir, const EngineOptions& options) {
  // The path is made absolute, as the program may change its working directory while the database
  // is open.
  return OpenEngine(BtreeEngineInfo(), Absolute(dir), options);
}

void CompactBtree(const std::string& dir, const EngineOptions& options) {
  CompactDatabase(BtreeEngineInfo(), Absolute(dir), options);
}

}  // namespace testbed

#include "engines/wiredtiger/wiredtiger_engine.h"

#include <fmt/format.h>
#include <wiredtiger.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <thread>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/directory.h"
#include "device/os/dir_lock.h"
#include "device/os/mutex.h"
#include "engines/lazy_sync.h"
#include "engines/wiredtiger/catalogue_files.h"
#include "engines/wiredtiger/periodic.h"
#include "engines/wiredtiger/session.h"
#include "engines/wiredtiger/settings.h"
#include "engines/wiredtiger/versions.h"

namespace testbed {
namespace wiredtiger {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// Statistics reads WiredTiger's counters through a statistics cursor. Thread-safe.
class Statistics {
 public:
  explicit Statistics(Database* database) : database_(database) {
    on_ = StatisticsOn(database->settings.connection);
    if (!on_) return;
    session_ = database->OpenSession();
    database->errors.Check(
        session_->open_cursor(session_, "statistics:", nullptr, "statistics=(fast)", &cursor_),
        "opening its statistics");
  }
  bool on() const { return on_; }  // StatisticsOn

  // Returns the values of `keys` (WT_STAT_CONN_*), all as of the same moment.
  std::vector<uint64_t> Read(const std::vector<int>& keys) {
    LockGuard lock(mutex_);
    std::vector<uint64_t> values;
    int code = cursor_->reset(cursor_);  // makes WiredTiger read its counters anew
    for (int key : keys) {
      const char* description;
      const char* text;
      uint64_t value = 0;
      cursor_->set_key(cursor_, key);
      if (code == 0) code = cursor_->search(cursor_);
      if (code == 0) code = cursor_->get_value(cursor_, &description, &text, &value);
      values.push_back(value);
    }
    database_->errors.Check(code, "reading its statistics");
    return values;
  }

 private:
  Database* const database_;
  bool on_ = false;
  Mutex mutex_;
  WT_SESSION* session_ GUARDED_BY(mutex_) = nullptr;
  WT_CURSOR* cursor_ GUARDED_BY(mutex_) = nullptr;
};

// Returns the catalogue's configuration of `uri`, empty when the catalogue does not have `uri`.
// `view` is "metadata:" or, for the configuration with which it was created, all defaults included,
// "metadata:create".
std::string CatalogueEntry(Database* database, WT_SESSION* session, const char* view,
                           const std::string& uri) {
  WT_CURSOR* cursor = nullptr;
  database->errors.Check(session->open_cursor(session, view, nullptr, nullptr, &cursor),
                         "opening its catalogue");
  cursor->set_key(cursor, uri.c_str());
  int code = cursor->search(cursor);
  const char* config = "";
  if (code == 0) code = cursor->get_value(cursor, &config);
  std::string result = code == 0 ? config : "";
  cursor->close(cursor);
  if (code != WT_NOTFOUND) database->errors.Check(code, "reading its catalogue");
  return result;
}

// Returns the names in the catalogue that begin with `type`, such as "table:".
std::vector<std::string> Catalogue(Database* database, WT_SESSION* session, const char* type) {
  WT_CURSOR* cursor = nullptr;
  database->errors.Check(session->open_cursor(session, "metadata:", nullptr, nullptr, &cursor),
                         "opening its catalogue");
  std::vector<std::string> uris;
  int code;
  while ((code = cursor->next(cursor)) == 0) {
    const char* key = "";
    if (cursor->get_key(cursor, &key) == 0 && std::string_view(key).starts_with(type)) {
      uris.push_back(key);
    }
  }
  cursor->close(cursor);
  if (code != WT_NOTFOUND) database->errors.Check(code, "reading its catalogue");
  return uris;
}

class WiredtigerEngine : public Engine {
 public:
  WiredtigerEngine(const std::string& dir, const EngineOptions& options);
  ~WiredtigerEngine() override;

  std::string name() const override { return "wiredtiger"; }
  TableId OpenTable(const std::string& table) override;
  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<WiredtigerSession>(&database_);
  }
  void Flush() override { Checkpoint(); }
  void Checkpoint() override;
  void Settle() override;
  bool ResizeCache(uint64_t bytes) override;
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override;
  EngineCounters Counters() const override;
  DiskSize SizeOnDisk() const override;

 private:
  void Open(const std::string& config);
  void Close();
  void RecoverFromLog(const EngineOptions& options);
  void LogFromHere() REQUIRES(admin_mutex_);
  void CheckTable(WT_SESSION* session, const std::string& uri);
  void StartThreads();
  void CheckpointWhenDue();
  void RestartDistance();
  void TakeCheckpoint() REQUIRES(admin_mutex_);

  const std::string dir_;
  DirLock lock_;
  mutable Database database_;
  Mutex admin_mutex_;
  WT_SESSION* admin_ GUARDED_BY(admin_mutex_) = nullptr;  // for OpenTable and Checkpoint
  WT_SESSION* checkpoint_session_ = nullptr;
  WT_SESSION* flush_session_ = nullptr;
  std::unique_ptr<Statistics> statistics_;
  // This is when the last checkpoint began, whichever thread took it.
  std::atomic<std::chrono::steady_clock::time_point> last_checkpoint_;
  std::atomic<uint64_t> log_bytes_at_checkpoint_{0};
  std::atomic<uint64_t> cache_bytes_;  // size of the cache; ResizeCache changes it
  std::unique_ptr<Periodic> checkpointer_;
  std::unique_ptr<LazySync> flusher_;
};

WiredtigerEngine::WiredtigerEngine(const std::string& dir, const EngineOptions& options)
    : dir_(dir), database_(MakeSettings(options)), cache_bytes_(options.cache_bytes) {
  IoScope scope(kOpen);
  thread_state.application = true;
  lock_ = DirLock(dir_, "the database in");
  CheckFilesThere(dir);
  RecoverFromLog(options);
  Open(database_.settings.connection);
  try {
    {
      LockGuard lock(admin_mutex_);
      admin_ = database_.OpenSession();
      LogFromHere();
      for (const std::string& uri : Catalogue(&database_, admin_, "table:")) {
        CheckTable(admin_, uri);
      }
    }
    statistics_ = std::make_unique<Statistics>(&database_);
    StartThreads();
  } catch (...) {
    Close();
    throw;
  }
}

WiredtigerEngine::~WiredtigerEngine() {
  IoScope scope(kOpen);
  thread_state.application = true;
  Close();
}

// Ends the threads, whose sessions are the connection's, and closes the connection. The close takes
// a checkpoint and closes the sessions that are left. Its result is dropped: if a checkpoint is
// impossible after a failure, the log still has the durable transactions.
void WiredtigerEngine::Close() {
  checkpointer_.reset();
  flusher_.reset();
  database_.connection->close(database_.connection, nullptr);
}

bool WiredtigerEngine::ResizeCache(uint64_t bytes) {
  const auto set = [this](uint64_t to) {
    const std::string config = "cache_size=" + std::to_string(to);
    if (database_.connection->reconfigure(database_.connection, config.c_str()) != 0) return false;
    cache_bytes_ = to;
    return true;
  };
  const uint64_t before = cache_bytes_;
  // A smaller cache is emptied first (Engine::ResizeCache). The eviction threads do that, so this
  // waits for them, up to a second, and a whole second where no statistics tell that they have
  // done it. WiredTiger refuses a cache below a limit that connection_config gives in bytes, such
  // as eviction_trigger=8M. If it refuses kLeast, the cache is not emptied.
  constexpr uint64_t kLeast = 1 << 20;
  const auto emptied = [this] {
    return statistics_->on() &&
           statistics_->Read({WT_STAT_CONN_CACHE_BYTES_INUSE})[0] <= 2 * kLeast;
  };
  if (bytes < before && set(kLeast)) {
    for (int wait = 0; wait < 100 && !emptied(); ++wait) {
      std::this_thread::sleep_for(milliseconds(10));
    }
  }
  if (set(bytes)) return true;
  set(before);  // WiredTiger works with a size that it has refused until it gets another
  return false;
}

void WiredtigerEngine::Open(const std::string& config) {
  FileSystem::Install install(&database_.files);
  const int code = ::wiredtiger_open(dir_.c_str(), database_.errors.handler(), config.c_str(),
                                     &database_.connection);
  // The lock of the directory is testbed's, so the database is open in a program that uses
  // WiredTiger itself.
  if (code == EBUSY) {
    throw Error(Error::kUsage, "the database in " + dir_ + " is open in another process", code);
  }
  database_.errors.Check(code, "opening the database in " + dir_);
}

// A connection without a log ignores the log of an earlier run, which may hold transactions that no
// checkpoint has. So the database is opened with a log first, which recovers them, and closed.
void WiredtigerEngine::RecoverFromLog(const EngineOptions& options) {
  if (database_.settings.log) return;
  bool has_log = false;
  for (const auto& entry : fs::directory_iterator(dir_)) {
    has_log = has_log || FileSystem::KindOf(entry.path().string()) == FileKind::kLog;
  }
  if (!has_log) return;
  EngineOptions with_log = options;
  with_log.durability = Durability::kLazy;
  Open(MakeSettings(with_log).connection);
  WT_CONNECTION* connection = std::exchange(database_.connection, nullptr);
  database_.errors.Check(connection->close(connection, nullptr),
                         "recovering the database in " + dir_);
}

// Takes a checkpoint with the log when the last one was taken without. A checkpoint without a log
// marks its tables so that recovery applies no log records to them, not even later ones. Without
// this function a crash would lose the commits from the open to the next checkpoint of their table
// (seen with WiredTiger 11.3.1). A checkpoint includes only tables that are open, and clean tables
// only when it is forced.
void WiredtigerEngine::LogFromHere() {
  if (!database_.settings.log) return;
  bool marked = false;
  std::vector<WT_CURSOR*> open;
  for (const std::string& uri : Catalogue(&database_, admin_, "file:")) {
    const std::string file = CatalogueEntry(&database_, admin_, "metadata:", uri);
    marked = marked || ConfigValue(file, "checkpoint_lsn").starts_with("(4294967295,");
  }
  if (!marked) return;
  for (const std::string& uri : Catalogue(&database_, admin_, "table:")) {
    WT_CURSOR* cursor = nullptr;
    database_.errors.Check(admin_->open_cursor(admin_, uri.c_str(), nullptr, nullptr, &cursor),
                           "opening " + uri);
    open.push_back(cursor);
  }
  database_.errors.Check(admin_->checkpoint(admin_, "force=true"), "taking a checkpoint");
  for (WT_CURSOR* cursor : open) cursor->close(cursor);
}

void WiredtigerEngine::StartThreads() {
  const Settings& settings = database_.settings;
  RestartDistance();
  if (settings.checkpoint_interval_s != 0 || (settings.log && settings.checkpoint_log_bytes != 0)) {
    checkpoint_session_ = database_.OpenSession();
    checkpointer_ = std::make_unique<Periodic>(milliseconds(100), [this] { CheckpointWhenDue(); });
  }
  if (settings.flush_interval_ms == 0) return;
  flush_session_ = database_.OpenSession();
  flusher_ = std::make_unique<LazySync>(milliseconds(settings.flush_interval_ms), [this] {
    thread_state.application = true;
    if (database_.failed) return false;
    IoScope scope(kLogWrite);
    // log_flush does nothing when the log is synced already. The number of this thread's syncs
    // shows whether it has synced.
    const uint64_t before = thread_state.log_syncs;
    try {
      database_.errors.Check(flush_session_->log_flush(flush_session_, "sync=on"),
                             "syncing the log");
      database_.errors.CheckDurable("syncing the log");
    } catch (const Error& error) {
      database_.NoteBackgroundFailure(error);
    }
    return thread_state.log_syncs != before;
  });
}

// Each checkpoint calls this when it begins. The next checkpoint is due after an interval, or after
// a distance of log.
void WiredtigerEngine::RestartDistance() {
  last_checkpoint_ = std::chrono::steady_clock::now();
  log_bytes_at_checkpoint_ = database_.files.log_bytes_written();
}

void WiredtigerEngine::CheckpointWhenDue() {
  const Settings& settings = database_.settings;
  // The figures of the last checkpoint are read first, because another thread may take a checkpoint
  // meanwhile.
  const auto last = last_checkpoint_.load();
  const uint64_t log_bytes_then = log_bytes_at_checkpoint_.load();
  const bool by_time = settings.checkpoint_interval_s != 0 &&
                       std::chrono::steady_clock::now() - last >=
                           std::chrono::seconds(settings.checkpoint_interval_s);
  const bool by_log =
      settings.checkpoint_log_bytes != 0 &&
      database_.files.log_bytes_written() - log_bytes_then >= settings.checkpoint_log_bytes;
  if (database_.failed || (!by_time && !by_log)) return;
  IoScope scope(kCheckpoint);
  RestartDistance();
  try {
    database_.errors.Check(checkpoint_session_->checkpoint(checkpoint_session_, nullptr),
                           "taking a checkpoint");
  } catch (const Error& error) {
    database_.NoteBackgroundFailure(error);
  }
}

// Throws Error (kUsage) when the table's page size or compression is not that of the run, or when
// the table was made without another setting that the user gave.
void WiredtigerEngine::CheckTable(WT_SESSION* session, const std::string& uri) {
  const std::string config = CatalogueEntry(&database_, session, "metadata:create", uri);
  const Settings& settings = database_.settings;
  const int64_t page_size = ConfigNumber(config, "leaf_page_max");
  if (page_size != settings.page_size) {
    throw Error(Error::kUsage,
                fmt::format("the database in {} has {}-byte pages, not {}: give --page-size {}, "
                            "or --fresh",
                            dir_, page_size, settings.page_size, page_size));
  }
  std::string compressor = ConfigValue(config, "block_compressor");
  if (compressor.empty()) compressor = "none";
  if (compressor != settings.compressor) {
    throw Error(Error::kUsage,
                fmt::format("the database in {} has compression {}, not {}: give --compression "
                            "{}, or --fresh",
                            dir_, compressor, settings.compressor, compressor));
  }
  CheckMadeWith(settings, config, dir_);
}

TableId WiredtigerEngine::OpenTable(const std::string& table) {
  thread_state.application = true;
  const bool plain = std::all_of(table.begin(), table.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.';
  });
  if (table.empty() || !plain || table.starts_with("WiredTiger")) {
    throw Error(Error::kUsage, "wiredtiger cannot name a table '" + table +
                                   "': a name has letters, digits, '_', '-' and '.'");
  }
  LockGuard admin_lock(admin_mutex_);
  {
    LockGuard lock(database_.mutex);
    for (size_t i = 0; i < database_.tables.size(); ++i) {
      if (database_.tables[i] == table) return static_cast<TableId>(i);
    }
  }
  const std::string uri = "table:" + table;
  if (CatalogueEntry(&database_, admin_, "metadata:create", uri).empty()) {
    database_.errors.Check(admin_->create(admin_, uri.c_str(), database_.settings.table.c_str()),
                           "creating " + uri);
    // Until a checkpoint, only the log has the table's row, and a compressed log hides the name of
    // the table's file from TableFiles.
    const Settings& settings = database_.settings;
    if (settings.log && ConfigValue(settings.connection, "log.compressor") != "none") {
      TakeCheckpoint();
    }
  }
  // The cursor stays open. It makes WiredTiger open the file and read the root page here instead of
  // in the first operation, and keeps the sweep thread from closing the file when it is idle.
  IoScope scope(kOpen);
  WT_CURSOR* keep_open = nullptr;
  database_.errors.Check(admin_->open_cursor(admin_, uri.c_str(), nullptr, nullptr, &keep_open),
                         "opening " + uri);
  LockGuard lock(database_.mutex);
  database_.tables.push_back(table);
  return static_cast<TableId>(database_.tables.size() - 1);
}

void WiredtigerEngine::Checkpoint() {
  thread_state.application = true;
  LockGuard lock(admin_mutex_);
  TakeCheckpoint();
}

void WiredtigerEngine::TakeCheckpoint() {
  database_.ThrowIfFailed();
  RestartDistance();
  database_.errors.Check(admin_->checkpoint(admin_, nullptr), "taking a checkpoint");
  database_.errors.CheckDurable("taking a checkpoint");
}

void WiredtigerEngine::Settle() {
  for (int round = 0; round < 3; ++round) {
    Checkpoint();
    if (statistics_->on() && statistics_->Read({WT_STAT_CONN_CACHE_PAGES_DIRTY})[0] == 0) return;
  }
}

// Says of each option of the log that it has no effect.
void TellNoLog(std::vector<std::pair<std::string, std::string>>* settings) {
  const std::string no_effect = "no effect: --durability none has no log";
  for (auto& [name, value] : *settings) {
    if (name == "checkpoint_log_bytes") value = no_effect;
  }
  for (const char* name : {"log_io", "log_sync", "log_file_max", "log_prealloc", "log_zero_fill"}) {
    settings->emplace_back(name, no_effect);
  }
}

std::vector<std::pair<std::string, std::string>> WiredtigerEngine::EffectiveSettings() const {
  thread_state.application = true;
  const Settings& settings = database_.settings;
  std::vector<std::pair<std::string, std::string>> all;
  all.emplace_back("version", ::wiredtiger_version(nullptr, nullptr, nullptr));
  all.emplace_back("io", IoModeName(settings.files.io));
  all.emplace_back("advice", AdviceName(settings.files.advice));
  all.emplace_back("log_flush_interval_ms", std::to_string(settings.flush_interval_ms));
  all.emplace_back("checkpoint_interval_s", std::to_string(settings.checkpoint_interval_s));
  all.emplace_back("checkpoint_log_bytes", std::to_string(settings.checkpoint_log_bytes));
  all.emplace_back("conflict_wait_ms", std::to_string(settings.conflict_wait_ms));
  Flatten("", settings.connection, &all);
  for (auto& [name, value] : all) {
    if (name == "cache_size") value = std::to_string(cache_bytes_.load());
  }
  if (!settings.log) TellNoLog(&all);
  std::string table = settings.table;
  // The catalogue has the configuration that a table was created with, including all defaults.
  WT_SESSION* session = database_.OpenSession();
  for (const std::string& uri : Catalogue(&database_, session, "table:")) {
    table = CatalogueEntry(&database_, session, "metadata:create", uri);
  }
  session->close(session, nullptr);
  Flatten("table.", table, &all);
  if (const uint64_t most = MostPageInMemory(settings.connection, table); most != 0) {
    all.emplace_back("table.memory_page_max_in_force", std::to_string(most));
  }
  return all;
}

EngineCounters WiredtigerEngine::Counters() const {
  EngineCounters counters;
  counters.log_written_bytes = database_.files.log_bytes_written();
  counters.more.emplace_back("direct requests copied", database_.files.copied_requests());
  if (!statistics_->on()) return counters;
  static const std::vector<std::pair<const char*, int>> now = {
      {"cache pages dirty", WT_STAT_CONN_CACHE_PAGES_DIRTY},
      {"cache bytes dirty", WT_STAT_CONN_CACHE_BYTES_DIRTY},
      {"cache bytes of history store", WT_STAT_CONN_CACHE_BYTES_HS},
      {"cache bytes configured", WT_STAT_CONN_CACHE_BYTES_MAX},
  };
  static const std::vector<std::pair<const char*, int>> more = {
      {"cache pages read", WT_STAT_CONN_CACHE_READ},
      {"cache pages written", WT_STAT_CONN_CACHE_WRITE},
      {"pages evicted clean", WT_STAT_CONN_CACHE_EVICTION_CLEAN},
      {"pages evicted dirty", WT_STAT_CONN_CACHE_EVICTION_DIRTY},
      {"pages written by application threads", WT_STAT_CONN_CACHE_WRITE_APP_COUNT},
      {"bytes written by checkpoints", WT_STAT_CONN_BLOCK_BYTE_WRITE_CHECKPOINT},
      {"checkpoints", kWiredtigerCheckpoints},
      {"log syncs", WT_STAT_CONN_LOG_SYNC},
      {"transactions rolled back", WT_STAT_CONN_TXN_ROLLBACK},
  };
  std::vector<int> keys = {WT_STAT_CONN_CACHE_PAGES_REQUESTED,
                           WT_STAT_CONN_CACHE_READ,
                           WT_STAT_CONN_BLOCK_READ,
                           WT_STAT_CONN_BLOCK_BYTE_READ,
                           WT_STAT_CONN_BLOCK_WRITE,
                           WT_STAT_CONN_BLOCK_BYTE_WRITE,
                           WT_STAT_CONN_LOG_BYTES_PAYLOAD,
                           WT_STAT_CONN_CACHE_BYTES_INUSE,
                           WT_STAT_CONN_CACHE_READ_OVERFLOW};
  const size_t fixed = keys.size();
  for (const auto& [label, key] : now) keys.push_back(key);
  for (const auto& [label, key] : more) keys.push_back(key);
  const std::vector<uint64_t> values = statistics_->Read(keys);
  // When WiredTiger reads an overflow item, it counts the item among the pages that were read, but
  // not among those that were asked of the cache, which never has such items.
  counters.block_requests = values[0] + values[8];
  counters.block_hits = *counters.block_requests - std::min(*counters.block_requests, values[1]);
  counters.block_reads = values[2];
  counters.block_read_bytes = values[3];
  counters.blocks_written = values[4];
  counters.block_write_bytes = values[5];
  counters.log_payload_bytes = values[6];
  counters.cache_bytes = values[7];
  size_t at = fixed;
  for (const auto& [label, key] : now) counters.now.emplace_back(label, values[at++]);
  for (const auto& [label, key] : more) counters.more.emplace_back(label, values[at++]);
  return counters;
}

DiskSize WiredtigerEngine::SizeOnDisk() const {
  return DiskSizeOf(
      dir_, [](const std::string& path) { return FileSystem::KindOf(path) == FileKind::kLog; });
}

bool Recognises(const std::string& dir) {
  return IsThere(dir + "/WiredTiger") && IsThere(dir + "/WiredTiger.turtle");
}

}  // namespace
}  // namespace wiredtiger

EngineInfo WiredtigerEngineInfo() {
  EngineInfo info;
  info.name = "wiredtiger";
  info.summary = "WiredTiger's b-tree: pages written to new places, a log, checkpoints";
  int major, minor, patch;
  ::wiredtiger_version(&major, &minor, &patch);
  info.version = fmt::format("{}.{}.{}", major, minor, patch);
  Capabilities& can = info.capabilities;
  can.io_modes = {IoMode::kBuffered, IoMode::kDirect, IoMode::kMmap};
  can.durabilities = {Durability::kLazy, Durability::kSync, Durability::kNone};
  can.compressions = wiredtiger::Compressors();
  can.min_page_size = 4096;
  can.max_page_size = 1 << 20;
  can.max_key_size = wiredtiger::kLongestKey;
  can.max_value_size = wiredtiger::kLongestValue;
  can.resizable_cache = true;
  can.most_cache_pct = 80;
  can.extra_options = wiredtiger::KnownExtraOptions();
  info.files = {
      "WiredTiger",         "WiredTiger.lock",        "WiredTiger.turtle", "WiredTiger.turtle.set",
      "WiredTiger.basecfg", "WiredTiger.basecfg.set", "WiredTigerLog.#",   "WiredTigerPreplog.#",
      "WiredTigerTmplog.#", "WiredTiger.wt",          "WiredTigerHS.wt",   "WiredTigerLAS.wt",
      "WiredTigerStat.#.#"};
  info.table_files = wiredtiger::TableFiles;
  info.recognises = &wiredtiger::Recognises;
  info.check_options = wiredtiger::CheckSettings;
  info.open = [](const std::string& dir, const EngineOptions& options) -> std::unique_ptr<Engine> {
    return std::make_unique<wiredtiger::WiredtigerEngine>(dir, options);
  };
  return info;
}

}  // namespace testbed

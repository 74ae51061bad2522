#include "engines/rocksdb/rocksdb_engine.h"

#include <rocksdb/utilities/options_util.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/directory.h"
#include "device/os/mutex.h"
#include "device/os/signal_guard.h"
#include "engines/rocksdb/block_tickers.h"
#include "engines/rocksdb/errors.h"
#include "engines/rocksdb/sanitized_options.h"

namespace testbed {
namespace {

bool HoldsDatabase(const std::string& dir) {
  if (!IsThere(dir + "/CURRENT")) return false;
  const std::vector<std::string> names = NamesIn(dir);
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with("MANIFEST-") || name == "IDENTITY";
  });
}

// Returns whether `name` is a name that RocksDB gives to a file without which a database is not
// whole.
bool IsPartOfDatabase(const std::string& name) {
  if (name == "IDENTITY" || name.starts_with("MANIFEST-")) return true;
  const size_t dot = std::min(name.find('.'), name.size());
  const bool numbered = dot > 0 && name.find_first_not_of("0123456789") == dot;
  const std::string kind = name.substr(dot);
  return numbered && (kind == ".sst" || kind == ".log" || kind == ".blob");
}

// Throws Error (kCorruption) when CURRENT is missing beside files of a database: RocksDB would make
// a new database then, and remove these files.
void CheckCurrent(const std::string& dir) {
  if (IsThere(dir + "/CURRENT")) return;
  for (const std::string& name : NamesIn(dir)) {
    if (!IsPartOfDatabase(name)) continue;
    throw Error(Error::kCorruption, "file " + dir + "/CURRENT is missing though " + name +
                                        " is there: put it back, or load the database anew with "
                                        "--fresh");
  }
}

// Throws Error when the directory cannot be used. RocksDB would report the same failure with the
// name of the first file that it could not open.
void CheckDirectory(const std::string& dir) {
  if (::access(dir.c_str(), R_OK | W_OK | X_OK) != 0) {
    throw Error::Io("open directory", dir, errno);
  }
}

// Returns the block size with which the database in `dir` was last opened, in bytes; 0 when its
// OPTIONS file cannot be read.
uint64_t RecordedBlockSize(const std::string& dir) {
  rocksdb::ConfigOptions config;
  config.ignore_unknown_options = true;
  config.ignore_unsupported_options = true;
  rocksdb::DBOptions db;
  std::vector<rocksdb::ColumnFamilyDescriptor> tables;
  if (!rocksdb::LoadLatestOptions(config, dir, &db, &tables).ok() || tables.empty()) return 0;
  if (tables[0].options.table_factory == nullptr) return 0;
  const auto* blocks =
      tables[0].options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  return blocks == nullptr ? 0 : blocks->block_size;
}

void CheckBlockSize(const std::string& dir, uint32_t requested) {
  const uint64_t recorded = RecordedBlockSize(dir);
  if (recorded == 0 || recorded == requested) return;
  throw Error(Error::kUsage, "the database in " + dir + " has blocks of " +
                                 std::to_string(recorded) + " bytes, not of --page-size " +
                                 std::to_string(requested) + ": use --page-size " +
                                 std::to_string(recorded) + ", or load it anew");
}

// Throws Error (kUsage) when RocksDB has refused to lock the database because somebody has it open:
// a program that uses RocksDB itself, as testbed takes the lock of the directory before. The texts
// are those of all releases from 6.20 to 11. Other errors of the lock, and of files whose path
// contains its name, are no such refusals.
void CheckLock(const rocksdb::Status& status, const std::string& dir) {
  if (!status.IsIOError()) return;
  const std::string text = status.ToString();
  const bool here = text.starts_with("IO error: lock hold by current process");
  const bool elsewhere = text.starts_with("IO error: While lock file: ") &&
                         text.ends_with(std::string(": ") + std::strerror(EAGAIN));
  if (!here && !elsewhere) return;
  throw Error(Error::kUsage, "the database in " + dir + " is in use by " +
                                 (here ? "this process already: close it first"
                                       : "another process: close it there first") +
                                 " (" + text + ")");
}

uint64_t Property(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family, const std::string& name) {
  uint64_t value = 0;
  db->GetIntProperty(family, name, &value);
  return value;
}

}  // namespace

RocksdbEngine::RocksdbEngine(const std::string& dir, const EngineOptions& options)
    : dir_(dir), requested_(options), options_(MakeRocksdbOptions(options)) {
  CheckDirectory(dir_);
  lock_ = DirLock(dir_, "the database in");
  CheckCurrent(dir_);
  if (HoldsDatabase(dir_)) CheckBlockSize(dir_, options.page_size);
  file_system_ = std::make_shared<RocksdbFileSystem>(options.file_advice, options.mmap_advice);
  env_ = rocksdb::NewCompositeEnv(file_system_);
  listener_ = std::make_shared<BackgroundListener>();
  options_.db.env = env_.get();
  options_.db.statistics = std::make_shared<BlockTickers>();
  options_.db.listeners.push_back(listener_);
  Open();
  if (options.durability == Durability::kLazy) {
    lazy_ = std::make_unique<LazySync>(
        std::chrono::milliseconds(std::max(1u, options.lazy_interval_ms)),
        [this] { return db_->GetLatestSequenceNumber(); }, [this] { SyncLazily(); });
  }
}

void RocksdbEngine::Open() {
  const bool existed = HoldsDatabase(dir_);
  const std::vector<std::string> before = NamesIn(dir_);
  std::vector<std::string> names;
  if (existed) {
    Check(rocksdb::DB::ListColumnFamilies(options_.db, dir_, &names),
          "rocksdb could not list the tables of its database");
  } else {
    names.push_back(rocksdb::kDefaultColumnFamilyName);
  }
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const std::string& name : names) descriptors.emplace_back(name, options_.table);
  std::vector<rocksdb::ColumnFamilyHandle*> families;
  const rocksdb::Status status = OpenRocksdb(options_.db, dir_, descriptors, &families, &db_);
  CheckLock(status, dir_);
  Check(status, "rocksdb could not open its database");
  tables_ =
      std::make_unique<RocksdbTables>(db_.get(), options_.table, families, options_.layout, dir_);
  CheckReplaced(existed, before);
}

void RocksdbEngine::CheckReplaced(bool existed, const std::vector<std::string>& before) {
  try {
    CheckInForce(requested_, options_, db_.get());
  } catch (const Error&) {
    if (existed) throw;
    tables_.reset();
    db_.reset();
    RemoveNew(dir_, before);
    throw;
  }
}

RocksdbEngine::~RocksdbEngine() {
  lazy_.reset();
  // A destructor cannot report an error. Each commit was as durable as it promised when it
  // returned.
  if (requested_.durability == Durability::kLazy) db_->SyncWAL().PermitUncheckedError();
  tables_.reset();
  // Without a log, Close flushes the memtables.
  db_->Close().PermitUncheckedError();
}

void RocksdbEngine::SyncLazily() {
  IoScope scope(kLogWrite);
  const rocksdb::Status status = db_->SyncWAL();
  if (status.ok()) return;
  LockGuard lock(lazy_mutex_);
  if (lazy_error_.empty()) lazy_error_ = status.ToString();
  lazy_failed_.store(true, std::memory_order_relaxed);
}

void RocksdbEngine::ThrowLazyFailure() const {
  LockGuard lock(lazy_mutex_);
  throw Error(Error::kIo, "rocksdb could not make its log durable: " + lazy_error_);
}

TableId RocksdbEngine::OpenTable(const std::string& table) { return tables_->Open(table); }

// A cache that is made smaller is emptied first (Engine::ResizeCache).
bool RocksdbEngine::ResizeCache(uint64_t bytes) {
  if (bytes < options_.cache->GetCapacity()) {
    options_.cache->SetCapacity(0);
    options_.cache->EraseUnRefEntries();  // HyperClockCache itself evicts only at an insertion
  }
  options_.cache->SetCapacity(bytes);
  return true;
}

std::unique_ptr<Session> RocksdbEngine::NewSession() {
  LockGuard lock(mutex_);
  sessions_.push_back(std::make_unique<SessionCounts>());
  return std::make_unique<RocksdbSession>(this, sessions_.back().get());
}

void RocksdbEngine::Retire(SessionCounts* counts) {
  LockGuard lock(mutex_);
  retired_.block_hits.Add(counts->block_hits.Get());
  retired_.block_reads.Add(counts->block_reads.Get());
  retired_.log_payload_bytes.Add(counts->log_payload_bytes.Get());
  std::erase_if(sessions_, [&](const auto& s) { return s.get() == counts; });
}

void RocksdbEngine::FlushMemtables() {
  rocksdb::FlushOptions flush;
  flush.allow_write_stall = true;  // the flush starts at once, even if it stalls writers
  Check(db_->Flush(flush, tables_->families()), "rocksdb could not flush its write buffers");
}

void RocksdbEngine::Flush() { FlushMemtables(); }

// The flush returns when its tables are synced, and a recovery replays only the log after them. The
// log holds the transactions that were committed during the flush, so the log is synced, too.
void RocksdbEngine::Checkpoint() {
  FlushMemtables();
  if (!options_.write.disableWAL) Check(db_->SyncWAL(), "rocksdb could not make its log durable");
}

void RocksdbEngine::Settle() {
  FlushMemtables();
  if (options_.compact_range_on_settle) {
    for (rocksdb::ColumnFamilyHandle* family : tables_->families()) {
      Check(db_->CompactRange(rocksdb::CompactRangeOptions(), family, nullptr, nullptr),
            "rocksdb could not compact");
    }
  }
  WaitForCompactions();
}

uint64_t RocksdbEngine::SumOf(const std::vector<std::string>& properties) {
  uint64_t sum = 0;
  for (rocksdb::ColumnFamilyHandle* family : tables_->families()) {
    for (const std::string& property : properties) sum += Property(db_.get(), family, property);
  }
  return sum;
}

// Waits until no flush or compaction runs or is pending, by polling properties, which every version
// of RocksDB has. A compaction may be pending for ever: RocksDB finds nothing to do when, in
// universal compaction, the sizes of the runs forbid each candidate. So this also returns when no
// job waits for a thread and none has begun for a while. A request to stop ends the wait. Throws
// Error when background work has failed.
void RocksdbEngine::WaitForCompactions() {
  using Clock = std::chrono::steady_clock;
  constexpr auto kNothingBegan = std::chrono::milliseconds(300);
  const std::vector<std::string> at_work = {rocksdb::DB::Properties::kMemTableFlushPending,
                                            rocksdb::DB::Properties::kNumRunningFlushes,
                                            rocksdb::DB::Properties::kNumRunningCompactions};
  auto pause = std::chrono::microseconds(200);
  Clock::time_point last_work = Clock::now();
  for (;;) {
    Check(listener_->background_error(), "rocksdb stopped its background work");
    rocksdb::Env* env = db_->GetEnv();
    const bool works = SumOf(at_work) > 0 || env->GetThreadPoolQueueLen(rocksdb::Env::LOW) > 0 ||
                       env->GetThreadPoolQueueLen(rocksdb::Env::BOTTOM) > 0;
    if (works) last_work = Clock::now();
    const bool pending = SumOf({rocksdb::DB::Properties::kCompactionPending}) > 0;
    if (!works && (!pending || Clock::now() - last_work >= kNothingBegan)) return;
    if (StopRequested()) return;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(10000));
  }
}

std::vector<std::pair<std::string, std::string>> RocksdbEngine::EffectiveSettings() const {
  auto settings = DescribeRocksdb(db_.get(), options_);
  settings.emplace_back("tables", RocksdbLayoutName(tables_->layout()));
  return settings;
}

EngineCounters RocksdbEngine::Counters() const {
  EngineCounters out;
  uint64_t hits = 0, reads = 0, payload = 0;
  const auto add = [&](const SessionCounts& counts) {
    hits += counts.block_hits.Get();
    reads += counts.block_reads.Get();
    payload += counts.log_payload_bytes.Get();
  };
  {
    LockGuard lock(mutex_);
    add(retired_);
    for (const auto& session : sessions_) add(*session);
  }
  const BackgroundListener::Totals& background = listener_->totals();
  out.block_requests = hits + reads;
  out.block_hits = hits;
  out.block_reads = reads;
  out.blocks_written = background.data_blocks.load();
  out.block_write_bytes = background.table_bytes.load();
  out.log_payload_bytes = payload;
  out.log_written_bytes = file_system_->log_bytes();
  out.cache_bytes = options_.cache->GetUsage();
  uint64_t memtables = 0, readers = 0;
  db_->GetAggregatedIntProperty(rocksdb::DB::Properties::kSizeAllMemTables, &memtables);
  db_->GetAggregatedIntProperty(rocksdb::DB::Properties::kEstimateTableReadersMem, &readers);
  out.now = {
      {"cache_pinned_bytes", options_.cache->GetPinnedUsage()},
      {"memtable_bytes", memtables},
      {"table_reader_bytes", readers},
  };
  if (options_.compressed_cache_bytes != nullptr) {
    out.now.emplace_back("compressed_cache_bytes", options_.compressed_cache_bytes->load());
  }
  out.more = {
      {"flushes", background.flushes.load()},
      {"flush_write_bytes", background.flush_bytes.load()},
      {"compactions", background.compactions.load()},
      {"compaction_read_bytes", background.compaction_read_bytes.load()},
      {"compaction_write_bytes", background.compaction_write_bytes.load()},
      {"write_stalls", background.write_stalls.load()},
  };
  return out;
}

DiskSize RocksdbEngine::SizeOnDisk() const {
  return DiskSizeOf(dir_, [](const std::string& path) { return path.ends_with(".log"); });
}

EngineInfo RocksdbEngineInfo() {
  EngineInfo info;
  info.name = "rocksdb";
  info.summary = "log-structured merge tree; its files run through our file layer";
  if (RocksdbHasAssertions()) info.summary += "; this library has assertions, which cost time";
  info.version = rocksdb::GetRocksVersionAsString();
  info.capabilities = RocksdbCapabilities();
  info.files = {"CURRENT",   "IDENTITY",    "LOCK",        "LOG",
                "LOG.old.#", "MANIFEST-#",  "OPTIONS-#",   "OPTIONS-#.dbtmp",
                "#.log",     "#.sst",       "#.blob",      "#.dbtmp",
                "#.trash",   "#.sst.trash", "#.log.trash", "archive/#.log"};
  info.recognises = HoldsDatabase;
  info.check_options = CheckRocksdbOptions;
  info.open = [](const std::string& dir, const EngineOptions& options) -> std::unique_ptr<Engine> {
    return std::make_unique<RocksdbEngine>(dir, options);
  };
  return info;
}

}  // namespace testbed

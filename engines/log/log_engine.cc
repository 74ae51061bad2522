#include "engines/log/log_engine.h"

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/log/log_format.h"
#include "device/os/dir_lock.h"
#include "device/os/mutex.h"
#include "engines/failed_before.h"
#include "engines/log/table_names.h"
#include "engines/log_settings.h"

namespace testbed {
namespace append_log {
namespace {

constexpr uint32_t kErase = 1u << 31;
constexpr size_t kLongestKey = 64 << 10, kLongestValue = 512 << 10;  // in bytes

using RowHeader = std::array<char, kRowHeaderBytes>;

RowHeader EncodeRowHeader(const Row& row) {
  const uint32_t words[] = {row.table | (row.erase ? kErase : 0),
                            static_cast<uint32_t>(row.key.size()),
                            static_cast<uint32_t>(row.value.size())};
  RowHeader header;
  std::memcpy(header.data(), words, sizeof words);
  return header;
}

[[noreturn]] void RefuseRead() {
  throw Error(Error::kUsage,
              "the engine log only appends, nothing can be read from it; choose --workload insert "
              "or another --engine");
}

// An AppendLog is a log that keeps at least its newest `keep` bytes. Thread-safe.
class AppendLog {
 public:
  AppendLog(std::unique_ptr<Log> log, Durability durability, uint64_t keep)
      : log_(std::move(log)), durability_(durability), keep_(keep), begin_(log_->BeginLsn()) {}

  // Appends a record. With Durability::kSync, waits until the record is durable.
  void Append(std::span<const std::string_view> parts) {
    const LogRange range = log_->Append(parts);
    if (durability_ == Durability::kSync) log_->WaitDurable(range.end);
    const Lsn begin = begin_.load(std::memory_order_relaxed);
    const uint64_t segment = log_->options().segment_bytes;
    if (const auto point = TruncationPoint(begin, range.end, keep_, segment)) Truncate(*point);
  }
  Log* log() { return log_.get(); }
  size_t longest_record() const { return log_->MaxRecordBytes(); }
  uint64_t keep() const { return keep_; }

 private:
  // Truncates the log before `lsn`. Returns at once when another thread is truncating.
  void Truncate(Lsn lsn) {
    if (!truncation_.try_lock()) return;
    const LockGuard lock(truncation_, std::adopt_lock);
    IoScope scope(kCheckpoint);
    log_->TruncateBefore(lsn);
    begin_.store(log_->BeginLsn(), std::memory_order_relaxed);
  }

  const std::unique_ptr<Log> log_;
  const Durability durability_;
  const uint64_t keep_;
  Mutex truncation_;        // held by the thread that truncates
  std::atomic<Lsn> begin_;  // begin of the log after the last truncation
};

class LogSession : public Session {
 public:
  LogSession(AppendLog* log, const TableNames* tables) : log_(log), tables_(tables) {}

  void Begin() override {
    if (in_transaction_) throw Error(Error::kRun, "log: Begin inside a transaction");
    in_transaction_ = true;
  }
  void Commit() override {
    if (!in_transaction_) throw Error(Error::kRun, "log: Commit without Begin");
    in_transaction_ = false;
    if (std::exchange(failed_, false)) {
      rows_.clear();
      throw FailedBefore("log");
    }
    if (rows_.empty()) return;
    const std::string_view record = rows_;
    try {
      log_->Append({&record, 1});
    } catch (...) {
      rows_.clear();
      throw;
    }
    rows_.clear();
  }
  void Rollback() override {
    if (!in_transaction_) throw Error(Error::kRun, "log: Rollback without Begin");
    in_transaction_ = failed_ = false;
    rows_.clear();
  }
  bool Get(TableId, std::string_view, std::string_view*) override { RefuseRead(); }
  void Put(TableId table, std::string_view key, std::string_view value) override {
    CheckKeySize("log", key.size(), kLongestKey);
    CheckValueSize("log", value.size(), kLongestValue);
    Write({table, false, key, value});
  }
  void Erase(TableId table, std::string_view key) override { Write({table, true, key, {}}); }
  std::unique_ptr<Cursor> NewCursor(TableId) override { RefuseRead(); }

 private:
  void Write(const Row& row) {
    if (!tables_->Has(row.table)) [[unlikely]] {
      throw Error(Error::kUsage, "table " + std::to_string(row.table) + " of log is not open");
    }
    if (failed_) throw FailedBefore("log");
    if (row.key.size() > kLongestKey) return;  // an erase, which has no row to erase
    const RowHeader header = EncodeRowHeader(row);
    const std::string_view parts[] = {{header.data(), header.size()}, row.key, row.value};
    if (!in_transaction_) return log_->Append(parts);
    const size_t most = log_->longest_record();
    if (rows_.size() + header.size() + row.key.size() + row.value.size() > most) {
      throw Error(Error::kUsage, "a transaction of log is one record of up to " +
                                     std::to_string(most) +
                                     " bytes, and this one would be longer: commit its rows in "
                                     "several transactions, or give a larger --engine-option "
                                     "log_segment");
    }
    try {
      for (std::string_view part : parts) rows_.append(part);
    } catch (...) {
      failed_ = true;  // the last row in rows_ may be incomplete
      throw;
    }
  }

  AppendLog* const log_;
  const TableNames* const tables_;
  bool in_transaction_ = false;
  bool failed_ = false;  // a write of the transaction has failed
  std::string rows_;     // encoded rows of the open transaction
};

class LogEngine : public Engine {
 public:
  // Takes over *lock, the lock of `directory`, and holds it until the engine is destroyed. When the
  // constructor throws, *lock stays the caller's.
  LogEngine(DirLock* lock, const std::string& directory, const LogOptions& options,
            Durability durability, uint64_t keep, bool create)
      : tables_(create ? nullptr : std::make_unique<TableNames>(directory)),
        log_(Log::Open(directory, options, 0, {}, create ? 0 : tables_->log_id()), durability,
             keep) {
    if (create) tables_ = std::make_unique<TableNames>(directory, log_.log()->id());
    lock_ = std::move(*lock);
  }

  std::string name() const override { return "log"; }
  TableId OpenTable(const std::string& table) override { return tables_->Open(table); }
  std::unique_ptr<Session> NewSession() override {
    return std::make_unique<LogSession>(&log_, tables_.get());
  }
  void Flush() override { log_.log()->Write(log_.log()->EndLsn()); }
  void Checkpoint() override { log_.log()->Sync(); }
  void Settle() override { log_.log()->Sync(); }

  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const override {
    auto settings = log_.log()->EffectiveSettings();
    settings.emplace_back("log_keep", std::to_string(log_.keep()));
    return settings;
  }

  EngineCounters Counters() const override {
    const LogCounters log = log_.log()->Counters();
    EngineCounters c;
    c.log_payload_bytes = log.payload_bytes;
    c.log_written_bytes = log.written_bytes;
    c.more = LogCounterPairs(log);
    c.more.emplace_back("log_segments_created", log.segments_created);
    c.more.emplace_back("log_segments_recycled", log.segments_recycled);
    c.more.emplace_back("log_segments_removed", log.segments_removed);
    return c;
  }
  DiskSize SizeOnDisk() const override { return {0, log_.log()->SizeOnDisk()}; }

 private:
  DirLock lock_;
  // The names are read before the log is opened, so that a damaged file of names changes nothing. A
  // new database gets its names after its log, because the file of names says that the database is
  // whole.
  std::unique_ptr<TableNames> tables_;
  mutable AppendLog log_;
};

[[noreturn]] void NoDatabase(const std::string& dir) {
  throw Error(Error::kUsage, "the directory " + dir + " holds no database of log");
}

// Returns whether the database is to be created. A creation makes the file of names last. So a
// creation that was cut short leaves a log without records, and the database is created anew.
// Throws Error (kCorruption) when a log has records and the file of names is missing: the records
// name tables by number, so they cannot be read without it. Also throws it when there is a file of
// names and no log. Throws the error of NoDatabase when there is no database and `create` is false.
bool CheckIsNew(const std::string& dir, bool create) {
  const std::string directory = LogDirectory(dir), tables = TableNames::Path(directory);
  const std::vector<std::string> segments = LogSegmentPaths(directory);
  const auto damaged = [](const std::string& missing, const std::string& there) {
    throw Error(Error::kCorruption, missing + " is missing though " + there +
                                        " is there: put it back, or load the database anew with "
                                        "--fresh");
  };
  if (IsThere(tables)) {
    if (segments.empty()) damaged("the log in " + directory, "file " + tables);
    return false;
  }
  bool used = false;
  try {
    // An open that may not create a database must not remove anything either.
    if (create) {
      Log::RemoveUnused(directory);
    } else {
      used = !segments.empty() && Log::HasRecords(directory, IoMode::kBuffered, 0);
    }
  } catch (const Error& error) {
    if (error.kind() != Error::kCorruption) throw;
    used = true;
  }
  if (used) damaged("file " + tables, "file " + segments.front());
  if (!create) NoDatabase(dir);
  return true;
}

// Removes what a failed creation has made. The caller holds the lock of the directory, so that no
// file there is another process's. The file of names goes first, because it says that the database
// is whole. The segments follow in the order of their numbers. After a removal that fails, nothing
// more is removed, so the next creation can take what is left.
void RemoveUnfinished(const std::string& directory) {
  try {
    RemoveFile(TableNames::Path(directory));
    RemoveFile(TableNames::UnfinishedPath(directory));
    for (const std::string& path : LogSegmentPaths(directory)) RemoveFile(path);
  } catch (const Error&) {
    return;  // the caller throws the error of the creation
  }
  std::error_code ignored;
  std::filesystem::remove(directory, ignored);
}

bool Recognises(const std::string& dir) { return IsDirectoryThere(LogDirectory(dir)); }

struct Settings {
  LogOptions log;
  uint64_t keep = 0;  // bytes of log to keep; older segments are recycled
};

Settings MakeSettings(const EngineOptions& options) {
  const ExtraOptions extra("log", options.extra);
  Settings s{LogOptionsOf(options, extra), extra.Bytes("log_keep", 32ull << 20, 0, 1ull << 40)};
  if (options.durability != Durability::kNone) return s;
  if (s.log.sync == LogSync::kDsync) {
    throw Error(Error::kUsage,
                "log cannot honour --engine-option log_sync=dsync with --durability none: each "
                "write of the log would be durable; leave it out");
  }
  s.log.sync = LogSync::kNone;
  return s;
}

std::unique_ptr<Engine> OpenLogEngine(const std::string& dir, const EngineOptions& options) {
  auto [log, keep] = MakeSettings(options);
  // With log_space=recycled, this number of segments is enough, so that none is created while the
  // log is used.
  log.min_segments = static_cast<uint32_t>((keep + log.segment_bytes - 1) / log.segment_bytes + 4);
  const std::string directory = LogDirectory(dir);
  if (!IsThere(directory)) {
    if (!options.create) NoDatabase(dir);
    MakeDirectories(directory);
  }
  DirLock lock(directory, "the database in");
  const bool is_new = CheckIsNew(dir, options.create);
  try {
    if (is_new) MakeNameDurable(directory);
    return std::make_unique<LogEngine>(&lock, directory, log, options.durability, keep, is_new);
  } catch (...) {
    if (is_new) RemoveUnfinished(directory);
    throw;
  }
}

}  // namespace

bool NextRow(std::string_view* record, Row* row) {
  if (record->empty()) return false;
  uint32_t words[3];
  const auto damaged = [] { throw Error(Error::kCorruption, "a log record holds no whole row"); };
  if (record->size() < sizeof words) damaged();
  std::memcpy(words, record->data(), sizeof words);
  record->remove_prefix(sizeof words);
  if (uint64_t{words[1]} + words[2] > record->size()) damaged();
  *row = {words[0] & ~kErase, (words[0] & kErase) != 0, record->substr(0, words[1]),
          record->substr(words[1], words[2])};
  record->remove_prefix(words[1] + words[2]);
  return true;
}

std::optional<Lsn> TruncationPoint(Lsn begin, Lsn end, uint64_t keep, uint64_t segment_bytes) {
  if (end <= begin || end - begin <= keep + 2 * segment_bytes) return std::nullopt;
  return end - keep;
}

std::string LogDirectory(const std::string& dir) { return dir + "/append-log"; }

}  // namespace append_log

EngineInfo LogEngineInfo() {
  EngineInfo info;
  info.name = "log";
  info.summary = "the log layer of this project alone: appends and commits, nothing can be read";
  info.version = "1";
  Capabilities& can = info.capabilities;
  can.io_modes = {IoMode::kDirect, IoMode::kBuffered};
  can.durabilities = {Durability::kSync, Durability::kLazy, Durability::kNone};
  can.compressions = {"none"};
  can.max_key_size = append_log::kLongestKey;
  can.max_value_size = append_log::kLongestValue;
  can.reads = false;
  can.scans = false;
  can.cache = false;
  AddLogOptions(&can);
  can.extra_options.emplace_back("log_keep",
                                 "bytes of log that are kept; older segments are recycled (32M)");
  info.files = {"append-log/log-#", "append-log/tables", "append-log/tables.new"};
  info.recognises = append_log::Recognises;
  info.check_options = [](const EngineOptions& o) { (void)append_log::MakeSettings(o); };
  info.open = append_log::OpenLogEngine;
  return info;
}

}  // namespace testbed

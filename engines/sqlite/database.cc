#include "engines/sqlite/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <new>
#include <utility>

#include "device/account/ledger.h"
#include "device/file/directory.h"
#include "device/file/durable.h"
#include "device/file/file.h"
#include "device/os/mutex.h"

namespace testbed::sqlite {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFrameHeader = 24;  // bytes of the WAL before each page
// These are the longest times that a checkpoint waits for readers. A checkpoint in a commit keeps
// other writers waiting.
constexpr uint32_t kReadersWaitMs = 500, kReadersWaitInCommitMs = 50;

// Returns the name of a table in SQL, quoted.
std::string SqlName(const std::string& table) {
  std::string name = "\"";
  // The first letter of a name that begins like those of SQLite's own tables is written in
  // hexadecimal digits.
  const bool reserved = table.starts_with("sqlite_");
  for (size_t i = 0; i < table.size(); ++i) {
    const char c = table[i];
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (plain && !(reserved && i == 0)) {
      name += c;
    } else {
      name += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return name + "\"";
}

// Returns the length of a file; 0 when there is none.
uint64_t BytesIn(const std::string& file) {
  if (!IsThere(file)) return 0;
  std::error_code error;
  const uintmax_t bytes = fs::file_size(file, error);
  if (error) throw Error::Io("stat", file, error.value());
  return bytes;
}

// Reads the first `n` bytes of a file. Returns false when the file has fewer. Throws Error (kIo).
bool ReadFirst(const std::string& file, char* bytes, size_t n) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw Error::Io("open", file, errno);
  const ssize_t got = ::read(fd, bytes, n);
  const int code = errno;
  ::close(fd);
  if (got < 0) throw Error::Io("read", file, code);
  return static_cast<size_t>(got) == n;
}

uint32_t BigEndian16(const char* bytes) {
  return static_cast<uint32_t>(static_cast<unsigned char>(bytes[0])) << 8 |
         static_cast<unsigned char>(bytes[1]);
}

}  // namespace

Database::Database(const std::string& dir, const Settings& settings)
    : dir_(dir), settings_(settings), shares_(settings.cache_bytes) {
  lock_ = DirLock(dir_, "the database in");
  const bool is_new = !IsThere(DatabaseFile(dir_));
  if (is_new) {
    // SQLite would take such a file for one of the new database, or remove it.
    for (const std::string& file : {WalFile(dir_), JournalFile(dir_)}) {
      if (!IsThere(file)) continue;
      throw Error(Error::kCorruption, "file " + DatabaseFile(dir_) + " is missing though " + file +
                                          " is there: put it back, or load the database anew with "
                                          "--fresh");
    }
    if (!settings_.create) {
      throw Error(Error::kUsage, "the directory " + dir_ + " holds no database of sqlite");
    }
  } else {
    MakeFilesDurable();
    CheckHeader();
  }
  try {
    Open();
  } catch (...) {
    writer_.reset();
    vfs_.reset();
    if (is_new) {
      std::error_code error;
      for (const std::string& file : {DatabaseFile(dir_), WalFile(dir_), JournalFile(dir_)}) {
        fs::remove(file, error);
      }
    }
    throw;
  }
}

Database::~Database() {
  IoScope scope(kOpen);
  {
    LockGuard lock(mutex_);
    readers_.clear();
  }
  // When its last connection is closed, SQLite takes a checkpoint and removes the write-ahead log.
  // If that fails, the next opening does both.
  writer_.reset();
  try {
    SyncFiles();
  } catch (const std::exception&) {
    // A destructor cannot report an error.
  }
}

// Makes the files of a database that was not closed in order agree with the device. Such a database
// has a log or a journal with content. After a failed sync the page cache may have frames and pages
// that the device lacks: SQLite would put later commits behind such frames, and a power cut would
// take them away. The process that made a log or a journal may also have been killed before it
// synced the directory, which has their names.
void Database::MakeFilesDurable() const {
  SyncDirectory(dir_);
  if (BytesIn(WalFile(dir_)) == 0 && BytesIn(JournalFile(dir_)) == 0) {
    // With durability none and a rollback journal, a killed process leaves a database like this, of
    // which the device lacks pages.
    FileOptions options;
    options.read_only = true;
    File::Open(DatabaseFile(dir_), options)->Sync();
    return;
  }
  MakeDurable(DatabaseFile(dir_), FileKind::kData);
  for (const std::string& file : {WalFile(dir_), JournalFile(dir_)}) {
    if (IsThere(file)) MakeDurable(file, FileKind::kLog);
  }
}

// Throws Error for a database file that cannot be read, of another page size, or without SQLite's
// header. A crash may leave an empty file when a database was being made. A write-ahead log beside
// an empty file is not from such a crash, and SQLite would remove it.
void Database::CheckHeader() const {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  char header[18] = {};
  if (!ReadFirst(DatabaseFile(dir_), header, sizeof header)) {
    const bool log = BytesIn(WalFile(dir_)) > 0;
    if (!log && settings_.create) return;
    throw Error(Error::kCorruption, "file " + DatabaseFile(dir_) + " is empty" +
                                        (log ? " though " + WalFile(dir_) + " is not" : "") +
                                        ": put it back, or load the database anew with --fresh");
  }
  if (std::string_view(header, kMagic.size()) != kMagic) {
    throw Error(Error::kCorruption, DatabaseFile(dir_) + " is not a database of SQLite");
  }
  const uint32_t stored = BigEndian16(header + kMagic.size());
  const uint32_t page_size = stored == 1 ? 65536 : stored;
  if (page_size == settings_.page_size) return;
  throw Error(Error::kUsage, fmt::format("the database in {} has {}-byte pages, not {}: give "
                                         "--page-size {}, or load it anew with --fresh",
                                         dir_, page_size, settings_.page_size, page_size));
}

void Database::Open() {
  const bool is_new = BytesIn(DatabaseFile(dir_)) == 0;
  vfs_ = std::make_unique<Vfs>(
      Vfs::Options{.dir = dir_, .io = settings_.io, .advice = settings_.advice});
  writer_ = std::make_unique<Connection>(
      vfs_.get(), settings_, &shares_, [this](TableId table) { return NameOf(table); }, true);
  ReadTables();
  if (!is_new) return;
  if (BytesIn(DatabaseFile(dir_)) == 0) {
    // With a rollback journal the file stays empty until something is written, and an empty file is
    // not a whole database.
    Connection::Call call(writer_.get());
    writer_->Run("BEGIN IMMEDIATE", "creating the database");
    writer_->Run("COMMIT", "creating the database");
  }
  // The sync makes the new file's directory entry survive a power cut.
  vfs_->SyncData();
  SyncDirectory(dir_);
}

void Database::ReadTables() {
  Connection::Call call(writer_.get());
  sqlite3_stmt* stmt = nullptr;
  bool tables = false, rowid = false;
  int code = ::sqlite3_prepare_v2(writer_->db(),
                                  "SELECT name, sql NOT LIKE '%WITHOUT ROWID' FROM sqlite_master "
                                  "WHERE type='table' AND name NOT LIKE 'sqlite_%'",
                                  -1, &stmt, nullptr);
  if (code == SQLITE_OK) {
    LockGuard lock(mutex_);
    while ((code = ::sqlite3_step(stmt)) == SQLITE_ROW) {
      all_.insert(
          fmt::format("\"{}\"", reinterpret_cast<const char*>(::sqlite3_column_text(stmt, 0))));
      rowid = rowid || ::sqlite3_column_int(stmt, 1) != 0;
      tables = true;
    }
  }
  ::sqlite3_finalize(stmt);
  if (code != SQLITE_DONE) writer_->Fail(code, "reading the catalogue");
  TakeLayout(tables, rowid);
}

void Database::TakeLayout(bool tables, bool rowid) {
  const std::string layout = rowid ? "rowid" : "without-rowid";
  if (tables && !settings_.table.empty() && settings_.table != layout) {
    throw Error(Error::kUsage, fmt::format("the database in {} was made with table={}, not {}: "
                                           "leave that out, or load it anew with --fresh",
                                           dir_, layout, settings_.table));
  }
  if (tables || settings_.table.empty()) settings_.table = layout;
}

std::string Database::Pragma(const std::string& name) {
  Connection::Call call(writer_.get());
  return writer_->Run("PRAGMA " + name, "reading a setting");
}

std::string Database::NameOf(TableId table) const {
  LockGuard lock(mutex_);
  if (table >= names_.size()) {
    throw Error(Error::kUsage, fmt::format("table {} of sqlite is not open", table));
  }
  return names_[table];
}

TableId Database::OpenTable(const std::string& table) {
  if (table.empty() || table.find('\0') != std::string::npos) {
    throw Error(Error::kUsage, "sqlite cannot name a table '" + table +
                                   "': a name has at least one byte, and none of them is zero");
  }
  const std::string name = SqlName(table);
  bool there;
  {
    LockGuard lock(mutex_);
    const auto open = std::find(names_.begin(), names_.end(), name);
    if (open != names_.end()) return static_cast<TableId>(open - names_.begin());
    there = all_.contains(name);
  }
  if (!there) {
    IoScope scope(kOpen);
    Connection* writer = BeginWrite();
    try {
      Connection::Call call(writer);
      writer->Run("CREATE TABLE IF NOT EXISTS " + name +
                      "(k BLOB NOT NULL PRIMARY KEY, v BLOB NOT NULL)" +
                      (settings_.table == "rowid" ? "" : " WITHOUT ROWID"),
                  "creating a table");
    } catch (...) {
      EndWrite(false);
      throw;
    }
    EndWrite(true);
  }
  LockGuard lock(mutex_);
  all_.insert(name);
  const auto open = std::find(names_.begin(), names_.end(), name);
  if (open != names_.end()) return static_cast<TableId>(open - names_.begin());
  names_.push_back(name);
  table_count_.store(static_cast<uint32_t>(names_.size()), std::memory_order_release);
  return static_cast<TableId>(names_.size() - 1);
}

Connection* Database::TakeReader() {
  {
    LockGuard lock(mutex_);
    if (!unused_.empty()) {
      Connection* reader = unused_.back();
      unused_.pop_back();
      return reader;
    }
  }
  auto reader = std::make_unique<Connection>(
      vfs_.get(), settings_, &shares_, [this](TableId table) { return NameOf(table); }, false);
  LockGuard lock(mutex_);
  readers_.push_back(std::move(reader));
  return readers_.back().get();
}

void Database::GiveReader(Connection* reader) {
  LockGuard lock(mutex_);
  unused_.push_back(reader);
}

Connection* Database::BeginWrite() {
  turn_.Take();
  if (sync_failed_.load(std::memory_order_relaxed)) [[unlikely]] {
    turn_.Pass();
    LockGuard lock(mutex_);
    throw Error(*sync_failure_);
  }
  return writer_.get();
}

void Database::EndWrite(bool committed) {
  if (committed) {
    commits_.fetch_add(1, std::memory_order_relaxed);
    try {
      if (settings_.wal()) CheckpointInCommit();
    } catch (const std::bad_alloc&) {
      // The commit is made. A later commit tries the checkpoint again.
    }
  }
  turn_.Pass();
}

// Begins a checkpoint after a commit when the log is long. The commit is made already, so a failed
// checkpoint does not make it fail: the pages stay in the log, and the next checkpoint tries again.
// After a failed sync, the next write throws its error (Vfs).
//
// Such a checkpoint copies what no reader needs any more from the log, and SQLite begins the log
// anew when all is copied and nobody reads from it. If readers come and go without a pause, that is
// never so. So a checkpoint of a log that is twice as long waits for those that read older states.
// If one stays, the next checkpoint that waits comes when the log has doubled again.
//
// SQLite has begun the log anew when it is shorter than after the commit before. It may be longer
// than the distance all the same, after a long transaction.
void Database::CheckpointInCommit() {
  const uint64_t pages = writer_->wal_pages();
  const uint64_t distance =
      std::max<uint64_t>(1, settings_.checkpoint_log_bytes / (settings_.page_size + kFrameHeader));
  if (pages < distance || pages < log_pages_) {
    next_checkpoint_ = distance;
    next_wait_ = 2 * distance;
  }
  log_pages_ = pages;
  if (pages < next_checkpoint_) return;
  // If a reader keeps the checkpoint from completing, the log grows by a part before the next
  // attempt.
  next_checkpoint_ = pages + distance / 16 + 1;
  const bool waits = pages >= next_wait_;
  if (waits) next_wait_ = 2 * pages;
  IoScope scope(kCheckpoint);
  Connection::Call call(writer_.get());
  TakeCheckpoint(waits ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE,
                 kReadersWaitInCommitMs);
}

int Database::TakeCheckpoint(int mode, uint32_t wait_ms) {
  writer_->set_busy_wait_ms(std::min(wait_ms, settings_.busy_wait_ms));
  const int code = ::sqlite3_wal_checkpoint_v2(writer_->db(), nullptr, mode, nullptr, nullptr);
  writer_->set_busy_wait_ms(settings_.busy_wait_ms);
  return code;
}

void Database::Checkpoint() {
  Connection* writer = BeginWrite();
  try {
    if (settings_.wal()) {
      Connection::Call call(writer);
      int code = TakeCheckpoint(SQLITE_CHECKPOINT_PASSIVE, 0);
      // This checkpoint waits for readers, but not for a cursor that stays on its row.
      if (code == SQLITE_OK) code = TakeCheckpoint(SQLITE_CHECKPOINT_TRUNCATE, kReadersWaitMs);
      if (code != SQLITE_OK && code != SQLITE_BUSY) writer->Fail(code, "a checkpoint");
    }
    SyncFiles();
  } catch (...) {
    EndWrite(false);
    throw;
  }
  EndWrite(false);
}

// With durability none, SQLite has synced no file, and no removal of a file. If a power cut brought
// back a part of a log or a journal that was removed, that part would be replayed.
void Database::SyncFiles() const {
  vfs_->SyncLog();
  vfs_->SyncData();
  if (settings_.durability == Durability::kNone) SyncDirectory(dir_);
}

void Database::SyncLazily() {
  IoScope scope(kLogWrite);
  try {
    vfs_->SyncLog();
  } catch (const std::exception& error) {
    LockGuard lock(mutex_);
    if (!sync_failure_) sync_failure_ = Error::Of(error);
    sync_failed_.store(true, std::memory_order_relaxed);
  }
}

// Counts locks each connection after it has released mutex_: a session that prepares a statement
// asks for the name of its table (NameOf) while it holds the mutex of its connection. The readers
// stay until the database is closed.
Connection::Counts Database::Counts() {
  std::vector<Connection*> connections = {writer_.get()};
  {
    LockGuard lock(mutex_);
    for (const auto& reader : readers_) connections.push_back(reader.get());
  }
  Connection::Counts counts;
  for (Connection* connection : connections) counts += connection->LockedCounts();
  return counts;
}

}  // namespace testbed::sqlite

#include "engines/sqlite/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "device/error.h"
#include "device/os/mutex.h"

namespace testbed::sqlite {
namespace {

constexpr size_t kQueries = static_cast<size_t>(Query::kCount);

std::string SqlOf(Query query, const std::string& table, bool rowid) {
  switch (query) {
    case Query::kGet:
      return "SELECT v FROM " + table + " WHERE k=?1";
    case Query::kPut:
      // If the table has no rowid, no trigger and no second index, REPLACE is one search and one
      // change of the tree.
      if (!rowid) return "REPLACE INTO " + table + "(k,v) VALUES(?1,?2)";
      // With this statement the row keeps its rowid, so its entry in the index stays as it is.
      return "INSERT INTO " + table +
             "(k,v) VALUES(?1,?2) ON CONFLICT(k) DO UPDATE SET v=excluded.v";
    case Query::kErase:
      return "DELETE FROM " + table + " WHERE k=?1";
    case Query::kFrom:
      return "SELECT k,v FROM " + table + " WHERE k>=?1 ORDER BY k";
    case Query::kAfter:
      return "SELECT k,v FROM " + table + " WHERE k>?1 ORDER BY k";
    case Query::kDownFrom:
      return "SELECT k,v FROM " + table + " WHERE k<=?1 ORDER BY k DESC";
    case Query::kBefore:
      return "SELECT k,v FROM " + table + " WHERE k<?1 ORDER BY k DESC";
    default:
      return "SELECT k,v FROM " + table + " ORDER BY k DESC";
  }
}

int NoteWalPages(void* wal_pages, sqlite3*, const char*, int pages) {
  *static_cast<uint64_t*>(wal_pages) = static_cast<uint64_t>(pages);
  return SQLITE_OK;
}

}  // namespace

void CacheShares::SetBytes(uint64_t bytes) {
  LockGuard lock(mutex_);
  bytes_ = bytes;
  Divide(nullptr);
}

uint64_t CacheShares::bytes() const {
  LockGuard lock(mutex_);
  return bytes_;
}

void CacheShares::Add(Connection* connection) {
  LockGuard lock(mutex_);
  connections_.push_back(connection);
}

void CacheShares::Remove(Connection* connection) {
  LockGuard lock(mutex_);
  std::erase(connections_, connection);
  if (!connection->in_use_.load(std::memory_order_relaxed)) return;
  --in_use_;
  Divide(nullptr);
}

void CacheShares::Note(Connection* connection) {
  LockGuard lock(mutex_);
  connection->turn_ = ++turns_;
  bool changed = false;
  if (!connection->in_use_.load(std::memory_order_relaxed)) {
    connection->in_use_.store(true, std::memory_order_relaxed);
    ++in_use_;
    changed = true;
  }
  if (turns_ % kIdleTurns == 0) {
    for (Connection* other : connections_) {
      if (!other->in_use_.load(std::memory_order_relaxed)) continue;
      if (turns_ - other->turn_ <= kIdleTurns) continue;
      other->in_use_.store(false, std::memory_order_relaxed);
      --in_use_;
      changed = true;
    }
  }
  if (changed) Divide(connection);
}

uint64_t CacheShares::ShareOf(const Connection& connection) const {
  LockGuard lock(mutex_);
  return connection.in_use_.load(std::memory_order_relaxed)
             ? bytes_ / std::max<uint64_t>(1, in_use_)
             : 0;
}

// Gives each connection its share. A connection that is in a call takes its share when it begins
// the next one.
void CacheShares::Divide(Connection* locked) {
  const uint32_t division = division_.fetch_add(1, std::memory_order_relaxed) + 1;
  const uint64_t share = bytes_ / std::max<uint64_t>(1, in_use_);
  for (Connection* connection : connections_) {
    if (connection == locked) continue;
    if (!connection->mutex_.try_lock()) continue;
    const LockGuard free(connection->mutex_, std::adopt_lock);
    connection->division_ = division;
    connection->cache_bytes_ = connection->in_use_.load(std::memory_order_relaxed) ? share : 0;
    connection->SetCacheSize();
  }
}

void Statement::BindBlob(int parameter, std::string_view bytes) {
  // SQLite binds NULL for a null pointer, and NULL is not an empty blob.
  const char* data = bytes.data() != nullptr ? bytes.data() : "";
  const int code = ::sqlite3_bind_blob64(stmt_, parameter, data, bytes.size(), SQLITE_STATIC);
  if (code != SQLITE_OK) connection_->Fail(code, "binding a parameter");
}

bool Statement::Step(const char* doing) {
  const int code = ::sqlite3_step(stmt_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  Connection* connection = connection_;
  connection->Give(std::exchange(*this, Statement()));
  connection->Fail(code, doing);
}

std::string_view Statement::Column(int column) const {
  const void* bytes = ::sqlite3_column_blob(stmt_, column);
  const int size = ::sqlite3_column_bytes(stmt_, column);
  return {static_cast<const char*>(bytes), static_cast<size_t>(size)};
}

Connection::Connection(Vfs* vfs, const Settings& settings, CacheShares* shares, NameOf name_of,
                       bool creates)
    : vfs_(vfs),
      settings_(settings),
      shares_(shares),
      name_of_(std::move(name_of)),
      busy_wait_ms_(settings.busy_wait_ms) {
  ConfigureLibrary();
  Vfs::ForgetError();
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
  flags |= vfs->options().read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  if (creates) flags |= SQLITE_OPEN_CREATE;
  const int code =
      ::sqlite3_open_v2(DatabaseFile(vfs->options().dir).c_str(), &db_, flags, vfs->name());
  try {
    if (code != SQLITE_OK) Fail(code, "opening the database");
    Configure(creates);
  } catch (...) {
    for (sqlite3_stmt* stmt : {begin_, commit_, rollback_}) ::sqlite3_finalize(stmt);
    ::sqlite3_close(db_);
    throw;
  }
  shares_->Add(this);
}

Connection::~Connection() {
  shares_->Remove(this);
  // SQLite does not close a connection that has statements, so those that an Error has lost are
  // freed here, too.
  while (sqlite3_stmt* stmt = ::sqlite3_next_stmt(db_, nullptr)) ::sqlite3_finalize(stmt);
  ::sqlite3_close(db_);
}

void Connection::Configure(bool creates) {
  constexpr const char* kDoing = "opening the database";
  ::sqlite3_extended_result_codes(db_, 1);
  ::sqlite3_busy_handler(db_, &Busy, this);
  if (creates) {
    Run(fmt::format("PRAGMA page_size={}", settings_.page_size), kDoing);
    Run("PRAGMA auto_vacuum=NONE", kDoing);
  }
  Run("PRAGMA temp_store=MEMORY", kDoing);
  Run("PRAGMA secure_delete=OFF", kDoing);
  if (settings_.io == IoMode::kMmap) Run("PRAGMA mmap_size=2147418112", kDoing);
  if (!vfs_->options().read_only) {
    const std::string journal = Run("PRAGMA journal_mode=" + settings_.journal, kDoing);
    if (journal != settings_.journal) {
      throw Error(Error::kRun, fmt::format("sqlite could not set the journal mode of {} to {}: "
                                           "it stays {}",
                                           vfs_->options().dir, settings_.journal, journal));
    }
  }
  Run("PRAGMA synchronous=" + settings_.synchronous, kDoing);
  // This hook replaces SQLite's own hook, which would begin a checkpoint within the commit.
  ::sqlite3_wal_hook(db_, &NoteWalPages, &wal_pages_);
  SetCacheSize();
}

// SQLite calls Busy while another connection holds a lock. Busy waits until a lock was given up,
// but a few milliseconds at most. It returns 0 to make SQLite give up.
int Connection::Busy(void* connection, int tries) {
  const Connection& c = *static_cast<Connection*>(connection);
  constexpr uint32_t kTurnMs = 2;
  if (static_cast<uint64_t>(tries) * kTurnMs >= c.busy_wait_ms_) return 0;
  c.vfs_->WaitForLocks(std::chrono::milliseconds(kTurnMs));
  return 1;
}

void Connection::Resize() {
  division_ = shares_->division();
  cache_bytes_ = shares_->ShareOf(*this);
  SetCacheSize();
}

// Sets the size of the cache to cache_bytes_. SQLite works with the few pages that it needs,
// however small the size is.
void Connection::SetCacheSize() {
  char sql[64];  // an array, so that a Call needs no memory of its own
  const uint64_t kib = std::max<uint64_t>(1, cache_bytes_ >> 10);
  *fmt::format_to_n(sql, sizeof sql - 1, "PRAGMA cache_size=-{}", kib).out = '\0';
  ::sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
}

sqlite3_stmt* Connection::Prepare(const std::string& sql, const char* doing) const {
  sqlite3_stmt* stmt = nullptr;
  const int code = ::sqlite3_prepare_v3(db_, sql.c_str(), static_cast<int>(sql.size() + 1),
                                        SQLITE_PREPARE_PERSISTENT, &stmt, nullptr);
  if (code != SQLITE_OK) Fail(code, doing);
  return stmt;
}

Statement Connection::Take(TableId table, Query query) {
  const size_t at = table * kQueries + static_cast<size_t>(query);
  if (at >= statements_.size()) statements_.resize((table + 1) * kQueries);
  std::vector<sqlite3_stmt*>& unused = statements_[at];
  if (unused.empty()) {
    return {
        this,
        Prepare(SqlOf(query, name_of_(table), settings_.table == "rowid"), "preparing a statement"),
        table, query};
  }
  sqlite3_stmt* stmt = unused.back();
  unused.pop_back();
  return {this, stmt, table, query};
}

void Connection::Give(Statement statement) {
  statement.Reset();
  const size_t at = statement.table_ * kQueries + static_cast<size_t>(statement.query_);
  statements_[at].push_back(statement.stmt_);
}

std::string Connection::Run(const std::string& sql, const char* doing) {
  sqlite3_stmt* stmt = Prepare(sql, doing);
  std::string result;
  int code;
  while ((code = ::sqlite3_step(stmt)) == SQLITE_ROW) {
    const unsigned char* text = ::sqlite3_column_text(stmt, 0);
    if (text != nullptr) result = reinterpret_cast<const char*>(text);
  }
  ::sqlite3_finalize(stmt);
  if (code != SQLITE_DONE) Fail(code, doing);
  return result;
}

void Connection::RunPrepared(sqlite3_stmt** stmt, const char* sql, const char* doing) {
  if (*stmt == nullptr) *stmt = Prepare(sql, doing);
  const int code = ::sqlite3_step(*stmt);
  ::sqlite3_reset(*stmt);
  if (code != SQLITE_DONE) Fail(code, doing);
}

void Connection::Rollback() {
  if (::sqlite3_get_autocommit(db_) == 0) RunPrepared(&rollback_, "ROLLBACK", "rolling back");
}

// Adds SQLite's own counts to hits_ and misses_, and sets SQLite's counts to zero. This is done
// again and again, because they have only 31 bits.
void Connection::TakeCounts() {
  int hits = 0, misses = 0, most = 0;
  ::sqlite3_db_status(db_, SQLITE_DBSTATUS_CACHE_HIT, &hits, &most, 1);
  ::sqlite3_db_status(db_, SQLITE_DBSTATUS_CACHE_MISS, &misses, &most, 1);
  hits_ += static_cast<uint64_t>(hits);
  misses_ += static_cast<uint64_t>(misses);
}

Connection::Counts Connection::CountsInCall() {
  TakeCounts();
  int used = 0, most = 0;
  ::sqlite3_db_status(db_, SQLITE_DBSTATUS_CACHE_USED, &used, &most, 0);
  return {hits_, misses_, static_cast<uint64_t>(static_cast<uint32_t>(used))};
}

void Connection::Fail(int code, const char* doing) const {
  const std::string& dir = vfs_->options().dir;
  std::optional<Error> error = Vfs::TakeError();
  const int base = code & 0xff;
  const bool of_system = base == SQLITE_IOERR || base == SQLITE_FULL || base == SQLITE_CANTOPEN;
  if (of_system && error) throw Error(*error);
  const std::string begin = fmt::format("sqlite failed at {} in {}: ", doing, dir);
  switch (base) {
    case SQLITE_BUSY:
      throw Error(Error::kRun, begin + fmt::format("another session held its lock for more than {} "
                                                   "ms (busy_wait_ms); without a write-ahead log a "
                                                   "commit waits until no cursor stands on a row",
                                                   settings_.busy_wait_ms));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      throw Error(Error::kCorruption, begin + ::sqlite3_errstr(code) + "; load it anew");
    case SQLITE_READONLY:
      throw Error::Io("write to", DatabaseFile(dir), EROFS);
    case SQLITE_NOMEM:
      throw Error::NoMemory(fmt::format("for sqlite's {} in {}", doing, dir));
    default:
      throw Error(Error::kRun,
                  begin + (db_ != nullptr ? ::sqlite3_errmsg(db_) : ::sqlite3_errstr(code)));
  }
}

}  // namespace testbed::sqlite

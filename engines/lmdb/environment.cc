#include "engines/lmdb/environment.h"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "device/account/ledger.h"
#include "device/file/file.h"
#include "engines/data_file/data_file.h"
#include "engines/data_file/mapped_error.h"

namespace testbed::lmdb {
namespace {

constexpr mdb_mode_t kMode = 0644;

// Returns the fault that LMDB's `code` stands for.
MappedFault FaultOf(int code) {
  switch (code) {
    case MDB_MAP_FULL:
      return MappedFault::kMapFull;
    case MDB_DBS_FULL:
      return MappedFault::kTablesFull;
    case MDB_READERS_FULL:
      return MappedFault::kReadersFull;
    case MDB_TXN_FULL:
      return MappedFault::kTransactionFull;
    case MDB_BAD_TXN:
      return MappedFault::kFailedBefore;
    case MDB_PANIC:
      return MappedFault::kStopped;
    case MDB_VERSION_MISMATCH:
      return MappedFault::kOtherVersion;
    case MDB_INVALID:
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
      return MappedFault::kDamaged;
    default:
      return MappedFault::kOther;
  }
}

}  // namespace

std::string DataFile(const std::string& dir) { return dir + "/data.mdb"; }
std::string LockFile(const std::string& dir) { return dir + "/lock.mdb"; }

Environment::Environment(const std::string& dir, const Settings& settings)
    : dir_(dir), settings_(settings) {
  lock_ = DirLock(dir_, "the database in");
  DataFileOpening opening(DataFile(dir_), LockFile(dir_));
  if (settings_.map_size == 0) settings_.map_size = DefaultMapSize(dir_);
  try {
    Open();
    RegisterDataFile(DataFile(dir_), LockFile(dir_));
    // A process that was killed may have left commits, or the file's name, in memory alone.
    failure_.Sync([this] { SyncFile(); });
    SyncDirectory(dir_);
    OpenFound();
  } catch (...) {
    if (env_ != nullptr) ::mdb_env_close(env_);
    failure_.DropLost(DataFile(dir_));
    throw;
  }
  opening.Done();
}

Environment::~Environment() {
  ::mdb_env_close(env_);
  failure_.DropLost(DataFile(dir_));
}

void Environment::Open() {
  Check(::mdb_env_create(&env_), "opening the database");
  Check(::mdb_env_set_mapsize(env_, settings_.map_size), "opening the database");
  Check(::mdb_env_set_maxdbs(env_, settings_.max_tables), "opening the database");
  // The engine's own snapshot, which its counters need, takes a slot as well.
  Check(::mdb_env_set_maxreaders(env_, settings_.max_readers + 1), "opening the database");
  const int code = ::mdb_env_open(env_, dir_.c_str(), settings_.flags, kMode);
  if (code == ENOMEM) {
    throw Error(Error::kUsage,
                fmt::format("lmdb found no address space for a database of up to {} bytes: give "
                            "a smaller --engine-option map_size",
                            settings_.map_size));
  }
  Check(code, "opening the database");
  MDB_stat stat;
  Check(::mdb_env_stat(env_, &stat), "opening the database");
  if (stat.ms_psize != settings_.page_size) {
    throw Error(Error::kUsage, fmt::format("the database in {} has {}-byte pages, those of the "
                                           "machine that made it, not {}: load it anew with "
                                           "--fresh",
                                           dir_, stat.ms_psize, settings_.page_size));
  }
  settings_.map_size = Info().me_mapsize;
  watch_.emplace(DataFile(dir_), FileKind::kData);
  longest_key_ = static_cast<size_t>(::mdb_env_get_maxkeysize(env_));
}

// Opens all tables of the file, so that Counters can add up their sizes, and so that a thread that
// writes can open a table that the file has.
void Environment::OpenFound() {
  MDB_txn* txn = BeginWrite();
  try {
    MDB_dbi main = 0;  // LMDB's own table of the tables' names
    Check(::mdb_dbi_open(txn, nullptr, 0, &main), "reading the catalogue");
    std::vector<std::string> names;
    MDB_cursor* cursor = nullptr;
    Check(::mdb_cursor_open(txn, main, &cursor), "reading the catalogue");
    MDB_val name, value;
    int code;
    while ((code = ::mdb_cursor_get(cursor, &name, &value, MDB_NEXT)) == 0) {
      names.emplace_back(static_cast<const char*>(name.mv_data), name.mv_size);
    }
    ::mdb_cursor_close(cursor);
    if (code != MDB_NOTFOUND) Fail(code, "reading the catalogue");
    for (const std::string& table : names) {
      MDB_dbi dbi = 0;
      code = ::mdb_dbi_open(txn, table.c_str(), 0, &dbi);
      if (code == MDB_INCOMPATIBLE) continue;  // a row, not a table; another program wrote it
      if (code != 0) Fail(code, "opening table " + table);
      tables_.Add(table, dbi);
    }
  } catch (...) {
    AbortWrite(txn);
    throw;
  }
  CommitWrite(txn);
}

MDB_envinfo Environment::Info() const {
  MDB_envinfo info;
  ::mdb_env_info(env_, &info);
  return info;
}

TableId Environment::OpenTable(const std::string& table) {
  CheckTableName("lmdb", table, longest_key_);
  return tables_.Find(table, [this] { writer_.CheckOther(); }, [&] { return Create(table); });
}

MDB_dbi Environment::Create(const std::string& table) {
  IoScope scope(kOpen);
  MDB_txn* txn = BeginWrite();
  MDB_dbi dbi = 0;
  const int code = ::mdb_dbi_open(txn, table.c_str(), MDB_CREATE, &dbi);
  if (code != 0) {
    AbortWrite(txn);
    Fail(code, "creating table " + table);
  }
  CommitWrite(txn);
  return dbi;
}

MDB_txn* Environment::BeginWrite() {
  writer_.CheckOther();
  failure_.ThrowIfAny();
  MDB_txn* txn = nullptr;
  Check(::mdb_txn_begin(env_, nullptr, 0, &txn), "beginning to write");
  if (failure_.AfterCommit()) [[unlikely]] {
    ::mdb_txn_abort(txn);
    failure_.ThrowIfAny();
  }
  writer_.Begin();
  return txn;
}

// LMDB does not tell whether a commit failed at a write or at its sync, and takes further commits
// after both. So each failure counts as one of a sync (commit_failure.h). Without durability
// (MDB_NOSYNC) a commit has no sync, and its failure is not noted.
void Environment::CommitWrite(MDB_txn* txn) {
  writer_.End();  // mdb_txn_commit lets the next writer in before it returns
  CallMark mark(FileKind::kData);
  int code = 0;
  failure_.Commit([&] {
    code = ::mdb_txn_commit(txn);
    if (code > 0 && settings_.durability != Durability::kNone) [[unlikely]]
      failure_.NoteCommit("lmdb, committing in", dir_, code, &*watch_);
  });
  Check(code, "committing");
}

void Environment::AbortWrite(MDB_txn* txn) {
  writer_.End();
  ::mdb_txn_abort(txn);
}

// With sync durability this does not sync. Otherwise the system could report the error of a
// commit's sync to this sync instead of to the commit.
void Environment::Sync() {
  failure_.ThrowIfAny();
  if (settings_.durability == Durability::kSync) return;
  failure_.Sync([this] { SyncFile(); });
}

void Environment::SyncFile() {
  CallMark mark(FileKind::kData);
  Check(::mdb_env_sync(env_, 1), "syncing");
}

void Environment::Fail(int code, const std::string& doing) const {
  if (code == EIO && DeviceIsFull(dir_)) code = ENOSPC;
  if (code > 0) throw Error::Io("lmdb, " + doing + " in", dir_, code);
  throw MappedError(FaultOf(code), {"lmdb", "lmdb", doing, dir_, ::mdb_strerror(code)}, settings_);
}

bool Snapshot::Refresh() {
  if (showing_ && commit_ == env_->LastCommit() && tables_ == env_->table_count()) return false;
  Release();
  tables_ = env_->table_count();  // read first, so that the transaction shows all of them
  if (txn_ == nullptr) {
    env_->Check(::mdb_txn_begin(env_->env_, nullptr, MDB_RDONLY, &txn_), "beginning to read");
  } else {
    env_->Check(::mdb_txn_renew(txn_), "beginning to read");
  }
  showing_ = true;
  commit_ = ::mdb_txn_id(txn_);
  return true;
}

}  // namespace testbed::lmdb

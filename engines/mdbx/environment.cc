#include "engines/mdbx/environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <vector>

#include "device/account/ledger.h"
#include "device/file/file.h"
#include "engines/data_file/data_file.h"
#include "engines/data_file/mapped_error.h"

namespace testbed::mdbx {
namespace {

namespace fs = std::filesystem;

constexpr mdbx_mode_t kMode = 0644;
constexpr const char* kOpening = "opening the database";

// Returns the fault that libmdbx's `code` stands for.
MappedFault FaultOf(int code) {
  switch (code) {
    case MDBX_MAP_FULL:
      return MappedFault::kMapFull;
    case MDBX_DBS_FULL:
      return MappedFault::kTablesFull;
    case MDBX_READERS_FULL:
      return MappedFault::kReadersFull;
    case MDBX_TXN_FULL:
      return MappedFault::kTransactionFull;
    case MDBX_BAD_TXN:
      return MappedFault::kFailedBefore;
    case MDBX_PANIC:
      return MappedFault::kStopped;
    case MDBX_VERSION_MISMATCH:
      return MappedFault::kOtherVersion;
    case MDBX_INVALID:
    case MDBX_CORRUPTED:
    case MDBX_PAGE_NOTFOUND:
      return MappedFault::kDamaged;
    default:
      return MappedFault::kOther;
  }
}

// Appends the name of a table to the vector of names `to`. No exception may pass through the frames
// of mdbx_enumerate_tables, which calls it.
int AddName(void* to, const MDBX_txn*, const MDBX_val* name, MDBX_db_flags_t, const MDBX_stat*,
            MDBX_dbi) noexcept {
  try {
    static_cast<std::vector<std::string>*>(to)->emplace_back(
        static_cast<const char*>(name->iov_base), name->iov_len);
    return MDBX_SUCCESS;
  } catch (const std::bad_alloc&) {
    return MDBX_ENOMEM;
  }
}

}  // namespace

std::string DataFile(const std::string& dir) { return dir + "/mdbx.dat"; }
std::string LockFile(const std::string& dir) { return dir + "/mdbx.lck"; }

Environment::Environment(const std::string& dir, const Settings& settings)
    : dir_(dir), settings_(settings) {
  lock_ = DirLock(dir_, "the database in");
  DataFileOpening opening(DataFile(dir_), LockFile(dir_));
  if (settings_.map_size == 0) settings_.map_size = DefaultMapSize(dir_, settings_.page_size);
  try {
    Open();
    RegisterDataFile(DataFile(dir_), LockFile(dir_));
    // A process that was killed may have left commits, or the file's name, in memory alone.
    failure_.Sync([this] { SyncFile(); });
    SyncDirectory(dir_);
    OpenFound();
  } catch (...) {
    if (env_ != nullptr) ::mdbx_env_close(env_);
    failure_.DropLost(DataFile(dir_));
    throw;
  }
  opening.Done();
}

Environment::~Environment() {
  ::mdbx_env_close(env_);
  failure_.DropLost(DataFile(dir_));
}

void Environment::Open() {
  Check(::mdbx_env_create(&env_), kOpening);
  // The file begins small and grows by the steps that libmdbx chooses.
  Check(::mdbx_env_set_geometry(env_, -1, -1, static_cast<intptr_t>(settings_.map_size), -1, -1,
                                static_cast<intptr_t>(settings_.page_size)),
        kOpening);
  Check(::mdbx_env_set_maxdbs(env_, settings_.max_tables), kOpening);
  // The engine's own snapshot, which its counters need, takes a slot as well.
  Check(::mdbx_env_set_maxreaders(env_, settings_.max_readers + 1), kOpening);
  const int code =
      ::mdbx_env_open(env_, dir_.c_str(), static_cast<MDBX_env_flags_t>(settings_.flags), kMode);
  if (code == ENOMEM) {
    throw Error(Error::kUsage,
                fmt::format("mdbx found no address space for a database of up to {} bytes: give "
                            "a smaller --engine-option map_size",
                            settings_.map_size));
  }
  Check(code, kOpening);
  const MDBX_envinfo info = Info();
  if (info.mi_dxb_pagesize != settings_.page_size) {
    throw Error(Error::kUsage,
                fmt::format("the database in {} has {}-byte pages, not {}: give "
                            "--page-size {}, or load it anew with --fresh",
                            dir_, info.mi_dxb_pagesize, settings_.page_size, info.mi_dxb_pagesize));
  }
  settings_.map_size = info.mi_geo.upper;
  Check(::mdbx_env_get_fd(env_, &fd_), kOpening);
  FindMapping();
  Advise();
  watch_.emplace(DataFile(dir_), FileKind::kData);
  longest_key_ = static_cast<size_t>(::mdbx_env_get_maxkeysize_ex(env_, MDBX_DB_DEFAULTS));
  longest_value_ = static_cast<size_t>(::mdbx_env_get_maxvalsize_ex(env_, MDBX_DB_DEFAULTS));
}

// Opens all tables of the file, so that Counters can add up their sizes, and so that a thread that
// writes can open a table that the file has.
void Environment::OpenFound() {
  MDBX_txn* txn = BeginWrite();
  try {
    std::vector<std::string> names;
    Check(::mdbx_enumerate_tables(txn, &AddName, &names), "reading the catalogue");
    for (std::string& table : names) {
      const MDBX_val name{table.data(), table.size()};
      MDBX_dbi dbi = 0;
      const int code = ::mdbx_dbi_open2(txn, &name, MDBX_DB_DEFAULTS, &dbi);
      if (code == MDBX_INCOMPATIBLE) continue;  // another program made it, with other flags
      if (code != MDBX_SUCCESS) Fail(code, "opening table " + table);
      tables_.Add(table, dbi);
    }
  } catch (...) {
    AbortWrite(txn);
    throw;
  }
  CommitWrite(txn);
}

// libmdbx does not tell where the mapping lies, so this looks it up. A line of the list is
// "begin-end permissions offset device inode    path"; a mapping whose parts have different advice
// is several lines. The largest mapping of the file is libmdbx's: others are made to measure it.
// The list writes a newline of a path as "\012".
void Environment::FindMapping() {
  const std::string file = fs::canonical(DataFile(dir_)).string();
  std::string ending = " ";
  for (const char c : file) {
    if (c == '\n') {
      ending += "\\012";
    } else {
      ending += c;
    }
  }
  std::ifstream maps("/proc/self/maps");
  uintptr_t begin = 0, end = 0;
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with(ending)) continue;
    char* rest = nullptr;
    const uintptr_t first = std::strtoull(line.c_str(), &rest, 16);
    if (first != end) begin = first;
    end = std::strtoull(rest + 1, nullptr, 16);
    if (end - begin <= mapping_bytes_) continue;
    mapping_ = begin;
    mapping_bytes_ = end - begin;
  }
  if (mapping_bytes_ == 0) {
    throw Error(Error::kRun, "mdbx: /proc/self/maps has no mapping of " + file);
  }
}

// fstat would ask for the times, too, and make the next write slower (CheckHasName in
// device/file/directory.cc). So this asks for the length alone.
uint64_t Environment::BytesToAdvise() const {
  if (settings_.advice != Advice::kNormal) return 0;
  struct statx st;
  return ::statx(fd_, "", AT_EMPTY_PATH, STATX_SIZE, &st) == 0 ? st.stx_size : 0;
}

// By itself libmdbx asks the kernel for all of the file when it opens it, if the machine has that
// much free memory, and else advises "random" (dxb_set_readahead in 0.14.4). With MDBX_NORDAHEAD it
// always advises "random", at the opening and for each part by which the file grows, so "normal" is
// given after that. The mapping has addresses for the largest file from the beginning.
void Environment::Advise() const {
  if (settings_.advice != Advice::kNormal) return;
  ::madvise(reinterpret_cast<void*>(mapping_), mapping_bytes_, MADV_NORMAL);
}

MDBX_envinfo Environment::Info() const {
  MDBX_envinfo info{};
  Check(::mdbx_env_info_ex(env_, nullptr, &info, sizeof info), "looking at the database");
  return info;
}

TableId Environment::OpenTable(const std::string& table) {
  CheckTableName("mdbx", table, longest_key_);
  return tables_.Find(table, [this] { writer_.CheckOther(); }, [&] { return Create(table); });
}

MDBX_dbi Environment::Create(const std::string& table) {
  IoScope scope(kOpen);
  MDBX_txn* txn = BeginWrite();
  MDBX_dbi dbi = 0;
  const int code = ::mdbx_dbi_open(txn, table.c_str(), MDBX_CREATE, &dbi);
  if (code != MDBX_SUCCESS) {
    AbortWrite(txn);
    Fail(code, "creating table " + table);
  }
  CommitWrite(txn);
  return dbi;
}

MDBX_txn* Environment::BeginWrite() {
  writer_.CheckOther();
  failure_.ThrowIfAny();
  MDBX_txn* txn = nullptr;
  Check(::mdbx_txn_begin(env_, nullptr, MDBX_TXN_READWRITE, &txn), "beginning to write");
  if (failure_.AfterCommit()) [[unlikely]] {
    ::mdbx_txn_abort(txn);
    failure_.ThrowIfAny();
  }
  writer_.Begin();
  bytes_before_write_.store(BytesToAdvise(), std::memory_order_relaxed);
  return txn;
}

// libmdbx takes no more commits after a failed sync, but does after a failed write. It writes the
// pages of a small commit through the page cache with O_DSYNC, so such a write is a sync, too.
void Environment::CommitWrite(MDBX_txn* txn) {
  writer_.End();  // libmdbx lets the next writer in before the commit has returned
  const uint64_t bytes_before = bytes_before_write_.load(std::memory_order_relaxed);
  CallMark mark(FileKind::kData);
  int code = MDBX_SUCCESS;
  failure_.Commit([&] {
    code = ::mdbx_txn_commit(txn);
    if (code > 0 && settings_.durability != Durability::kNone) [[unlikely]]
      failure_.NoteCommit("mdbx, committing in", dir_, code, &*watch_);
  });
  if (BytesToAdvise() != bytes_before) Advise();
  Check(code, "committing");
  commits_.fetch_add(1, std::memory_order_acq_rel);
}

void Environment::AbortWrite(MDBX_txn* txn) {
  writer_.End();
  const uint64_t bytes_before = bytes_before_write_.load(std::memory_order_relaxed);
  ::mdbx_txn_abort(txn);
  if (BytesToAdvise() != bytes_before) Advise();
}

void Environment::Sync() {
  // A thread that writes holds the library's write lock. The sync of another thread may be waiting
  // for that lock, so the writer must not wait for that sync.
  if (writer_.IsThisThread()) {
    failure_.SyncAsWriter([this] { SyncFile(); });
  } else {
    failure_.Sync([this] { SyncFile(); });
  }
}

void Environment::SyncFile() {
  CallMark mark(FileKind::kData);
  const int code = ::mdbx_env_sync_ex(env_, /*force=*/true, /*nonblock=*/false);
  // MDBX_RESULT_TRUE says that there was nothing to sync.
  if (code != MDBX_RESULT_TRUE) Check(code, "syncing");
}

void Environment::SyncLazily() {
  IoScope scope(kCheckpoint);
  try {
    Sync();
  } catch (const Error&) {
    // failure_ has kept the error, so no further commit is taken.
  }
}

void Environment::Fail(int code, const std::string& doing) const {
  if (code == EIO && DeviceIsFull(dir_)) code = ENOSPC;
  if (code > 0) throw Error::Io("mdbx, " + doing + " in", dir_, code);
  throw MappedError(FaultOf(code), {"mdbx", "libmdbx", doing, dir_, ::mdbx_strerror(code)},
                    settings_);
}

bool Snapshot::Refresh() {
  if (showing_ && commits_ == env_->commits() && tables_ == env_->table_count()) return false;
  Release();
  // Both numbers are read before the transaction begins, so that the transaction shows at least
  // these commits and tables.
  tables_ = env_->table_count();
  commits_ = env_->commits();
  if (txn_ == nullptr) {
    env_->Check(::mdbx_txn_begin(env_->env_, nullptr, MDBX_TXN_RDONLY, &txn_), "beginning to read");
  } else {
    env_->Check(::mdbx_txn_renew(txn_), "beginning to read");
  }
  showing_ = true;
  return true;
}

}  // namespace testbed::mdbx

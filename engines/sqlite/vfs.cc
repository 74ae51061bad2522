#include "engines/sqlite/vfs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "device/account/ledger.h"
#include "device/os/mutex.h"
#include "device/os/random_id.h"
#include "device/os/thread.h"

namespace testbed::sqlite {
namespace {

// These bytes of a database file are those that SQLite's own VFS locks (PENDING_BYTE in its os.h).
constexpr off_t kLockBytes = 0x40000000;
constexpr off_t kLockBytesLength = 512;
constexpr int kSectorSize = 4096;

// Returns the last error of the calling thread. A database that is closed after the thread_local
// objects are destroyed may set it, too. Throws std::bad_alloc.
std::optional<Error>& LastError() {
  return *OfThread([] { return std::make_unique<std::optional<Error>>(); });
}

// has_error says whether LastError() has an error. As a flag it costs a ForgetError nothing.
constinit thread_local bool has_error = false;

// Keeps an error for the calling thread.
void Keep(const Error& error) noexcept {
  has_error = false;
  try {
    LastError() = error;
    has_error = true;
  } catch (const std::bad_alloc&) {
    // There is no memory for the error, so only SQLite's code tells of the failure.
  }
}

// Runs a callback's body and returns its result code. An exception must not pass through SQLite's
// C frames.
template <typename Body>
int Guarded(int code, Body body) noexcept {
  try {
    body();
    return SQLITE_OK;
  } catch (const Error& error) {
    Keep(error);
    return error.disk_is_full() ? SQLITE_FULL : code;
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  } catch (const std::exception& error) {
    Keep(Error(Error::kIo, error.what(), EIO));
    return code;
  }
}

std::string NewVfsName() {
  static std::atomic<uint64_t> made{0};
  return "testbed-" + std::to_string(made.fetch_add(1));
}

bool Exists(const std::string& path) {
  struct stat st;
  return ::stat(path.c_str(), &st) == 0;
}

std::string Directory(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// A Handle is SQLite's object for a file that a connection has open.
struct Handle : sqlite3_file {
  Vfs* vfs = nullptr;
  std::shared_ptr<OpenFile> file;
  FileLock::Holder lock;
  WalIndex::Holder shm;
};

Handle* Of(sqlite3_file* file) { return static_cast<Handle*>(file); }

}  // namespace

std::string DatabaseFile(const std::string& dir) { return dir + "/data.sqlite"; }
std::string WalFile(const std::string& dir) { return DatabaseFile(dir) + "-wal"; }
std::string JournalFile(const std::string& dir) { return DatabaseFile(dir) + "-journal"; }

OpenFile::OpenFile(std::unique_ptr<File> file, bool creates)
    : file_(std::move(file)), size_(file_->Size()), sync_directory_(creates) {}

bool OpenFile::ReadHeader(uint64_t offset, void* buffer, size_t n) {
  if (offset + n > kHeader || kind() != FileKind::kData) return false;
  LockGuard lock(mutex_);
  if (!has_header_) {
    if (size() < kHeader) return false;
    file_->Read(0, header_, kHeader);
    has_header_ = true;
  }
  std::memcpy(buffer, header_ + offset, n);
  return true;
}

size_t OpenFile::Read(uint64_t offset, void* buffer, size_t n) {
  if (ReadHeader(offset, buffer, n)) return n;
  return file_->ReadSome(offset, buffer, n);
}

void OpenFile::Write(uint64_t offset, const void* data, size_t n) {
  if (failed_.load(std::memory_order_relaxed)) [[unlikely]]
    CheckSyncs();
  if (offset < kHeader && kind() == FileKind::kData) {
    LockGuard lock(mutex_);
    has_header_ = false;
    file_->Write(offset, data, n);
    if (offset == 0 && n >= kHeader) {
      std::memcpy(header_, data, kHeader);
      has_header_ = true;
    }
  } else {
    file_->Write(offset, data, n);
  }
  written_.store(true, std::memory_order_release);
  uint64_t size = size_.load(std::memory_order_relaxed);
  while (size < offset + n && !size_.compare_exchange_weak(size, offset + n)) {
  }
}

void OpenFile::Truncate(uint64_t size) {
  LockGuard lock(mutex_);
  has_header_ = has_header_ && size >= kHeader;
  file_->Truncate(size);
  written_.store(true, std::memory_order_release);
  size_.store(size, std::memory_order_relaxed);
}

void OpenFile::CheckSyncs() {
  LockGuard lock(mutex_);
  if (failure_) throw Error(*failure_);
}

void OpenFile::Sync() {
  LockGuard one(sync_mutex_);
  SyncLocked();
}

void OpenFile::SyncLocked() {
  if (failed_.load(std::memory_order_relaxed)) CheckSyncs();
  bool directory;
  {
    LockGuard lock(mutex_);
    directory = std::exchange(sync_directory_, false);
  }
  // written_ is cleared before the sync, which may miss bytes that are written meanwhile.
  written_.exchange(false, std::memory_order_acquire);
  try {
    file_->Sync();
    if (directory) SyncDirectory(Directory(file_->path()));
  } catch (const std::exception& error) {
    LockGuard lock(mutex_);
    failure_ = Error::Of(error);  // without memory, too: nobody knows what the device has
    failed_.store(true, std::memory_order_relaxed);
    throw;
  }
}

// Syncs if bytes were written since the last sync. If a sync is running, waits for it: that sync
// has cleared written_. If it has failed, it has also cleared written_, so this throws its error.
void OpenFile::SyncIfWritten() {
  LockGuard one(sync_mutex_);
  if (written_.load(std::memory_order_acquire)) return SyncLocked();
  CheckSyncs();
}

struct VfsCalls {
  static Vfs* Owner(sqlite3_vfs* c) { return static_cast<Vfs*>(c->pAppData); }

  static int Close(sqlite3_file* f) {
    Handle* h = Of(f);
    if (h->lock.level != SQLITE_LOCK_NONE) h->file->lock.Unlock(&h->lock, SQLITE_LOCK_NONE);
    h->~Handle();
    return SQLITE_OK;
  }

  static int Read(sqlite3_file* f, void* buffer, int n, sqlite3_int64 offset) {
    size_t got = 0;
    const size_t want = static_cast<size_t>(n);
    const int code = Guarded(SQLITE_IOERR_READ, [&] {
      got = Of(f)->file->Read(static_cast<uint64_t>(offset), buffer, want);
    });
    if (code != SQLITE_OK || got == want) return code;
    std::memset(static_cast<char*>(buffer) + got, 0, want - got);
    return SQLITE_IOERR_SHORT_READ;
  }

  static int Write(sqlite3_file* f, const void* data, int n, sqlite3_int64 offset) {
    Handle* h = Of(f);
    return Guarded(SQLITE_IOERR_WRITE, [&] {
      h->file->Write(static_cast<uint64_t>(offset), data, static_cast<size_t>(n));
      h->vfs->CountWrite(h->file->kind(), static_cast<uint64_t>(n));
    });
  }

  static int Truncate(sqlite3_file* f, sqlite3_int64 size) {
    return Guarded(SQLITE_IOERR_TRUNCATE,
                   [&] { Of(f)->file->Truncate(static_cast<uint64_t>(size)); });
  }

  static int Sync(sqlite3_file* f, int) {
    return Guarded(SQLITE_IOERR_FSYNC, [&] { Of(f)->file->Sync(); });
  }

  static int FileSize(sqlite3_file* f, sqlite3_int64* size) {
    *size = static_cast<sqlite3_int64>(Of(f)->file->size());
    return SQLITE_OK;
  }

  static int Lock(sqlite3_file* f, int level) {
    return Of(f)->file->lock.Lock(&Of(f)->lock, level);
  }
  static int Unlock(sqlite3_file* f, int level) {
    Of(f)->file->lock.Unlock(&Of(f)->lock, level);
    return SQLITE_OK;
  }
  static int CheckReserved(sqlite3_file* f, int* reserved) {
    *reserved = Of(f)->file->lock.Reserved();
    return SQLITE_OK;
  }

  static int Control(sqlite3_file*, int, void*) { return SQLITE_NOTFOUND; }
  static int SectorSize(sqlite3_file*) { return kSectorSize; }
  // As SQLite's own VFS does by default, this promises that a write that a power cut interrupts
  // changes no byte outside of its range.
  static int Characteristics(sqlite3_file*) { return SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

  static int ShmMap(sqlite3_file* f, int region, int size, int extend, void volatile** memory) {
    return Guarded(SQLITE_IOERR_SHMMAP, [&] {
      *memory = Of(f)->vfs->wal_index_.Region(static_cast<size_t>(region),
                                              static_cast<size_t>(size), extend != 0);
    });
  }
  static int ShmLock(sqlite3_file* f, int first, int count, int flags) {
    return Of(f)->vfs->wal_index_.Lock(&Of(f)->shm, first, count, flags);
  }
  static void ShmBarrier(sqlite3_file*) { std::atomic_thread_fence(std::memory_order_seq_cst); }
  static int ShmUnmap(sqlite3_file* f, int forget) {
    if (forget != 0) Of(f)->vfs->wal_index_.Clear();
    return SQLITE_OK;
  }

  static int Fetch(sqlite3_file* f, sqlite3_int64 offset, int n, void** page) {
    *page = nullptr;
    OpenFile& file = *Of(f)->file;
    if (file.file().options().mode != IoMode::kMmap) return SQLITE_OK;
    const uint64_t at = static_cast<uint64_t>(offset);
    if (at + static_cast<uint64_t>(n) > file.size()) return SQLITE_OK;
    return Guarded(SQLITE_IOERR_MMAP, [&] {
      *page = const_cast<char*>(file.file().View(at, static_cast<size_t>(n)).data());
    });
  }
  static int Unfetch(sqlite3_file*, sqlite3_int64, void*) { return SQLITE_OK; }

  static const sqlite3_io_methods* Methods() {
    static const sqlite3_io_methods methods = {3,
                                               &Close,
                                               &Read,
                                               &Write,
                                               &Truncate,
                                               &Sync,
                                               &FileSize,
                                               &Lock,
                                               &Unlock,
                                               &CheckReserved,
                                               &Control,
                                               &SectorSize,
                                               &Characteristics,
                                               &ShmMap,
                                               &ShmLock,
                                               &ShmBarrier,
                                               &ShmUnmap,
                                               &Fetch,
                                               &Unfetch};
    return &methods;
  }

  static FileKind KindOf(int flags) {
    if ((flags & SQLITE_OPEN_MAIN_DB) != 0) return FileKind::kData;
    return (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL)) != 0 ? FileKind::kLog
                                                                       : FileKind::kTemp;
  }

  static int Open(sqlite3_vfs* c, const char* name, sqlite3_file* f, int flags, int* actual) {
    f->pMethods = nullptr;
    Vfs* vfs = Owner(c);
    return Guarded(SQLITE_CANTOPEN, [&] {
      const FileKind kind = KindOf(flags);
      const bool temporary = kind == FileKind::kTemp;
      std::shared_ptr<OpenFile> file = vfs->Open(temporary ? vfs->TemporaryName() : name, kind,
                                                 (flags & SQLITE_OPEN_CREATE) != 0, temporary);
      Handle* h = new (f) Handle;
      h->vfs = vfs;
      h->file = std::move(file);
      h->pMethods = Methods();
      if (actual != nullptr) {
        *actual = flags;
        if (vfs->options_.read_only) {
          *actual = (flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)) | SQLITE_OPEN_READONLY;
        }
      }
    });
  }

  static int Delete(sqlite3_vfs* c, const char* name, int sync_directory) {
    Vfs* vfs = Owner(c);
    return Guarded(SQLITE_IOERR_DELETE, [&] {
      // The file is closed when it has lost its name: the account forgets it then (File::~File).
      decltype(vfs->files_)::node_type file;
      {
        LockGuard lock(vfs->mutex_);
        file = vfs->files_.extract(name);
      }
      CallMark mark(FileKind::kLog);
      if (::unlink(name) != 0 && errno != ENOENT) throw Error::Io("remove", name, errno);
      if (sync_directory != 0) SyncDirectory(Directory(name));
    });
  }

  static int Access(sqlite3_vfs*, const char* name, int what, int* yes) {
    return Guarded(SQLITE_IOERR_ACCESS, [&] {
      struct stat st;
      if (what != SQLITE_ACCESS_EXISTS) {
        *yes = ::access(name, W_OK | R_OK) == 0;
        return;
      }
      const bool there = ::stat(name, &st) == 0;
      // A journal that cannot be examined must not pass for absent: the database may be torn.
      if (!there && errno != ENOENT && errno != ENOTDIR) throw Error::Io("stat", name, errno);
      *yes = there && (!S_ISREG(st.st_mode) || st.st_size > 0);
    });
  }

  static int FullPath(sqlite3_vfs*, const char* name, int size, char* out) {
    if (std::strlen(name) >= static_cast<size_t>(size)) return SQLITE_CANTOPEN;
    std::strcpy(out, name);
    return SQLITE_OK;
  }
};

Vfs::Vfs(const Options& options)
    : options_(options), name_(NewVfsName()), database_(DatabaseFile(options.dir)) {
  const sqlite3_vfs* system = ::sqlite3_vfs_find(nullptr);  // gives the time, sleep and randomness
  c_ = *system;
  c_.iVersion = 2;
  c_.szOsFile = sizeof(Handle);
  c_.pNext = nullptr;
  c_.zName = name_.c_str();
  c_.pAppData = this;
  c_.xOpen = &VfsCalls::Open;
  c_.xDelete = &VfsCalls::Delete;
  c_.xAccess = &VfsCalls::Access;
  c_.xFullPathname = &VfsCalls::FullPath;
  ::sqlite3_vfs_register(&c_, 0);
}

Vfs::~Vfs() { ::sqlite3_vfs_unregister(&c_); }

std::shared_ptr<OpenFile> Vfs::Find(const std::string& path) const {
  LockGuard lock(mutex_);
  const auto it = files_.find(path);
  return it == files_.end() ? nullptr : it->second;
}

std::string Vfs::TemporaryName() {
  return options_.dir + "/temporary-" + std::to_string(RandomId());
}

std::shared_ptr<OpenFile> Vfs::Open(const std::string& path, FileKind kind, bool create,
                                    bool temporary) {
  LockGuard lock(mutex_);
  const auto it = files_.find(path);
  if (it != files_.end()) return it->second;
  FileOptions options;
  options.kind = kind;
  if (kind == FileKind::kData) {
    options.mode = options_.io;
    options.advice = options_.advice;
  }
  options.read_only = options_.read_only;
  options.create = create && !options_.read_only ? FileOptions::kMayExist : FileOptions::kMustExist;
  // A temporary file gets a random name and is unlinked at once, so it must be a new file.
  if (temporary && !options_.read_only) options.create = FileOptions::kMustCreate;
  const bool creates = !Exists(path);
  auto file = std::make_shared<OpenFile>(File::Open(path, options), creates && !temporary);
  if (temporary) {
    ::unlink(path.c_str());
    return file;
  }
  if (path == database_) LockOut(file.get());
  files_[path] = file;
  return file;
}

// Keeps out programs that use SQLite's own VFS, which cannot see our locks in memory. The lock ends
// with the open file description, and not when another descriptor of the file is closed.
void Vfs::LockOut(OpenFile* database) const {
  struct flock range = {};
  range.l_type = static_cast<short>(options_.read_only ? F_RDLCK : F_WRLCK);
  range.l_whence = SEEK_SET;
  range.l_start = kLockBytes;
  range.l_len = kLockBytesLength;
  if (::fcntl(database->file().fd(), F_OFD_SETLK, &range) == 0) return;
  if (errno == EAGAIN || errno == EACCES) {
    throw Error(Error::kUsage, "another program has the database in " + options_.dir +
                                   " open with SQLite: let it close the database first");
  }
  // The file system has no locks. The directory's lock still keeps out other runs of testbed.
}

void Vfs::SyncLog() {
  for (const std::string& path : {WalFile(options_.dir), JournalFile(options_.dir)}) {
    if (const std::shared_ptr<OpenFile> log = Find(path)) log->SyncIfWritten();
  }
}

void Vfs::SyncData() {
  if (const std::shared_ptr<OpenFile> data = Find(database_)) data->SyncIfWritten();
}

void Vfs::WaitForLocks(std::chrono::milliseconds most) const {
  if (const std::shared_ptr<OpenFile> data = Find(database_)) data->lock.WaitForChange(most);
}

void Vfs::CountWrite(FileKind kind, uint64_t bytes) {
  if (kind == FileKind::kData) {
    blocks_.fetch_add(1, std::memory_order_relaxed);
    block_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  } else if (kind == FileKind::kLog) {
    log_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  }
}

Vfs::Written Vfs::written() const {
  return {blocks_.load(std::memory_order_relaxed), block_bytes_.load(std::memory_order_relaxed),
          log_bytes_.load(std::memory_order_relaxed)};
}

std::optional<Error> Vfs::TakeError() {
  if (!std::exchange(has_error, false)) return std::nullopt;
  return std::exchange(LastError(), std::nullopt);
}

void Vfs::ForgetError() noexcept { has_error = false; }

}  // namespace testbed::sqlite

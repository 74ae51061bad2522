#include "engines/wiredtiger/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/directory.h"
#include "engines/wiredtiger/errors.h"

namespace testbed::wiredtiger {
namespace {

thread_local FileSystem* installing = nullptr;  // the file system of this thread's Install

std::string_view BaseName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string Directory(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

// Runs a callback's body and returns its result code. An exception must not pass through
// WiredTiger's C frames.
template <typename Body>
int Guarded(Body body) noexcept {
  try {
    body();
    return 0;
  } catch (const Error& error) {
    return FileError(error);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (const std::exception& error) {
    return FileError(Error(Error::kIo, error.what(), EIO));
  }
}

// Returns whether a write to a log file only fills the file with zeros (log_zero_fill=on): a write
// of log records begins with the length of the first record, which is not 0. The names of the files
// do not tell, because WiredTiger fills some files as WiredTigerTmplog.* and again as
// WiredTigerLog.*.
bool IsZeroFill(const void* data, size_t n) {
  uint32_t length = 0;
  if (n < sizeof length) return false;
  std::memcpy(&length, data, sizeof length);
  return length == 0;
}

// A Charge sets the kind of operation for IO on WiredTiger's own threads, for its lifetime.
class Charge {
 public:
  explicit Charge(FileKind kind) : thread_(Ledger::ThisThread()), previous_(thread_.op()) {
    if (previous_ == kUnscoped && !thread_state.application) {
      thread_.set_op(kind == FileKind::kLog ? kLogWrite : kEviction);
    }
  }
  ~Charge() { thread_.set_op(previous_); }

 private:
  ThreadLedger& thread_;
  const OpKind previous_;
};

struct Handle : WT_FILE_HANDLE {
  Handle() : WT_FILE_HANDLE{} {}
  std::string path;  // WT_FILE_HANDLE::name points to this
  std::unique_ptr<File> file;
  FileSystem* owner = nullptr;
  FileKind kind = FileKind::kMeta;
};

Handle* Of(WT_FILE_HANDLE* handle) { return static_cast<Handle*>(handle); }

int CloseFile(WT_FILE_HANDLE* handle, WT_SESSION*) {
  delete Of(handle);
  return 0;
}

int AdviseFile(WT_FILE_HANDLE* handle, WT_SESSION*, wt_off_t offset, wt_off_t n, int advice) {
  Handle* h = Of(handle);
  return Guarded([&] {
    Charge charge(h->kind);
    if (advice == WT_FILE_HANDLE_WILLNEED) {
      h->file->Prefetch(static_cast<uint64_t>(offset), static_cast<uint64_t>(n));
    } else {
      h->file->Forget(static_cast<uint64_t>(offset), static_cast<uint64_t>(n));
    }
  });
}

int ExtendFile(WT_FILE_HANDLE* handle, WT_SESSION*, wt_off_t size) {
  Handle* h = Of(handle);
  return Guarded([&] {
    Charge charge(h->kind);
    const uint64_t want = static_cast<uint64_t>(size);
    if (want != 0) h->file->Allocate(0, want);
    // Where there is no fallocate, File::Allocate does not change the file's size.
    if (h->file->Size() < want) h->file->Truncate(want);
  });
}

int LockFile(WT_FILE_HANDLE* handle, WT_SESSION*, bool lock) {
  struct flock range = {};
  range.l_type = lock ? F_WRLCK : F_UNLCK;
  range.l_whence = SEEK_SET;
  range.l_len = 1;
  return ::fcntl(Of(handle)->file->fd(), F_SETLK, &range) == 0 ? 0 : errno;
}

int FileSize(WT_FILE_HANDLE* handle, WT_SESSION*, wt_off_t* size) {
  return Guarded([&] { *size = static_cast<wt_off_t>(Of(handle)->file->Size()); });
}

int SyncFile(WT_FILE_HANDLE* handle, WT_SESSION*) {
  Handle* h = Of(handle);
  return Guarded([&] {
    Charge charge(h->kind);
    if (h->kind == FileKind::kLog) ++thread_state.log_syncs;
    h->file->Sync();
  });
}

int TruncateFile(WT_FILE_HANDLE* handle, WT_SESSION*, wt_off_t size) {
  Handle* h = Of(handle);
  return Guarded([&] {
    Charge charge(h->kind);
    h->file->Truncate(static_cast<uint64_t>(size));
  });
}

int Exists(WT_FILE_SYSTEM*, WT_SESSION*, const char* name, bool* exists) {
  struct stat st;
  *exists = ::stat(name, &st) == 0;
  return *exists || errno == ENOENT ? 0 : errno;
}

int SizeOf(WT_FILE_SYSTEM*, WT_SESSION*, const char* name, wt_off_t* size) {
  struct stat st;
  if (::stat(name, &st) != 0) return errno;
  *size = st.st_size;
  return 0;
}

int Remove(WT_FILE_SYSTEM*, WT_SESSION*, const char* name, uint32_t flags) {
  return Guarded([&] {
    Charge charge(FileSystem::KindOf(name));
    NameLoss loss(name);
    if (::unlink(name) != 0) throw Error::Io("remove", name, errno);
    loss.Done();
    if (flags & WT_FS_DURABLE) SyncDirectory(Directory(name));
  });
}

int Rename(WT_FILE_SYSTEM*, WT_SESSION*, const char* from, const char* to, uint32_t flags) {
  return Guarded([&] {
    Charge charge(FileSystem::KindOf(to));
    NameLoss loss(to);
    if (::rename(from, to) != 0) throw Error::Io("rename", from, errno);
    loss.Done();
    if (!(flags & WT_FS_DURABLE)) return;
    SyncDirectory(Directory(from));
    if (Directory(from) != Directory(to)) SyncDirectory(Directory(to));
  });
}

int FreeList(WT_FILE_SYSTEM*, WT_SESSION*, char** names, uint32_t count) {
  if (names == nullptr) return 0;
  for (uint32_t i = 0; i < count; ++i) std::free(names[i]);
  std::free(names);
  return 0;
}

void ListNames(const char* directory, const char* prefix, bool one, char*** names,
               uint32_t* count) {
  std::vector<std::string> found;
  std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(directory), &::closedir);
  if (!dir) throw Error::Io("list", directory, errno);
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr && errno != 0) throw Error::Io("list", directory, errno);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (prefix != nullptr && !name.starts_with(prefix)) continue;
    found.emplace_back(name);
    if (one) break;
  }
  if (found.empty()) return;  // WiredTiger frees a list only when it has names
  *names = static_cast<char**>(std::calloc(found.size(), sizeof(char*)));
  if (*names == nullptr) throw std::bad_alloc();
  for (const std::string& name : found) {
    char* copy = ::strdup(name.c_str());
    if (copy == nullptr) {
      FreeList(nullptr, nullptr, *names, *count);
      *names = nullptr;
      *count = 0;
      throw std::bad_alloc();
    }
    (*names)[(*count)++] = copy;
  }
}

int List(WT_FILE_SYSTEM*, WT_SESSION*, const char* directory, const char* prefix, char*** names,
         uint32_t* count) {
  *names = nullptr;
  *count = 0;
  return Guarded([&] { ListNames(directory, prefix, false, names, count); });
}

int ListOne(WT_FILE_SYSTEM*, WT_SESSION*, const char* directory, const char* prefix, char*** names,
            uint32_t* count) {
  *names = nullptr;
  *count = 0;
  return Guarded([&] { ListNames(directory, prefix, true, names, count); });
}

// The engine owns the file system, so WiredTiger must not free it.
int Terminate(WT_FILE_SYSTEM*, WT_SESSION*) { return 0; }

FileOptions::Create CreateOf(uint32_t flags) {
  if (!(flags & WT_FS_OPEN_CREATE)) return FileOptions::kMustExist;
  return flags & WT_FS_OPEN_EXCLUSIVE ? FileOptions::kMustCreate : FileOptions::kMayExist;
}

}  // namespace

// FileSystemCalls has the callbacks that use private members of FileSystem.
struct FileSystemCalls {
  static FileSystem* Of(WT_FILE_SYSTEM* c) { return static_cast<FileSystem::C*>(c)->owner; }

  static void NoteAlignment(Handle* h, uint64_t offset, const void* memory, size_t n) {
    if (((offset | n | reinterpret_cast<uintptr_t>(memory)) & (h->file->alignment() - 1)) != 0) {
      h->owner->copied_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  static int ReadFile(WT_FILE_HANDLE* handle, WT_SESSION*, wt_off_t offset, size_t n,
                      void* buffer) {
    Handle* h = static_cast<Handle*>(handle);
    return Guarded([&] {
      Charge charge(h->kind);
      if (h->kind == FileKind::kData) ++thread_state.data_reads;
      const uint64_t at = static_cast<uint64_t>(offset);
      if (h->file->options().mode == IoMode::kMmap) {
        std::memcpy(buffer, h->file->View(at, n).data(), n);
        return;
      }
      NoteAlignment(h, at, buffer, n);
      h->file->Read(at, buffer, n);
    });
  }

  static int WriteFile(WT_FILE_HANDLE* handle, WT_SESSION*, wt_off_t offset, size_t n,
                       const void* data) {
    Handle* h = static_cast<Handle*>(handle);
    return Guarded([&] {
      Charge charge(h->kind);
      NoteAlignment(h, static_cast<uint64_t>(offset), data, n);
      h->file->Write(static_cast<uint64_t>(offset), data, n);
      if (h->kind == FileKind::kLog && !IsZeroFill(data, n)) {
        h->owner->log_bytes_.fetch_add(n, std::memory_order_relaxed);
      }
    });
  }

  static FileOptions OptionsOf(const FileSystem& files, const std::string& name,
                               WT_FS_OPEN_FILE_TYPE type, uint32_t flags) {
    FileOptions options;
    options.kind = FileSystem::KindOf(name);
    options.create = CreateOf(flags);
    options.read_only = (flags & WT_FS_OPEN_READONLY) || type == WT_FS_OPEN_FILE_TYPE_DIRECTORY;
    const bool tree = type == WT_FS_OPEN_FILE_TYPE_DATA || type == WT_FS_OPEN_FILE_TYPE_CHECKPOINT;
    if (flags & WT_FS_OPEN_DIRECTIO) {
      options.mode = IoMode::kDirect;
    } else if (tree) {
      options.mode = files.options_.io;
      options.advice = files.options_.advice;
    }
    options.dsync = type == WT_FS_OPEN_FILE_TYPE_LOG && files.options_.log_dsync;
    return options;
  }

  static int Open(WT_FILE_SYSTEM* c, WT_SESSION*, const char* name, WT_FS_OPEN_FILE_TYPE type,
                  uint32_t flags, WT_FILE_HANDLE** result) {
    return Guarded([&] {
      FileSystem* files = Of(c);
      auto handle = std::make_unique<Handle>();
      handle->path = name;
      handle->owner = files;
      handle->kind = FileSystem::KindOf(name);
      Charge charge(handle->kind);
      const FileOptions options = OptionsOf(*files, handle->path, type, flags);
      handle->file = File::Open(handle->path, options);
      if (options.mode == IoMode::kDirect &&
          handle->file->alignment() > files->options_.alignment) {
        throw Error(Error::kUsage,
                    "direct IO on " + handle->path + " needs blocks of " +
                        std::to_string(handle->file->alignment()) +
                        " bytes: raise allocation_size and page size, or use --io buffered");
      }
      if (flags & WT_FS_OPEN_DURABLE) SyncDirectory(Directory(handle->path));
      FillIn(handle.get(), options.mode);
      *result = handle.release();
    });
  }

  static void FillIn(Handle* handle, IoMode mode) {
    handle->file_system = handle->owner->interface();
    handle->name = handle->path.data();
    handle->close = &CloseFile;
    // Advice on ranges is useful for buffered files only: direct files have no pages in the page
    // cache, and mapped files got their advice when they were mapped.
    if (mode == IoMode::kBuffered) handle->fh_advise = &AdviseFile;
    handle->fh_extend = &ExtendFile;
    handle->fh_lock = &LockFile;
    handle->fh_read = &ReadFile;
    handle->fh_size = &FileSize;
    handle->fh_sync = &SyncFile;
    handle->fh_truncate = &TruncateFile;
    handle->fh_write = &WriteFile;
  }
};

FileSystem::Install::Install(FileSystem* files) { installing = files; }
FileSystem::Install::~Install() { installing = nullptr; }

FileSystem::FileSystem(const Options& options) : options_(options) {
  c_.owner = this;
  c_.fs_directory_list = &List;
  c_.fs_directory_list_single = &ListOne;
  c_.fs_directory_list_free = &FreeList;
  c_.fs_exist = &Exists;
  c_.fs_open_file = &FileSystemCalls::Open;
  c_.fs_remove = &Remove;
  c_.fs_rename = &Rename;
  c_.fs_size = &SizeOf;
  c_.terminate = &Terminate;
}

FileKind FileSystem::KindOf(std::string_view path) {
  const std::string_view name = BaseName(path);
  if (name.starts_with("WiredTigerLog.") || name.starts_with("WiredTigerPreplog.") ||
      name.starts_with("WiredTigerTmplog.")) {
    return FileKind::kLog;
  }
  if (name == "WiredTigerHS.wt") return FileKind::kData;
  return name.ends_with(".wt") && !name.starts_with("WiredTiger") ? FileKind::kData
                                                                  : FileKind::kMeta;
}

}  // namespace testbed::wiredtiger

// WiredTiger looks this function up by name among the program's dynamic symbols. A link option in
// engines/CMakeLists.txt exports it.
extern "C" __attribute__((visibility("default"))) int testbed_wiredtiger_file_system(
    WT_CONNECTION* connection, WT_CONFIG_ARG*) {
  using testbed::wiredtiger::installing;
  return installing == nullptr
             ? EINVAL
             : connection->set_file_system(connection, installing->interface(), nullptr);
}

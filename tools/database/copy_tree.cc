#include "tools/database/copy_tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/file.h"
#include "device/os/dir_lock.h"
#include "device/os/signal_guard.h"
#include "tools/database/database_files.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

// A descriptor that closes itself.
class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, mode_t mode)
      : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {
    if (fd_ < 0) throw Error::Io("open", path_, errno);
  }
  ~Descriptor() { ::close(fd_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  const int fd_;
};

void CopyRange(const Descriptor& from, const Descriptor& to, off_t begin, off_t end) {
  std::vector<char> buffer(static_cast<size_t>(std::min<off_t>(end - begin, 1 << 20)));
  while (begin < end && !StopRequested()) {
    const auto wanted = std::min(buffer.size(), static_cast<size_t>(end - begin));
    const ssize_t n = ::pread(from.get(), buffer.data(), wanted, begin);
    if (n <= 0) throw Error::Io("read", from.path(), n < 0 ? errno : EIO);
    for (const char *at = buffer.data(), *last = at + n; at < last;) {
      // A disk that fills up first takes a part of the write; the next call returns the error.
      const ssize_t written = ::pwrite(to.get(), at, static_cast<size_t>(last - at), begin);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) throw Error::Io("write", to.path(), written < 0 ? errno : ENOSPC);
      at += written;
      begin += written;
    }
  }
}

}  // namespace

void CopyWithHoles(const std::string& from, const std::string& to) {
  const Descriptor source(from, O_RDONLY, 0);
  struct stat st = {};
  if (::fstat(source.get(), &st) != 0) throw Error::Io("stat", from, errno);
  const Descriptor copy(to, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, st.st_mode & 07777);
  if (::ftruncate(copy.get(), st.st_size) != 0) throw Error::Io("truncate", to, errno);
  for (off_t at = 0; at < st.st_size;) {
    const off_t data = ::lseek(source.get(), at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) return;  // the rest is a hole
    const off_t hole = data < 0 ? -1 : ::lseek(source.get(), data, SEEK_HOLE);
    if (hole < 0) throw Error::Io("seek in", from, errno);
    CopyRange(source, copy, data, std::min(hole, st.st_size));
    at = hole;
  }
}

void CopyTree(const std::string& from, const std::string& to) {
  try {
    fs::create_directories(to);
    const auto follow = fs::directory_options::follow_directory_symlink;
    for (const auto& entry : fs::recursive_directory_iterator(from, follow)) {
      if (StopRequested()) return;
      const fs::path there = to / entry.path().lexically_relative(from);
      if (entry.is_directory()) {
        fs::create_directories(there);
      } else if (entry.is_regular_file()) {
        CopyWithHoles(entry.path(), there);
      } else if (entry.is_symlink() && !entry.exists()) {
        throw Error::Io("copy", entry.path(), ENOENT);  // its disk may not be mounted
      }
    }
  } catch (const fs::filesystem_error& e) {
    throw Error::Io("copy", e.path1(), e.code().value());
  }
}

void SyncTree(const std::string& dir) {
  try {
    for (const auto& entry : fs::recursive_directory_iterator(dir)) {
      if (StopRequested()) return;
      if (entry.is_directory()) {
        SyncDirectory(entry.path());
      } else if (entry.is_regular_file()) {
        const Descriptor file(entry.path(), O_RDONLY, 0);
        if (::fsync(file.get()) != 0) throw Error::Io("fsync", file.path(), errno);
      }
    }
  } catch (const fs::filesystem_error& e) {
    throw Error::Io("list", e.path1(), e.code().value());
  }
  SyncDirectory(dir);
  SyncParent(dir);
}

void CopyDatabase(const std::string& from, const std::string& to) {
  RemoveDatabaseDirectory(to);
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(to, error))) {
    throw Error(Error::kUsage, to + " is a symbolic link, in place of a directory of testbed's; "
                                    "remove it, or give another --databases");
  }
  MakeDirectories(to);
  const DirLock lock(to, "--databases");
  // The lock keeps out runs that would change the source while it is copied.
  const DirLock source(from, "--databases");
  if (!HoldsNoDatabaseYet(to)) {
    throw Error(Error::kUsage, to + " is not empty and not a database of testbed, which leaves "
                                    "its files alone; move them, or give another --databases");
  }
  RemoveUnfinishedRecords(to);
  std::optional<nlohmann::json> record = ReadRecord(from);
  if (!record) throw Error(Error::kIo, from + " is no database that can be copied");
  const nlohmann::json whole = *record;
  (*record)["loaded"] = false;
  WriteRecord(to, *record);
  CopyTree(from + "/" + kEngineFiles, to + "/" + kEngineFiles);
  CheckLockedDirectory(to);
  SyncTree(to + "/" + kEngineFiles);
  if (!StopRequested()) WriteRecord(to, whole);
}

}  // namespace testbed

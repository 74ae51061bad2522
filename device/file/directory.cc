#include "device/file/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/file.h"
#include "device/os/dir_lock.h"

namespace testbed {
namespace {

// Syncs the directory. Does nothing when this user may not open it or its file system cannot sync
// directories.
void SyncIfPossible(const std::filesystem::path& directory) {
  if (::access(directory.c_str(), R_OK) != 0) return;
  try {
    SyncDirectory(directory);
  } catch (const Error& error) {
    if (error.code() != EINVAL && error.code() != ENOSYS) throw;
  }
}

// Returns the mode of the file at `path`, symbolic links followed; 0 when there is none.
mode_t ModeOf(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) == 0) return st.st_mode;
  if (errno != ENOENT && errno != ENOTDIR) throw Error::Io("stat", path, errno);
  return 0;
}

}  // namespace

NameLoss::NameLoss(const std::string& path)
    : fd_(::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)) {}

NameLoss::~NameLoss() {
  if (fd_ >= 0) ::close(fd_);
}

void NameLoss::Done() {
  struct stat st;
  if (fd_ < 0 || ::fstat(fd_, &st) != 0 || st.st_nlink != 0) return;
  const uint64_t opening = Ledger::Get().Opening(st.st_dev, st.st_ino);
  ::close(std::exchange(fd_, -1));
  Ledger::Get().ForgetFile(st.st_dev, st.st_ino, opening);
}

bool IsThere(const std::string& path) { return ModeOf(path) != 0; }
bool IsFileThere(const std::string& path) { return S_ISREG(ModeOf(path)); }
bool IsDirectoryThere(const std::string& path) { return S_ISDIR(ModeOf(path)); }

std::vector<std::string> NamesIn(const std::string& directory) {
  DIR* const dir = ::opendir(directory.c_str());
  if (dir == nullptr) throw Error::Io("open", directory, errno);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
    // readdir returns null at the end and on a failure; only a failure sets errno.
    errno = 0;
  }
  const int error = errno;
  ::closedir(dir);
  if (error != 0) throw Error::Io("list", directory, error);
  std::sort(names.begin(), names.end());
  return names;
}

void RemoveNew(const std::string& directory, const std::vector<std::string>& before) {
  std::error_code ignored;
  try {
    for (const std::string& name : NamesIn(directory)) {
      if (std::binary_search(before.begin(), before.end(), name)) continue;
      std::filesystem::remove_all(directory + "/" + name, ignored);
    }
  } catch (const Error&) {
    // The caller, which could not make its files, throws that error. This one is dropped.
  }
}

void MakeDirectories(const std::string& directory) {
  if (directory.empty() || IsThere(directory)) return;
  const size_t end = directory.find_last_not_of('/');
  const size_t slash = directory.rfind('/', end);
  std::string parent = slash == std::string::npos ? "." : directory.substr(0, slash + 1);
  MakeDirectories(parent);
  CheckLockedDirectory(parent);
  const bool made = ::mkdir(directory.c_str(), 0777) == 0;
  if (!made && errno != EEXIST) throw Error::Io("create", directory, errno);
  try {
    SyncIfPossible(parent);
  } catch (...) {
    // A directory whose name is not durable must not stay: the next call would find it and take it
    // for durable. A directory that another process has just made stays.
    if (made) ::rmdir(directory.c_str());
    throw;
  }
}

void RequireDirectory(const std::string& directory, bool create) {
  if (create) MakeDirectories(directory);
  std::error_code none;
  if (std::filesystem::is_directory(directory, none)) return;
  throw Error(Error::kUsage,
              "the directory " + directory + " does not exist: make it, or choose another --dir");
}

std::vector<std::string> MissingDirectories(std::string directory) {
  std::vector<std::string> missing;
  while (!directory.empty() && !IsThere(directory)) {
    missing.push_back(directory);
    const size_t slash = directory.rfind('/', directory.find_last_not_of('/'));
    directory.resize(slash == std::string::npos ? 0 : slash + 1);
  }
  return missing;
}

void RemoveMadeDirectories(const std::vector<std::string>& made) noexcept {
  if (made.empty()) return;
  try {
    const std::optional<DirLock> lock = DirLock::Try(made.front());
    struct stat st;
    if (!lock && ::lstat(made.front().c_str(), &st) == 0) return;
    for (const std::string& directory : made) {
      const int result = ::unlinkat(AT_FDCWD, directory.c_str(), AT_REMOVEDIR);
      if (result != 0 && errno != ENOENT) return;
    }
  } catch (const std::exception&) {
    // The caller throws the error for which it undoes its work. This one is dropped.
  }
}

void MakeNameDurable(const std::string& directory) {
  std::error_code code;
  std::filesystem::path at = std::filesystem::canonical(directory, code);
  if (code) throw Error::Io("resolve", directory, code.value());
  const auto device = [](const std::filesystem::path& path) {
    struct stat st;
    return ::stat(path.c_str(), &st) == 0 ? std::optional<dev_t>(st.st_dev) : std::nullopt;
  };
  for (const auto own = device(at); at.has_relative_path(); at = at.parent_path()) {
    const std::filesystem::path parent = at.parent_path();
    if (own != device(parent)) return;  // `at` is a mount point
    SyncIfPossible(parent);
  }
}

void SyncParent(const std::string& path) {
  SyncIfPossible(std::filesystem::absolute(path).parent_path());
}

void RenameFile(const std::string& from, const std::string& to) {
  CheckLockedDirectory(to);
  struct stat there;
  if (::lstat(to.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode)) {
    throw Error(Error::kIo, "cannot rename " + from + " to " + to + ": that is no regular file");
  }
  NameLoss loss(to);
  if (::rename(from.c_str(), to.c_str()) != 0) throw Error::Io("rename", from, errno);
  loss.Done();
}

void RemoveFile(const std::string& path) {
  CheckLockedDirectory(path);
  NameLoss loss(path);
  if (::unlink(path.c_str()) != 0) {
    if (errno != ENOENT) throw Error::Io("remove", path, errno);
    return;
  }
  loss.Done();
}

bool LinkFile(const std::string& from, const std::string& to) {
  CheckLockedDirectory(to);
  if (::link(from.c_str(), to.c_str()) == 0) return true;
  if (errno != EEXIST) throw Error::Io("link", to, errno);
  // When the answer of an NFS server is lost, the client repeats the request. The repeated request
  // finds the name that the first one made, and fails with EEXIST (open(2), O_EXCL). Then the
  // number of links shows that the link was made. Opening the file makes the client ask the server
  // for that number.
  const int fd = ::open(from.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) throw Error::Io("open", from, errno);
  struct stat st;
  const int code = ::fstat(fd, &st) == 0 ? 0 : errno;
  ::close(fd);
  if (code != 0) throw Error::Io("stat", from, code);
  return st.st_nlink > 1;
}

// This function asks statx for the number of links alone. After a stat that asks for the times, the
// next write gives the file new times, which took a sixth of the rate of synced commits (multigrain
// timestamps, since Linux 6.13).
void CheckHasName(int fd, const std::string& path) {
  struct statx st;
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_NLINK, &st) != 0) throw Error::Io("stat", path, errno);
  if (st.stx_nlink > 0) return;
  throw Error(Error::kIo,
              "file " + path + " was removed while it was in use, and goes with what " +
                  "is in it: restore the database from a copy",
              ENOENT);
}

}  // namespace testbed

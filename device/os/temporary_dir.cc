#include "device/os/temporary_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "device/error.h"
#include "device/os/foreign_directory.h"
#include "device/os/random_id.h"
#include "device/os/sys_file.h"

namespace testbed {
namespace {

constexpr std::string_view kBefore = "testbed-", kBehind = ".tmp";

// Locks the directory if this user owns it and no other user can have written into it. Else sets
// *code to an errno: EWOULDBLOCK or ENOENT when another process has taken the directory, EPERM when
// it is not this user's alone, and that of the lock when the system refuses it.
std::optional<DirLock> TakeOwn(const std::string& path, int* code) {
  std::optional<DirLock> lock = DirLock::Try(path, code);
  if (!lock) return std::nullopt;
  struct stat st;
  *code = ENOENT;
  if (!lock->Leads(path) || ::fstat(lock->fd(), &st) != 0) return std::nullopt;
  *code = EPERM;
  if (st.st_uid != ::geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) return std::nullopt;
  return lock;
}

}  // namespace

std::string RandomName() { return fmt::format("{:016x}", RandomId()); }

bool IsRandomName(const std::string& text) {
  return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool IsTemporaryName(const std::string& name) {
  return name.starts_with(kBefore) && name.ends_with(kBehind) &&
         name.size() > kBefore.size() + kBehind.size() &&
         IsRandomName(name.substr(kBefore.size(), name.size() - kBefore.size() - kBehind.size()));
}

TemporaryDir::TemporaryDir(const std::string& parent) : owner_(::getpid()) {
  // A process that looks for leftovers may take and remove the new directory before it is locked.
  constexpr int kTries = 100;
  CheckNotForeign("a temporary directory in", parent);
  const int at = ::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (at < 0) throw Error::Io("open", parent, errno);
  int code = EAGAIN;
  bool is_own = true;
  for (int i = 0; i < kTries; ++i) {
    const std::string name = fmt::format("{}{}{}", kBefore, RandomName(), kBehind);
    if (::mkdirat(at, name.c_str(), 0700) != 0) {
      code = errno;
      if (code == EEXIST) continue;
      break;
    }
    path_ = parent == "." ? name : parent + "/" + name;
    int refused = 0;
    if (std::optional<DirLock> lock = TakeOwn(path_, &refused)) {
      lock_ = std::move(*lock);
      ::close(at);
      return;
    }
    if (refused == EWOULDBLOCK || refused == ENOENT) continue;
    // No other process has taken the directory, and a further one would be refused as well.
    ::unlinkat(at, name.c_str(), AT_REMOVEDIR);
    code = refused;
    is_own = refused != EPERM;
    break;
  }
  ::close(at);
  if (!is_own) {
    throw Error(Error::kUsage,
                "a temporary directory in " + parent +
                    " would not be this user's alone, as where a file system keeps no owners and "
                    "modes: choose a directory on another file system");
  }
  throw Error::Io("make a temporary directory in", parent, code);
}

TemporaryDir::TemporaryDir(std::string path, DirLock lock)
    : path_(std::move(path)), lock_(std::move(lock)), owner_(::getpid()) {}

TemporaryDir::TemporaryDir(TemporaryDir&& other) noexcept
    : path_(std::move(other.path_)),
      lock_(std::move(other.lock_)),
      owner_(std::exchange(other.owner_, 0)) {}

bool TemporaryDir::IsOwner() const { return owner_ == ::getpid(); }

TemporaryDir::~TemporaryDir() {
  // If the name leads elsewhere, somebody has moved the directory away, and what has the name now
  // belongs to somebody else.
  if (IsOwner() && lock_.Leads(path_)) ::rmdir(path_.c_str());
}

std::vector<TemporaryDir> TemporaryDir::Leftovers(const std::string& parent,
                                                  const std::string& prefix) {
  std::vector<TemporaryDir> found;
  if (IsServedByAnotherHost(parent, prefix)) return found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(parent, error), end; !error && at != end;
       at.increment(error)) {
    if (!IsTemporaryName(at->path().filename())) continue;
    int refused = 0;
    if (std::optional<DirLock> lock = TakeOwn(at->path(), &refused)) {
      found.push_back(TemporaryDir(at->path(), std::move(*lock)));
    }
  }
  return found;
}

}  // namespace testbed

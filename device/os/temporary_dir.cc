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

// Locks the directory if this user owns it and no other user can have written into it.
std::optional<DirLock> TakeOwn(const std::string& path) {
  std::optional<DirLock> lock = DirLock::Try(path);
  struct stat st;
  if (!lock || !lock->Leads(path) || ::fstat(lock->fd(), &st) != 0) return std::nullopt;
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
  for (int i = 0; i < kTries; ++i) {
    const std::string name = fmt::format("{}{}{}", kBefore, RandomName(), kBehind);
    if (::mkdirat(at, name.c_str(), 0700) != 0) {
      code = errno;
      if (code == EEXIST) continue;
      break;
    }
    path_ = parent == "." ? name : parent + "/" + name;
    if (std::optional<DirLock> lock = TakeOwn(path_)) {
      lock_ = std::move(*lock);
      ::close(at);
      return;
    }
  }
  ::close(at);
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
    if (std::optional<DirLock> lock = TakeOwn(at->path())) {
      found.push_back(TemporaryDir(at->path(), std::move(*lock)));
    }
  }
  return found;
}

}  // namespace testbed

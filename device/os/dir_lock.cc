#include "device/os/dir_lock.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/os/mutex.h"
#include "device/os/regular_file.h"

namespace testbed {
namespace {

struct Locked {
  int fd;
  std::string name;  // without a slash at the end, unless it is the root
  pid_t owner;       // the process that locked it
};

bool IsSame(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// LockedDirectories lists the directories that this process, or the process that it was forked
// from, has locked.
class LockedDirectories {
 public:
  void Add(int fd, std::string name) {
    while (name.size() > 1 && name.ends_with('/')) name.pop_back();
    LockGuard guard(mutex_);
    all_.push_back({fd, std::move(name), ::getpid()});
  }
  void Remove(int fd) {
    LockGuard guard(mutex_);
    std::erase_if(all_, [fd](const Locked& one) { return one.fd == fd; });
  }
  // Returns whether this process itself has locked the directory that is open as `fd`.
  bool Has(int fd) {
    struct stat wanted;
    if (::fstat(fd, &wanted) != 0) return false;
    LockGuard guard(mutex_);
    return std::any_of(all_.begin(), all_.end(), [&wanted](const Locked& one) {
      struct stat locked;
      return one.owner == ::getpid() && ::fstat(one.fd, &locked) == 0 && IsSame(wanted, locked);
    });
  }
  // Returns the locked directory that `path` names or lies in. If several locked directories have
  // that name, returns the one that was locked last.
  std::optional<Locked> Above(const std::string& path) {
    LockGuard guard(mutex_);
    for (auto one = all_.rbegin(); one != all_.rend(); ++one) {
      const size_t size = one->name == "/" ? 0 : one->name.size();
      if (path.starts_with(one->name) && (path.size() == size || path[size] == '/')) return *one;
    }
    return std::nullopt;
  }
  // The thread that forks holds the mutex during the fork, so that the child finds the mutex free
  // and the list whole.
  void BeforeFork() NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void AfterFork() NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  Mutex mutex_;
  std::vector<Locked> all_ GUARDED_BY(mutex_);
};

// A database may be closed after the static objects are gone, so this object is never destroyed.
LockedDirectories& TheLocked() {
  static LockedDirectories* const locked = [] {
    auto* const made = new LockedDirectories;
    ::pthread_atfork([] { TheLocked().BeforeFork(); }, [] { TheLocked().AfterFork(); },
                     [] { TheLocked().AfterFork(); });
    return made;
  }();
  return *locked;
}

}  // namespace

void CheckLockedDirectory(const std::string& path) {
  const std::optional<Locked> above = TheLocked().Above(path);
  struct stat mine, there;
  if (!above || ::fstat(above->fd, &mine) != 0) return;
  if (::stat(above->name.c_str(), &there) == 0 && IsSame(mine, there)) return;
  throw Error(
      Error::kIo,
      "the directory " + above->name +
          " was moved, removed or replaced while the database in it was in use: nothing more "
          "is written under that name; move the directory back",
      ESTALE);
}

// If the body throws, the destructor runs, because the delegated constructor has ended. It unlocks
// the directory only if this object took the lock. If somebody else holds the lock, it only closes
// the descriptor.
DirLock::DirLock(const std::string& dir, const std::string& option) : DirLock() {
  fd_ = AboveStandardStreams(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd_ < 0) throw Error::Io("open", dir, errno);
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) {
    owner_ = ::getpid();
    TheLocked().Add(fd_, dir);
    return;
  }
  const int code = errno;
  if (code != EWOULDBLOCK) throw Error::Io("lock", dir, code);
  // A database may be open in a program that embeds its engine, and a directory of testbed's own is
  // locked by a testbed.
  const std::string other = option == "the database in" ? "process" : "testbed";
  throw Error(Error::kUsage, option + " " + dir +
                                 (TheLocked().Has(fd_)
                                      ? " is in use by this process already; close it first"
                                      : " is used by another " + other + " now; wait for its end") +
                                 " or choose another directory");
}

std::optional<DirLock> DirLock::Try(const std::string& dir, int* code) {
  DirLock lock;
  lock.fd_ =
      AboveStandardStreams(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (lock.fd_ < 0 || ::flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
    if (code != nullptr) *code = errno;
    return std::nullopt;
  }
  lock.owner_ = ::getpid();
  TheLocked().Add(lock.fd_, dir);
  return lock;
}

bool DirLock::Leads(const std::string& dir) const {
  struct stat mine, there;
  return fd_ >= 0 && ::fstat(fd_, &mine) == 0 && ::lstat(dir.c_str(), &there) == 0 &&
         IsSame(mine, there);
}

std::string DirLock::held_path() const { return "/proc/self/fd/" + std::to_string(fd_); }

DirLock::~DirLock() {
  if (fd_ < 0) return;
  TheLocked().Remove(fd_);
  // A forked child has a copy of the descriptor, and keeps the lock if this process only closes its
  // own. So the lock is given back explicitly.
  if (owner_ == ::getpid()) ::flock(fd_, LOCK_UN);
  ::close(fd_);
}

DirLock::DirLock(DirLock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), owner_(std::exchange(other.owner_, 0)) {}

DirLock& DirLock::operator=(DirLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(owner_, other.owner_);
  return *this;
}

}  // namespace testbed

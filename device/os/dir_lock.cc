#include "device/os/dir_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "device/error.h"

namespace testbed {

DirLock::DirLock(const std::string& dir, const std::string& option)
    : fd_(::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (fd_ < 0) throw Error::Io("open", dir, errno);
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return;
  const int code = errno;
  ::close(fd_);
  if (code != EWOULDBLOCK) throw Error::Io("lock", dir, code);
  throw Error(Error::kUsage, option + " " + dir +
                                 " is used by another testbed now; wait for its end or choose "
                                 "another directory");
}

std::optional<DirLock> DirLock::Try(const std::string& dir) {
  DirLock lock;
  lock.fd_ = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (lock.fd_ < 0 || ::flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  return lock;
}

bool DirLock::Leads(const std::string& dir) const {
  struct stat mine, there;
  return fd_ >= 0 && ::fstat(fd_, &mine) == 0 && ::lstat(dir.c_str(), &there) == 0 &&
         mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

std::string DirLock::held_path() const { return "/proc/self/fd/" + std::to_string(fd_); }

DirLock::~DirLock() {
  if (fd_ >= 0) ::close(fd_);
}

DirLock::DirLock(DirLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

DirLock& DirLock::operator=(DirLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

}  // namespace testbed

#include "device/dir_lock.h"

#include <fcntl.h>
#include <sys/file.h>
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

DirLock::~DirLock() {
  if (fd_ >= 0) ::close(fd_);
}

DirLock::DirLock(DirLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

DirLock& DirLock::operator=(DirLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

}  // namespace testbed

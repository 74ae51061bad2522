#include "tools/experiment/cluster/dir_share.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "device/error.h"

namespace testbed {
namespace {

int OpenDirectory(const std::string& dir) {
  const int fd = ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) throw Error::Io("open", dir, errno);
  return fd;
}

}  // namespace

DirShare::DirShare(const std::string& dir, const std::string& option) : fd_(OpenDirectory(dir)) {
  if (::flock(fd_, LOCK_SH | LOCK_NB) == 0) return;
  const int code = errno;
  ::close(fd_);
  if (code != EWOULDBLOCK) throw Error::Io("lock", dir, code);
  throw Error(Error::kUsage, option + " " + dir +
                                 " is used by another testbed for itself now; wait for its end or "
                                 "choose another directory");
}

DirShare::~DirShare() {
  if (fd_ >= 0) ::close(fd_);
}

DirShare::DirShare(DirShare&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

DirShare& DirShare::operator=(DirShare&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

}  // namespace testbed

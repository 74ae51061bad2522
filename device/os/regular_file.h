// OpenRegularFile opens a file of a database, under whose name a user may have put something else.
// An open(2) of a named pipe waits for the other end, and reads and writes of a device may have any
// effect. This function does not wait, and closes a pipe or a device at once.
//
//   const int fd = OpenRegularFile(path, O_RDWR | O_CREAT);
//   if (fd < 0) throw Error::Io("open", path, errno);
//
// Thread-safe.
#ifndef TESTBED_DEVICE_OS_REGULAR_FILE_H_
#define TESTBED_DEVICE_OS_REGULAR_FILE_H_

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "device/error.h"
#include "device/os/interrupted.h"

namespace testbed {

// Returns `fd`, or a copy above the descriptors of the standard streams that replaces it; -1 with
// errno set when the system makes none, and when `fd` is -1. A program may have closed its standard
// streams. What it prints would be written into a file that has one of their descriptors, and a
// descriptor that it opens anew, as daemons do, would close the file.
inline int AboveStandardStreams(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int above = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int code = errno;
  ::close(fd);
  errno = code;
  return above;
}

// Opens the file as open(2) does with these flags and O_CLOEXEC, and returns its descriptor, which
// is above those of the standard streams, or -1 with errno set. Throws Error (kIo) when the path is
// neither a regular file nor a directory. The caller owns the descriptor.
inline int OpenRegularFile(const std::string& path, int flags, mode_t mode = 0644) {
  const auto open = [&](int more) {
    return AboveStandardStreams(
        Uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC | more, mode); }));
  };
  const int fd = open(O_NONBLOCK | O_NOCTTY);
  const int code = errno;
  struct stat st;
  const bool known = (fd >= 0 ? ::fstat(fd, &st) : ::stat(path.c_str(), &st)) == 0;
  if (known && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
    if (fd >= 0) ::close(fd);
    throw Error(Error::kIo,
                "cannot open " + path +
                    ": it is a pipe, a socket or a device, where a regular file should be",
                EINVAL);
  }
  if (fd < 0) {
    // Another process has a lease on the file and gives it up when an open waits for it (fcntl(2)).
    if (code == EWOULDBLOCK && known) return open(0);
    errno = code;
    return -1;
  }
  // The descriptor loses O_NONBLOCK, with which reads and writes by io_uring(7) would not wait.
  if (const int now = ::fcntl(fd, F_GETFL); now >= 0) ::fcntl(fd, F_SETFL, now & ~O_NONBLOCK);
  return fd;
}

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_REGULAR_FILE_H_

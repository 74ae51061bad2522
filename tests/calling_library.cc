// A shared library that sends and receives, as the client library of a database server does: the
// unit tests load it and replace its calls.
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

extern "C" {
ssize_t LibrarySend(int fd, const void* bytes, size_t n) { return ::send(fd, bytes, n, 0); }
ssize_t LibraryReceive(int fd, void* bytes, size_t n, int flags) {
  return ::recv(fd, bytes, n, flags);
}
ssize_t LibraryWrite(int fd, const void* bytes, size_t n) { return ::write(fd, bytes, n); }
ssize_t LibraryRead(int fd, void* bytes, size_t n) { return ::read(fd, bytes, n); }
}

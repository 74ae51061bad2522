#include "tools/output/standard_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>

#include "device/error.h"
#include "device/os/signal_guard.h"

namespace testbed {
namespace {

// The state outlives main, because the C library flushes the streams at exit.
struct Target {
  int fd;
  int error = 0;  // errno of the first write that failed
};
Target out_target{STDOUT_FILENO}, err_target{STDERR_FILENO};

// Waits until the descriptor takes bytes, or never will again.
void AwaitRoom(int fd) {
  pollfd room{fd, POLLOUT, 0};
  (void)::poll(&room, 1, -1);
}

// Writes the bytes, and drops those that cannot be written. Always returns n, so that no caller
// fails over what it prints. A descriptor that does not block, which another program that shares it
// may have made of it, is waited for like any other.
ssize_t WriteOrDrop(void* cookie, const char* bytes, size_t n) {
  auto* target = static_cast<Target*>(cookie);
  for (size_t done = 0; done < n && target->error == 0;) {
    const ssize_t written = ::write(target->fd, bytes + done, n - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      AwaitRoom(target->fd);
    } else if (written < 0) {
      target->error = errno;
    } else {
      done += static_cast<size_t>(written);
    }
  }
  return static_cast<ssize_t>(n);
}

FILE* StreamOf(Target* target, int buffering) {
  FILE* stream = ::fopencookie(target, "w", {nullptr, &WriteOrDrop, nullptr, nullptr});
  if (stream != nullptr) std::setvbuf(stream, nullptr, buffering, BUFSIZ);
  return stream;
}

// Opens the standard descriptors that the program was started without (>&-), for reading alone.
// Otherwise the next file that is opened, such as one of a database, would get the number, and what
// is printed would go into it.
void HoldClosedDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) (void)::open("/dev/null", O_RDONLY);
  }
}

}  // namespace

StandardStreams::StandardStreams() {
  HoldClosedDescriptors();
  std::fflush(nullptr);
  FILE* out = StreamOf(&out_target, ::isatty(STDOUT_FILENO) == 1 ? _IOLBF : _IOFBF);
  if (out != nullptr) stdout = out;
  FILE* err = StreamOf(&err_target, _IONBF);
  if (err != nullptr) stderr = err;
}

// EPIPE is no loss: the reader closed the pipe when it had what it wanted.
bool StandardOutputLost() { return out_target.error != 0 && out_target.error != EPIPE; }

int StandardStreams::Close(int code) {
  std::fflush(stdout);
  if (!StandardOutputLost()) return code;
  const int error = out_target.error;
  std::fprintf(stderr, "testbed: standard output cannot be written: %s\n",
               error == EBADF ? "it is closed" : std::strerror(error));
  return code == 0 ? 1 : code;
}

int JudgedOrFailed(const std::function<int()>& command) {
  try {
    const int code = command();
    std::fflush(stdout);
    return code != 1 && StandardOutputLost() ? 2 : code;
  } catch (const std::filesystem::filesystem_error&) {
    throw;  // main ends the program with code 2
  } catch (const Stopped&) {
    throw;  // main ends the program with code 130
  } catch (const std::exception& e) {
    const auto* error = dynamic_cast<const Error*>(&e);
    if (error != nullptr && (error->kind() == Error::kUsage || error->kind() == Error::kIo)) throw;
    throw Error(Error::kUsage, SentenceOf(e));
  }
}

}  // namespace testbed

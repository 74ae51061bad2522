#include "tools/output/stream_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "device/error.h"
#include "device/file/replacement.h"
#include "device/os/interrupted.h"

namespace testbed {
namespace {

constexpr int kNoDescriptor = -1;

// Returns the descriptor that this program was given and to which the path leads, or kNoDescriptor.
int GivenDescriptor(const std::string& path) {
  if (!IsOpenFile(path)) return kNoDescriptor;
  std::error_code unknown;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self", unknown);
  if (unknown || !path.starts_with("/proc/" + self.string() + "/")) return kNoDescriptor;
  const int fd = std::atoi(std::filesystem::path(path).filename().c_str());
  // A descriptor that would not have outlived the start of this program is the program's own.
  const int flags = ::fcntl(fd, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0 ? fd : kNoDescriptor;
}

// Waits where a descriptor that others have made so does not wait itself.
void WriteWhole(int fd, const std::string& path, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno == EAGAIN) {
      pollfd writable = {.fd = fd, .events = POLLOUT, .revents = 0};
      ::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      throw Error::Io("write", path, errno);
    }
  }
}

// Opens what is there and returns a descriptor whose writes wait for the reader.
int OpenStream(const std::string& path, std::chrono::milliseconds wait) {
  constexpr std::chrono::milliseconds kPause{10};
  constexpr int kFlags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const auto end = std::chrono::steady_clock::now() + wait;
  int fd;
  while ((fd = Uninterrupted([&] { return ::open(path.c_str(), kFlags); })) < 0) {
    const int code = errno;
    struct stat about {};
    const bool no_reader =
        code == ENXIO && ::stat(path.c_str(), &about) == 0 && S_ISFIFO(about.st_mode);
    if (!no_reader) throw Error::Io("open", path, code);
    if (std::chrono::steady_clock::now() >= end) {
      throw Error(Error::kIo,
                  fmt::format("nobody has opened the pipe for reading within {:g} s; start its "
                              "reader first",
                              std::chrono::duration<double>(wait).count()));
    }
    std::this_thread::sleep_for(kPause);
  }
  struct stat about {};
  if (::fstat(fd, &about) != 0 || S_ISREG(about.st_mode) || S_ISBLK(about.st_mode)) {
    ::close(fd);
    throw Error(Error::kIo, "another file has taken its place");
  }
  if (const int now = ::fcntl(fd, F_GETFL); now >= 0) ::fcntl(fd, F_SETFL, now & ~O_NONBLOCK);
  return fd;
}

}  // namespace

bool IsStream(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0 || S_ISDIR(about.st_mode)) return false;
  return !S_ISREG(about.st_mode) || IsOpenFile(path);
}

std::string WhyNoStream(const std::string& path) {
  struct stat about {};
  if (!IsStream(path) || ::stat(path.c_str(), &about) != 0) return "";
  if (S_ISBLK(about.st_mode)) return "it is a block device; give the name of a file";
  if (const int given = GivenDescriptor(path); given != kNoDescriptor) {
    const bool reads = (::fcntl(given, F_GETFL) & O_ACCMODE) == O_RDONLY;
    return reads ? "it was opened for reading only; give the name of a file" : "";
  }
  if (S_ISREG(about.st_mode)) return "another process has it open; give the name of a file";
  if (S_ISSOCK(about.st_mode)) return "it is a socket; give the name of a file";
  return ::access(path.c_str(), W_OK) == 0 ? "" : std::strerror(errno);
}

void WriteStream(const std::string& path, const std::string& text, std::chrono::milliseconds wait) {
  if (const std::string why = WhyNoStream(path); !why.empty()) throw Error(Error::kIo, why);
  const int given = GivenDescriptor(path);
  if (given == STDOUT_FILENO) {
    // A reader that goes away costs as little as for the report (standard_streams.h).
    const bool all = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (std::fflush(stdout) != 0 || !all) throw Error::Io("write", path, errno);
    return;
  }
  std::fflush(stdout);
  if (given != kNoDescriptor) {
    WriteWhole(given, path, text);
    return;
  }
  const int fd = OpenStream(path, wait);
  try {
    WriteWhole(fd, path, text);
  } catch (...) {
    ::close(fd);
    throw;
  }
  if (::close(fd) != 0 && errno != EINTR) throw Error::Io("close", path, errno);
}

std::string StandardStreamOf(const std::string& path) {
  struct stat file {
  }, stream{};
  if (::stat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return "";
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (::fstat(fd, &stream) != 0) continue;
    if (stream.st_dev != file.st_dev || stream.st_ino != file.st_ino) continue;
    return fd == STDOUT_FILENO ? "standard output" : "standard error";
  }
  return "";
}

}  // namespace testbed

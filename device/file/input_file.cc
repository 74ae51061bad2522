#include "device/file/input_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "device/error.h"
#include "device/os/interrupted.h"
#include "device/os/signal_guard.h"
#include "device/os/sys_file.h"

namespace testbed {
namespace {

std::string TooLong(uint64_t most) {
  return "has more than the " + SizeText(most) + " that are read";
}

}  // namespace

InputFile::InputFile(const InputRequest& request)
    : request_(request), fd_(Uninterrupted([&] {
        return ::open(request.path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
      })) {
  if (fd_ < 0) Refuse(std::string("cannot be read: ") + std::strerror(errno));
  try {
    CheckKind();
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

InputFile::InputFile(Standard)
    : request_({.path = "", .name = "standard input", .advice = ""}),
      fd_(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
  if (fd_ < 0) Refuse(std::string("cannot be read: ") + std::strerror(errno));
}

InputFile::~InputFile() { ::close(fd_); }

void InputFile::Refuse(const std::string& what) const {
  throw Error(Error::kUsage,
              request_.name + " " + what + (request_.advice.empty() ? "" : "; " + request_.advice));
}

void InputFile::RefuseLength(uint64_t most) const {
  const std::string& advice = request_.if_long.empty() ? request_.advice : request_.if_long;
  throw Error(Error::kUsage,
              request_.name + " " + TooLong(most) + (advice.empty() ? "" : "; " + advice));
}

void InputFile::CheckKind() {
  struct stat st;
  if (::fstat(fd_, &st) != 0) Refuse(std::string("cannot be read: ") + std::strerror(errno));
  if (S_ISDIR(st.st_mode)) Refuse("is a directory");
  regular_ = S_ISREG(st.st_mode);
  if (regular_) {
    left_ = static_cast<uint64_t>(st.st_size);
    // A file system without blocks is one of the kernel's, such as /proc. Its files have no known
    // length, and a read of one may wait or never reach an end.
    struct statfs system;
    if (left_ == 0 && ::fstatfs(fd_, &system) == 0 && system.f_blocks == 0) {
      Refuse("has no length: it is a file of the kernel, or empty");
    }
    return;
  }
  if (!request_.pipes || !(S_ISFIFO(st.st_mode) || ::isatty(fd_) != 0))
    Refuse("is no regular file");
  if (S_ISFIFO(st.st_mode)) BeginPipe();
  const int flags = ::fcntl(fd_, F_GETFL);
  if (flags < 0 || ::fcntl(fd_, F_SETFL, flags & ~O_NONBLOCK) != 0) {
    Refuse(std::string("cannot be read: ") + std::strerror(errno));
  }
}

// Reads what the pipe holds already. The pipe was opened without waiting, so a pipe without a
// writer returns an end, and one whose writer has written nothing yet fails with EAGAIN. A writer
// that waits in open(2) for a reader counts as a writer (fifo(7)).
void InputFile::BeginPipe() {
  first_.resize(1 << 16);
  const ssize_t n = Uninterrupted([&] { return ::read(fd_, first_.data(), first_.size()); });
  if (n == 0) Refuse("is a pipe that nobody writes to");
  if (n < 0 && errno != EAGAIN) Refuse(std::string("cannot be read: ") + std::strerror(errno));
  first_.resize(static_cast<size_t>(std::max<ssize_t>(n, 0)));
}

// Waits until there is something to read, or the end. Returns false when the user asks to stop
// meanwhile: the handler of a signal lets a read(2) that waits go on.
bool InputFile::AwaitPipe() const {
  constexpr int kLookMs = 100;
  pollfd ready = {fd_, POLLIN, 0};
  while (!StopRequested()) {
    if (::poll(&ready, 1, kLookMs) > 0) return true;
  }
  return false;
}

size_t InputFile::Read(char* buffer, size_t n) {
  if (!first_.empty()) {
    const size_t taken = first_.copy(buffer, n);
    first_.erase(0, taken);
    return taken;
  }
  n = static_cast<size_t>(std::min<uint64_t>(n, left_));
  if (n == 0) return 0;
  if (!regular_ && !AwaitPipe()) return 0;
  const ssize_t got = Uninterrupted([&] { return ::read(fd_, buffer, n); });
  if (got < 0 && errno == EAGAIN && !regular_) return Read(buffer, n);  // another process took it
  if (got < 0) Refuse(std::string("cannot be read: ") + std::strerror(errno));
  if (regular_) left_ -= static_cast<uint64_t>(got);
  return static_cast<size_t>(got);
}

std::string InputFile::ReadAll(uint64_t most,
                               const std::function<void(std::string_view part)>& look) {
  if (regular_ && left_ > most) RefuseLength(most);
  constexpr size_t kPart = 1 << 16;
  std::string text;
  if (regular_) text.reserve(left_ + 1);
  for (;;) {
    const size_t size = text.size();
    text.resize(size + static_cast<size_t>(std::min<uint64_t>(regular_ ? left_ : kPart, 1 << 24)));
    const size_t got = Read(text.data() + size, text.size() - size);
    text.resize(size + got);
    if (got == 0 && !regular_ && StopRequested()) {
      throw Stopped("before " + request_.name + " was read to its end", "the command");
    }
    if (got == 0) return text;
    if (text.size() > most) RefuseLength(most);
    if (look) look(std::string_view(text).substr(size));
  }
}

InputStream::InputStream(InputFile* file) : std::istream(nullptr), buffer_(file) {
  rdbuf(&buffer_);
  // With this bit, an error that the file throws reaches the reader of the stream. Without it, the
  // stream would take the error for the end of the file.
  exceptions(std::ios::badbit);
}

InputStream::Buffer::int_type InputStream::Buffer::underflow() {
  const size_t n = file_->Read(bytes_.data(), bytes_.size());
  if (n == 0) return traits_type::eof();
  setg(bytes_.data(), bytes_.data(), bytes_.data() + n);
  return traits_type::to_int_type(bytes_[0]);
}

std::string ReadStandardInput() { return InputFile(InputFile::Standard{}).ReadAll(); }

}  // namespace testbed

#include "tools/output/stream_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>

#include "device/file/replacement.h"
#include "device/os/interrupted.h"

namespace testbed {
namespace {

constexpr int kNoDescriptor = -1;

// Returns the inherited descriptor to which the path leads, or kNoDescriptor.
int GivenDescriptor(const std::string& path) {
  if (!IsOpenFile(path)) return kNoDescriptor;
  std::error_code unknown;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self", unknown);
  if (unknown || !path.starts_with("/proc/" + self.string() + "/")) return kNoDescriptor;
  const int fd = std::atoi(std::filesystem::path(path).filename().c_str());
  // FD_CLOEXEC tells a descriptor that this program opened: no inherited descriptor has the flag.
  const int flags = ::fcntl(fd, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) == 0 ? fd : kNoDescriptor;
}

// One text that is being written to its stream. It waits until the pipe has a reader, is then
// written bit by bit, and is then done.
class Writing {
 public:
  // `stream` must outlive the object.
  explicit Writing(const StreamText& stream);
  ~Writing() { Close(); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

  bool waits() const { return waits_; }
  bool done() const { return !waits_ && fd_ == kNoDescriptor; }
  int fd() const { return fd_; }  // kNoDescriptor unless it is being written
  const std::optional<Error>& error() const { return error_; }
  // Opens the stream if that is possible without waiting.
  void TryOpen();
  // Writes some bytes. Can block only on an inherited descriptor that is not ready although poll(2)
  // says so.
  void WriteSome();
  void GiveUp(const Error& why) { End(why); }

 private:
  void Open();
  size_t Take(const char* bytes, size_t n) const;
  void Close();
  void End(const std::optional<Error>& error);

  const std::string &path_, &text_;
  int fd_ = kNoDescriptor;
  bool is_own_ = false;   // this object has opened fd_
  bool is_pipe_ = false;  // fd_ is a pipe that this object opened, and does not block
  bool waits_ = true;
  size_t written_ = 0;
  std::optional<Error> error_;
};

Writing::Writing(const StreamText& stream) : path_(stream.path), text_(stream.text) {
  if (const std::string why = WhyNoStream(path_); !why.empty()) {
    End(Error(Error::kIo, why));
    return;
  }
  fd_ = GivenDescriptor(path_);
  waits_ = fd_ == kNoDescriptor;
}

void Writing::TryOpen() {
  try {
    Open();
  } catch (const Error& error) {
    End(error);
  }
}

void Writing::Open() {
  constexpr int kFlags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const int fd = Uninterrupted([&] { return ::open(path_.c_str(), kFlags); });
  const int code = errno;
  struct stat about {};
  if (fd < 0) {
    const bool no_reader =
        code == ENXIO && ::stat(path_.c_str(), &about) == 0 && S_ISFIFO(about.st_mode);
    if (!no_reader) throw Error::Io("open", path_, code);
    return;
  }
  fd_ = fd;
  is_own_ = true;
  waits_ = false;
  if (::fstat(fd, &about) != 0 || S_ISREG(about.st_mode) || S_ISBLK(about.st_mode)) {
    throw Error(Error::kIo, "another file has taken its place");
  }
  is_pipe_ = S_ISFIFO(about.st_mode);
  if (is_pipe_) return;
  if (const int now = ::fcntl(fd, F_GETFL); now >= 0) ::fcntl(fd, F_SETFL, now & ~O_NONBLOCK);
}

// Returns how many of the bytes were written.
size_t Writing::Take(const char* bytes, size_t n) const {
  if (!is_own_ && fd_ == STDOUT_FILENO) {
    // When its reader goes away, the rest is dropped silently, like the rest of a report
    // (standard_streams.h).
    const bool all = std::fwrite(bytes, 1, n, stdout) == n;
    if (std::fflush(stdout) != 0 || !all) throw Error::Io("write", path_, errno);
    return n;
  }
  const ssize_t written = ::write(fd_, bytes, n);
  if (written >= 0) return static_cast<size_t>(written);
  if (errno != EAGAIN && errno != EINTR) throw Error::Io("write", path_, errno);
  return 0;
}

void Writing::WriteSome() {
  try {
    // An own pipe does not block. An inherited one takes PIPE_BUF bytes without blocking when
    // poll(2) calls it ready (pipe(7)).
    const size_t most = is_pipe_ ? text_.size() : size_t{PIPE_BUF};
    written_ += Take(text_.data() + written_, std::min(most, text_.size() - written_));
    if (written_ == text_.size()) End(std::nullopt);
  } catch (const Error& error) {
    End(error);
  }
}

void Writing::Close() {
  const bool failed = is_own_ && ::close(fd_) != 0 && errno != EINTR;
  const int code = errno;
  is_own_ = false;
  fd_ = kNoDescriptor;
  if (failed && !error_) error_ = Error::Io("close", path_, code);
}

void Writing::End(const std::optional<Error>& error) {
  waits_ = false;
  error_ = error;
  Close();
}

Error NobodyReads(std::chrono::milliseconds wait) {
  return {Error::kIo, fmt::format("nobody has opened the pipe for reading within {:g} s; start its "
                                  "reader first",
                                  std::chrono::duration<double>(wait).count())};
}

// Opens the streams that can be opened, waits until one is ready (only for a moment when some are
// not open yet), and writes to the ready ones. Returns whether any stream was open.
bool ServeOnce(std::deque<Writing>* all) {
  constexpr int kPauseMs = 10;
  bool some_wait = false;
  std::vector<pollfd> polled;
  std::vector<Writing*> open;
  for (Writing& one : *all) {
    if (one.waits()) one.TryOpen();
    some_wait |= one.waits();
    if (one.waits() || one.done()) continue;
    polled.push_back({.fd = one.fd(), .events = POLLOUT, .revents = 0});
    open.push_back(&one);
  }
  if (!some_wait && open.empty()) return false;
  if (::poll(polled.data(), polled.size(), some_wait ? kPauseMs : -1) > 0) {
    for (size_t i = 0; i < open.size(); ++i) {
      if (polled[i].revents != 0) open[i]->WriteSome();
    }
  }
  return !open.empty();
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

std::vector<std::optional<Error>> WriteStreams(const std::vector<StreamText>& streams,
                                               std::chrono::milliseconds wait) {
  using Clock = std::chrono::steady_clock;
  std::fflush(stdout);
  std::deque<Writing> all;
  for (const StreamText& stream : streams) all.emplace_back(stream);
  const auto is_done = [](const Writing& one) { return one.done(); };
  auto idle_since = Clock::now();
  while (!std::all_of(all.begin(), all.end(), is_done)) {
    if (ServeOnce(&all)) idle_since = Clock::now();
    if (Clock::now() - idle_since < wait) continue;
    for (Writing& one : all) {
      if (one.waits()) one.GiveUp(NobodyReads(wait));
    }
  }
  std::vector<std::optional<Error>> errors;
  for (const Writing& one : all) errors.push_back(one.error());
  return errors;
}

void WriteStream(const std::string& path, const std::string& text, std::chrono::milliseconds wait) {
  if (const std::optional<Error> error = WriteStreams({{path, text}}, wait)[0]) throw Error(*error);
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

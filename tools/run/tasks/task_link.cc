#include "tools/run/tasks/task_link.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "tools/output/json_text.h"

namespace testbed {
namespace {

using nlohmann::json;

// The addresses of a host, as getaddrinfo(3) returns them. The destructor frees them.
class Addresses {
 public:
  // Looks up the addresses; with `here`, addresses to listen at. Throws Error (kUsage).
  Addresses(const std::string& host, const std::string& port, bool here) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    if (here) hints.ai_flags |= AI_PASSIVE;
    const bool any = here && host != "localhost" && !IsAddress(host);
    const int error = ::getaddrinfo(any ? nullptr : host.c_str(), port.c_str(), &hints, &first_);
    if (error == 0) return;
    throw Error(Error::kUsage, fmt::format("--task-address {}:{}: the host has no address ({})",
                                           host, port, ::gai_strerror(error)));
  }
  ~Addresses() { ::freeaddrinfo(first_); }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  const addrinfo* first() const { return first_; }

  // Returns whether the host is given by its address and not by its name.
  static bool IsAddress(const std::string& host) {
    addrinfo hints{};
    hints.ai_flags = AI_NUMERICHOST;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
    ::freeaddrinfo(found);
    return true;
  }

 private:
  addrinfo* first_ = nullptr;
};

// Throws Error (kUsage) unless the name of a host leads to this one.
void CheckIsHere(const std::string& host, const std::string& port) {
  const Addresses addresses(host, port, false);
  for (const addrinfo* at = addresses.first(); at != nullptr; at = at->ai_next) {
    const int fd = ::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    // EADDRNOTAVAIL says that the address is another host's. Other errors, such as a port in use,
    // are no reason here.
    const bool here = ::bind(fd, at->ai_addr, at->ai_addrlen) == 0 || errno != EADDRNOTAVAIL;
    ::close(fd);
    if (here) return;
  }
  throw Error(Error::kUsage,
              fmt::format("--task-address {}:{}: the name leads to another host than that of task "
                          "0; give the name of task 0's host",
                          host, port));
}

// Returns the number of milliseconds, which poll(2) takes.
int Milliseconds(double seconds) {
  return static_cast<int>(std::ceil(std::clamp(seconds, 0.0, 1e6) * 1000));
}

std::unique_ptr<TaskLink> LinkOf(int fd, const std::function<int64_t()>& now) {
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return std::make_unique<TaskLink>(fd, now);
}

// Connects a new socket to the address. Returns -1, with errno, when that fails or takes more than
// a second.
int Connect(const addrinfo& address) {
  const int fd = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int error = ::connect(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd writable{fd, POLLOUT, 0};
    socklen_t size = sizeof error;
    if (::poll(&writable, 1, 1000) <= 0) {
      error = ETIMEDOUT;
    } else {
      ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  if (error != 0) {
    ::close(fd);
    errno = error;
    return -1;
  }
  return fd;
}

}  // namespace

TaskLink::TaskLink(int fd, std::function<int64_t()> now) : fd_(fd), now_(std::move(now)) {}

TaskLink::~TaskLink() { ::close(fd_); }

void TaskLink::LimitSends(double seconds) {
  timeval limit{};
  limit.tv_sec = static_cast<time_t>(std::ceil(seconds));
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

bool TaskLink::Send(const json& line) {
  return SendMade([&line] { return line; });
}

bool TaskLink::SendMade(const std::function<json()>& make) {
  const LockGuard lock(sending_);
  const std::string text = JsonText(make()) + "\n";
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::send(fd_, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

bool TaskLink::Read(int milliseconds, std::vector<TaskLine>* lines) {
  if (!read_ahead_.empty()) {
    for (TaskLine& line : read_ahead_) lines->push_back(std::move(line));
    read_ahead_.clear();
    return true;
  }
  pollfd readable{fd_, POLLIN, 0};
  if (::poll(&readable, 1, milliseconds) <= 0) return true;
  char bytes[65536];
  const ssize_t n = ::recv(fd_, bytes, sizeof bytes, MSG_DONTWAIT);
  const int64_t at = now_();
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (n <= 0) return false;
  received_ += static_cast<uint64_t>(n);
  // Only the bytes that are new can hold the end of a line.
  size_t look = text_.size(), begin = 0;
  text_.append(bytes, static_cast<size_t>(n));
  for (size_t end; (end = text_.find('\n', look)) != std::string::npos; begin = look = end + 1) {
    json line = ParseJson(std::string_view(text_).substr(begin, end - begin));
    if (!line.is_object()) return false;
    lines->push_back({std::move(line), at});
  }
  text_.erase(0, begin);
  return text_.size() <= longest_line_;
}

std::optional<TaskLine> TaskLink::Await(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  std::vector<TaskLine> lines;
  while (lines.empty()) {
    if (StopRequested()) throw Stopped("while it waited for the other tasks");
    if (!Read(50, &lines) && lines.empty()) return std::nullopt;
    if (lines.empty() && std::chrono::steady_clock::now() > end) return std::nullopt;
  }
  std::optional<TaskLine> first = std::move(lines.front());
  for (size_t i = 1; i < lines.size(); ++i) read_ahead_.push_back(std::move(lines[i]));
  return first;
}

TaskListener::TaskListener(const std::string& host, const std::string& port) {
  if (host != "localhost" && !Addresses::IsAddress(host)) CheckIsHere(host, port);
  const Addresses addresses(host, port, true);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* at = addresses.first(); at != nullptr && fd_ < 0; at = at->ai_next) {
    const int fd = ::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
      error = errno;
      continue;
    }
    const int on = 1, off = 0;  // recently closed connections do not block the port
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (at->ai_family == AF_INET6) {
      ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    }
    if (::bind(fd, at->ai_addr, at->ai_addrlen) == 0 && ::listen(fd, 1000) == 0) {
      fd_ = fd;
    } else {
      error = errno;
      ::close(fd);
    }
  }
  if (fd_ >= 0) return;
  throw Error(Error::kUsage,
              fmt::format("--task-address {}:{}: task 0 cannot listen there ({}); give an address "
                          "of its host and a free port",
                          host, port, std::strerror(error)));
}

TaskListener::~TaskListener() {
  if (fd_ >= 0) ::close(fd_);
}

std::unique_ptr<TaskLink> TaskListener::Accept(double seconds,
                                               const std::function<int64_t()>& now) {
  pollfd readable{fd_, POLLIN, 0};
  if (::poll(&readable, 1, Milliseconds(seconds)) <= 0) return nullptr;
  const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  return fd < 0 ? nullptr : LinkOf(fd, now);
}

std::unique_ptr<TaskLink> ConnectToTask(const std::string& host, const std::string& port,
                                        const std::function<int64_t()>& now, std::string* why) {
  const Addresses addresses(host, port, false);
  for (const addrinfo* at = addresses.first(); at != nullptr; at = at->ai_next) {
    const int fd = Connect(*at);
    if (fd < 0) {
      *why = std::strerror(errno);
      continue;
    }
    // Sends wait for room; reads do not (MSG_DONTWAIT).
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return LinkOf(fd, now);
  }
  return nullptr;
}

}  // namespace testbed

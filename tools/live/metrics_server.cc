#include "tools/live/metrics_server.h"

#include <arpa/inet.h>
#include <civetweb.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "device/error.h"
#include "device/os/child_process.h"
#include "device/os/mutex.h"
#include "tools/output/json_text.h"

namespace testbed {
namespace {

using nlohmann::json;

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns an empty sentence when a server can listen there, otherwise why it cannot. CivetWeb
// itself does not report the reason.
std::string WhyNot(const ListenAddress& listen) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(listen.port);
  ::inet_pton(AF_INET, listen.address.c_str(), &at.sin_addr);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return std::strerror(errno);
  const int on = 1;  // as CivetWeb sets it: recently closed connections do not block the port
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  std::string why;
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || ::listen(fd, 1) != 0) {
    why = std::strerror(errno);
  }
  ::close(fd);
  return why;
}

// The server, in its process. CivetWeb's threads answer while the main thread takes events.
class Server {
 public:
  explicit Server(std::string version) : metrics_(std::move(version)) {}
  ~Server() {
    if (context_ != nullptr) ::mg_stop(context_);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Returns the port; 0 when CivetWeb cannot start.
  int Start(const std::string& where) {
    ::mg_init_library(0);
    const char* options[] = {"listening_ports",    where.c_str(), "num_threads", "2",
                             "request_timeout_ms", "10000",       nullptr};
    const mg_callbacks callbacks{};
    context_ = ::mg_start(&callbacks, this, options);
    if (context_ == nullptr) return 0;
    ::mg_set_request_handler(context_, "/", &Server::Answer, this);
    mg_server_port port{};
    return ::mg_get_server_ports(context_, 1, &port) == 1 ? port.port : 0;
  }

  // Takes events until the pipe is closed.
  void Take(int from_parent) {
    std::string text;
    char bytes[16384];
    while (true) {
      const ssize_t n = ::read(from_parent, bytes, sizeof bytes);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;
      text.append(bytes, static_cast<size_t>(n));
      size_t begin = 0;
      for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
        TakeEvent(ParseJson(std::string_view(text).substr(begin, end - begin)));
      }
      text.erase(0, begin);
    }
  }

 private:
  void TakeEvent(const json& event) {
    const LockGuard lock(mutex_);
    if (event.contains("begins")) {
      metrics_.Begin({event.at("engine"), event.at("threads")}, event.at("begins"),
                     SteadySeconds());
    } else if (event.contains("second")) {
      metrics_.Add(ParseSecond(event.at("second")), SteadySeconds());
    }
  }

  static int Send(mg_connection* connection, int status, const char* type,
                  const std::string& text) {
    const std::string method = ::mg_get_request_info(connection)->request_method;
    const std::string head = fmt::format(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
        "Connection: close\r\n\r\n",
        status, ::mg_get_response_code_text(connection, status), type, text.size());
    ::mg_write(connection, head.data(), head.size());
    if (method != "HEAD") ::mg_write(connection, text.data(), text.size());
    return status;
  }

  static int Answer(mg_connection* connection, void* data) {
    const mg_request_info& asked = *::mg_get_request_info(connection);
    if (std::string(asked.local_uri) != "/metrics") {
      return Send(connection, 404, "text/plain", "testbed serves /metrics\n");
    }
    const std::string method = asked.request_method;
    if (method != "GET" && method != "HEAD") {
      return Send(connection, 405, "text/plain", "only GET is answered\n");
    }
    auto* server = static_cast<Server*>(data);
    std::string text;
    {
      const LockGuard lock(server->mutex_);
      text = server->metrics_.Text(SteadySeconds());
    }
    return Send(connection, 200, OpenMetrics::kContentType, text);
  }

  Mutex mutex_;
  OpenMetrics metrics_ GUARDED_BY(mutex_);
  mg_context* context_ = nullptr;
};

// Serves until the pipe from the parent is closed, and ends the process. Tells the port first.
[[noreturn]] void BeTheServer(const ListenAddress& listen, const std::string& version,
                              int from_parent, int to_parent) {
  {
    Server server(version);
    const int port = server.Start(listen.Text());
    (void)!::write(to_parent, &port, sizeof port);
    ::close(to_parent);
    if (port != 0) server.Take(from_parent);
  }
  ::_exit(0);
}

[[noreturn]] void RefuseAddress(const ListenAddress& listen, const std::string& why) {
  throw Error(Error::kUsage,
              fmt::format("--metrics {} cannot be served: {}; give another port, or an address of "
                          "this machine",
                          listen.Text(), why));
}

}  // namespace

MetricsServer::MetricsServer(const ListenAddress& listen, const std::string& version) {
  if (const std::string why = WhyNot(listen); !why.empty()) RefuseAddress(listen, why);
  Pipe events, answer;
  process_ = ForkChild();
  if (process_ == 0) {
    events.CloseWriter();
    answer.CloseReader();
    BeTheServer(listen, version, events.reader(), answer.writer());
  }
  events.CloseReader();
  answer.CloseWriter();
  int port = 0;
  while (::read(answer.reader(), &port, sizeof port) < 0 && errno == EINTR) {
  }
  if (port == 0) {
    events.CloseWriter();
    AwaitChild(process_);
    RefuseAddress(listen, "the server did not start");
  }
  ListenAddress at = listen;
  at.port = static_cast<uint16_t>(port);
  url_ = "http://" + at.Text() + "/metrics";
  to_process_ = events.TakeWriter();
  ::fcntl(to_process_, F_SETFL, O_NONBLOCK);
}

MetricsServer::~MetricsServer() {
  ::close(to_process_);
  // An answer that is under way is of no use any more, and must not delay the end of the program.
  ::kill(process_, SIGKILL);
  AwaitChild(process_);
}

void MetricsServer::Begin(const OpenMetrics::RunLabels& run, const std::string& phase) {
  Send({{"begins", phase}, {"engine", run.engine}, {"threads", run.threads}});
}

void MetricsServer::Second(const SecondReport& second) { Send({{"second", SecondJson(second)}}); }

void MetricsServer::Send(const json& event) {
  constexpr size_t kMostUnsent = 4 << 20;  // bytes; further events are dropped
  if (unsent_.size() < kMostUnsent) unsent_ += JsonText(event) + "\n";
  while (!unsent_.empty()) {
    const ssize_t n = ::write(to_process_, unsent_.data(), unsent_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    unsent_.erase(0, static_cast<size_t>(n));
  }
}

}  // namespace testbed

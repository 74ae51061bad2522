// A Relay stands between a server and its clients. It listens on a Unix socket, passes the bytes of
// each connection on to the server's socket and back, and counts them before it does. After Cut it
// behaves as a server that is lost.
#ifndef TESTBED_TESTS_RELAY_H_
#define TESTBED_TESTS_RELAY_H_

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace testbed {

class Relay {
 public:
  Relay(const std::string& path, std::string server) : server_(std::move(server)) {
    const sockaddr_un address = AddressOf(path);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 100), 0);
    accepting_ = std::thread([this] { Accept(); });
  }
  // Waits until the clients have closed their connections, unless Cut has ended them.
  ~Relay() {
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    for (std::thread& connection : connections_) connection.join();
    ::close(listener_);
  }
  uint64_t to_server() const { return to_server_; }
  uint64_t to_client() const { return to_client_; }

  // Ends all connections, and accepts no more.
  void Cut() {
    ::shutdown(listener_, SHUT_RDWR);
    const std::lock_guard lock(mutex_);
    is_cut_ = true;
    for (const int end : ends_) ::shutdown(end, SHUT_RDWR);
  }
  // Ends all connections. Clients may connect again.
  void EndConnections() {
    const std::lock_guard lock(mutex_);
    for (const int end : ends_) ::shutdown(end, SHUT_RDWR);
  }

 private:
  static sockaddr_un AddressOf(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return address;
  }
  void Accept() {
    const sockaddr_un address = AddressOf(server_);
    for (int client; (client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
      const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      EXPECT_EQ(::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
      {
        const std::lock_guard lock(mutex_);
        ends_.insert({client, server});
        if (is_cut_) ::shutdown(client, SHUT_RDWR);
      }
      connections_.emplace_back([this, client, server] { Serve(client, server); });
    }
  }
  // Passes bytes on between the two sockets until one of them is closed.
  void Serve(int client, int server) {
    pollfd ends[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
    while (::poll(ends, 2, -1) > 0) {
      if (ends[0].revents != 0 && !HandOn(client, server, &to_server_)) break;
      if (ends[1].revents != 0 && !HandOn(server, client, &to_client_)) break;
    }
    const std::lock_guard lock(mutex_);
    for (const int end : {client, server}) {
      ends_.erase(end);
      ::close(end);
    }
  }
  static bool HandOn(int from, int to, std::atomic<uint64_t>* count) {
    char bytes[4096];
    const ssize_t n = ::recv(from, bytes, sizeof bytes, 0);
    if (n <= 0) return false;
    *count += static_cast<uint64_t>(n);
    return ::send(to, bytes, static_cast<size_t>(n), MSG_NOSIGNAL) == n;
  }

  const std::string server_;
  int listener_ = -1;
  std::atomic<uint64_t> to_server_{0}, to_client_{0};
  std::mutex mutex_;    // protects ends_ and is_cut_
  std::set<int> ends_;  // the sockets of both sides of each connection
  bool is_cut_ = false;
  std::thread accepting_;
  std::vector<std::thread> connections_;
};

}  // namespace testbed

#endif  // TESTBED_TESTS_RELAY_H_

// Tests what is said of servers that are too old, or that are none of those which an engine knows.
// They are stand-ins that speak the first lines of the protocols, and then await the end.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "tests/cli/command.h"

namespace testbed {
namespace {

// Listens on a port of the loopback, and answers one connection after the other.
class StandIn {
 public:
  explicit StandIn(std::function<void(int)> speak) : speak_(std::move(speak)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~StandIn() {
    ::shutdown(socket_, SHUT_RDWR);  // ends the wait for a connection
    thread_.join();
    ::close(socket_);
  }
  std::string Address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  void Serve() {
    for (;;) {
      const int client = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      speak_(client);
      char rest[256];
      while (::read(client, rest, sizeof rest) > 0) {
      }
      ::close(client);
    }
  }

  const std::function<void(int)> speak_;
  const int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  unsigned port_ = 0;
  std::thread thread_;
};

// Returns what the client sends next, up to `size` bytes; shorter at its end.
std::string ReadBytes(int client, size_t size) {
  std::string bytes(size, 0);
  size_t got = 0;
  while (got < size) {
    const ssize_t n = ::recv(client, bytes.data() + got, size - got, 0);
    if (n <= 0) break;
    got += static_cast<size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

void WriteBytes(int client, const std::string& bytes) {
  EXPECT_EQ(::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

std::string BigEndian(uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>((number >> shift) & 255);
  return bytes;
}

// Answers a start as a PostgreSQL of that version that asks for no password: it says that the
// client is authenticated, what its version is, and that it is ready for queries. It declines a
// request for encryption, with which a start may begin.
void SpeakAsPostgres(int client, const std::string& version) {
  for (;;) {
    const std::string head = ReadBytes(client, 8);
    if (head.size() < 8) return;
    uint32_t size = 0, code = 0;
    for (size_t i = 0; i < 4; ++i) {
      size = (size << 8) | static_cast<unsigned char>(head[i]);
      code = (code << 8) | static_cast<unsigned char>(head[4 + i]);
    }
    ReadBytes(client, size - 8);
    constexpr uint32_t kTls = 80877103, kGss = 80877104;
    if (code != kTls && code != kGss) break;
    WriteBytes(client, "N");
  }
  const std::string told = std::string("server_version") + '\0' + version + '\0';
  WriteBytes(client, "R" + BigEndian(8) + BigEndian(0) + "S" +
                         BigEndian(static_cast<uint32_t>(4 + told.size())) + told + "Z" +
                         BigEndian(5) + "I");
}

// Greets as a MySQL or MariaDB of that version, and lets the client in.
void SpeakAsMysql(int client, const std::string& version) {
  const auto packet = [](char number, const std::string& bytes) {
    return std::string{static_cast<char>(bytes.size()), 0, 0, number} + bytes;
  };
  const std::string seed(8, 'a'), zeros(10, 0);
  // The parts are protocol 10, the version, an id, a seed, flags of abilities (the protocol of 4.1,
  // authentication by plugins), a character set, the state, more flags, the seed's length and rest.
  WriteBytes(client, packet(0, "\n" + version + std::string("\0\1\0\0\0", 5) + seed +
                                   std::string("\0\x09\xa2\x08\x02\0\x08\0\x15", 9) + zeros +
                                   std::string(12, 'b') + '\0' + "mysql_native_password" + '\0'));
  const std::string head = ReadBytes(client, 4);
  if (head.size() < 4) return;
  ReadBytes(client,
            static_cast<unsigned char>(head[0]) + 256u * static_cast<unsigned char>(head[1]));
  WriteBytes(client, packet(static_cast<char>(head[3] + 1), std::string("\0\0\0\2\0\0\0", 7)));
}

using TooOldServerTest = CommandTest;

TEST_F(TooOldServerTest, OneSentenceNamesTheServerAndItsVersion) {
  const auto refusal = [&](const std::string& engine, const std::string& url) {
    return Run("--engine " + engine +
               " --rows 100 --threads 1 --workload insert --account off --quiet --connect " + url);
  };
  if (HasEngine("postgres")) {
    for (const std::string version : {"9.5.25", "8.4.22"}) {
      const StandIn server([&](int client) { SpeakAsPostgres(client, version); });
      ExpectRefused(
          refusal("postgres", "postgresql://me@" + server.Address() + "/test"),
          "version 9.6 or later, and the server at " + server.Address() + " is " + version);
    }
  }
  if (HasEngine("mysql")) {
    for (const std::string version : {"5.5.62-MariaDB", "8.0.36"}) {
      const StandIn server([&](int client) { SpeakAsMysql(client, version); });
      ExpectRefused(refusal("mysql", "mysql://me@" + server.Address() + "/"),
                    "a MariaDB of version 10.1 or later, and the server at " + server.Address() +
                        " is " + version.substr(0, version.find('-')));
    }
  }
  EXPECT_TRUE(DirectoryIsEmpty());
}

}  // namespace
}  // namespace testbed

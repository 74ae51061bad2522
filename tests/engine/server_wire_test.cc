// The wire level of the account against what goes between: a relay that stands between client and
// server counts the same bytes, and knows nothing of the account.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "device/account/ledger.h"
#include "device/account/wire.h"
#include "tests/engine/server_test.h"

namespace testbed {
namespace {

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

// Listens on a Unix socket, hands on to another what comes there, and back, and counts it before.
class Relay {
 public:
  Relay(const std::string& path, std::string server) : server_(std::move(server)) {
    const sockaddr_un address = AddressOf(path);
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 100), 0);
    accepting_ = std::thread([this] { Accept(); });
  }
  ~Relay() {
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    for (std::thread& connection : connections_) connection.join();
    ::close(listener_);
  }
  uint64_t to_server() const { return to_server_; }
  uint64_t to_client() const { return to_client_; }

 private:
  void Accept() {
    const sockaddr_un address = AddressOf(server_);
    for (int client; (client = ::accept(listener_, nullptr, nullptr)) >= 0;) {
      const int server = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      EXPECT_EQ(::connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
      connections_.emplace_back([this, client, server] { Serve(client, server); });
    }
  }
  // Hands on until one of the two closes.
  void Serve(int client, int server) {
    pollfd ends[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
    while (::poll(ends, 2, -1) > 0) {
      if (ends[0].revents != 0 && !HandOn(client, server, &to_server_)) break;
      if (ends[1].revents != 0 && !HandOn(server, client, &to_client_)) break;
    }
    ::close(client);
    ::close(server);
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
  std::thread accepting_;
  std::vector<std::thread> connections_;
};

class ServerWireTest : public ServerTest {
 public:
  // Other engines cannot connect to the server of MyRocks.
  static bool IsFor(const EngineCase& c) { return ServerTest::IsFor(c) && !c.IsMyRocks(); }

 protected:
  // Opens a database by way of a relay, with a session that has used all its statements. `more`
  // stands behind the URL.
  void OpenByRelay(const std::string& more = "") {
    Open();
    const std::string socket = info().name == "postgres" ? "/.s.PGSQL.5432" : "/mysqld.sock";
    std::filesystem::create_directory(dir_ + "/relay");
    relay_ = std::make_unique<Relay>(dir_ + "/relay" + socket, dir_ + "/cluster" + socket);
    other_ = ConnectTo(UrlOf(dir_ + "/relay") + more, "by_relay", "relayed");
    other_table_ = other_->OpenTable("t");
    other_session_ = other_->NewSession();
    Work();
    End();
  }
  void TearDown() override {
    other_session_.reset();
    other_.reset();
    relay_.reset();
    ServerTest::TearDown();
  }
  // Writes, reads and walks rows, each in a scope of its own.
  void Work() {
    {
      const IoScope scope(write_);
      other_session_->Begin();
      for (uint64_t row = 0; row < 10; ++row)
        other_session_->Put(other_table_, RowKey(row), RowValue(row, 30000));
      other_session_->Commit();
    }
    {
      const IoScope scope(read_);
      std::string_view value;
      ASSERT_TRUE(other_session_->Get(other_table_, RowKey(7), &value));
      ASSERT_EQ(value, RowValue(7, 30000));
    }
    {
      const IoScope scope(several_);
      std::vector<std::string> keys = {RowKey(1), RowKey(2), RowKey(3)};
      const std::vector<std::string_view> views(keys.begin(), keys.end());
      std::vector<FoundRow> rows;
      other_session_->MultiGet(other_table_, views, &rows);
    }
    const IoScope scope(scan_);
    const std::unique_ptr<Cursor> cursor = other_session_->NewCursor(other_table_);
    cursor->Expect(10);
    bool on = cursor->First();
    for (int row = 1; on && row < 10; ++row) on = cursor->Next();
    ASSERT_TRUE(on);
  }
  // A write's answer is read to its end, so that nothing is on its way afterwards.
  void End() {
    const IoScope scope(end_);
    other_session_->Put(other_table_, "end", "");
  }

  struct Totals {
    uint64_t sent = 0, received = 0;
  };
  Totals OfRelay() const { return {relay_->to_server(), relay_->to_client()}; }
  static Totals OfLedger() {
    Totals all;
    for (const LedgerCounts::Op& op : Ledger::Get().Counts().ops) {
      all.sent += op.wire.sent_bytes;
      all.received += op.wire.received_bytes;
    }
    return all;
  }
  void ExpectTheWorkIsCounted() {
    const Totals relay = OfRelay(), ledger = OfLedger();
    Work();
    End();
    const Totals relay_after = OfRelay(), ledger_after = OfLedger();
    EXPECT_GT(relay_after.sent - relay.sent, 10u * 30000u);
    EXPECT_GT(relay_after.received - relay.received, 10u * 30000u);
    EXPECT_EQ(ledger_after.sent - ledger.sent, relay_after.sent - relay.sent);
    EXPECT_EQ(ledger_after.received - ledger.received, relay_after.received - relay.received);
    EXPECT_TRUE(CountsWire());
  }

  const OpKind write_ = DefineOp("wire-write", Ground::kForeground);
  const OpKind read_ = DefineOp("wire-get", Ground::kForeground);
  const OpKind several_ = DefineOp("wire-multi-get", Ground::kForeground);
  const OpKind scan_ = DefineOp("wire-scan", Ground::kForeground);
  const OpKind end_ = DefineOp("wire-end", Ground::kForeground);
  std::unique_ptr<Relay> relay_;
  std::unique_ptr<Engine> other_;
  std::unique_ptr<Session> other_session_;
  TableId other_table_ = 0;
};
TESTBED_FOR_EVERY_ENGINE(ServerWireTest);

TEST_P(ServerWireTest, CountsTheBytesThatGoBetween) {
  OpenByRelay();
  ExpectTheWorkIsCounted();
}

TEST_P(ServerWireTest, CountsTheBytesOfAnEncryptedConnection) {
  if (info().name == "postgres") GTEST_SKIP() << "PostgreSQL encrypts nothing on a Unix socket";
  const std::string key = dir_ + "/key.pem", certificate = dir_ + "/certificate.pem";
  const std::string make =
      "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout " + key + " -out " +
      certificate + " 2>/dev/null";
  std::filesystem::create_directory(dir_);
  if (std::system(make.c_str()) != 0) GTEST_SKIP() << "there is no openssl to make a certificate";
  options_.extra["server_option"] = "ssl_cert=" + certificate + ";ssl_key=" + key;
  OpenByRelay("&tls=on");
  ExpectTheWorkIsCounted();
}

TEST_P(ServerWireTest, RoundTripsAreWhatTheClientWaitsFor) {
  OpenByRelay();
  const LedgerCounts before = Ledger::Get().Counts();
  Work();
  const LedgerCounts cost = Ledger::Get().Counts() - before;
  const auto trips = [&](OpKind op) { return cost.ops[op.id].wire.round_trips; };
  const bool pipelined = info().name == "postgres";
  EXPECT_EQ(trips(read_), 1u);
  EXPECT_EQ(trips(several_), pipelined ? 1u : 3u);
  EXPECT_EQ(trips(scan_), 1u);
  // BEGIN, ten rows and COMMIT. A pipeline of more than 256 KiB is answered in parts.
  if (pipelined) {
    EXPECT_LE(trips(write_), 3u);
  } else {
    EXPECT_EQ(trips(write_), 12u);
  }
}

}  // namespace
}  // namespace testbed

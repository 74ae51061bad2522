// The wire level of the account against what goes between: a relay that stands between client and
// server counts the same bytes, and knows nothing of the account.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "device/account/ledger.h"
#include "device/account/wire.h"
#include "tests/engine/servers/server_test.h"
#include "tests/relay.h"

namespace testbed {
namespace {

class ServerWireTest : public ServerTest {
 public:
  // Other engines cannot connect to the server of MyRocks.
  static bool IsFor(const EngineCase& c) { return ServerTest::IsFor(c) && !c.IsMyRocks(); }

 protected:
  // Opens the database of the test, and puts a relay before its server, in DIR/relay.
  void OpenBehindRelay() {
    Open();
    const std::string socket = info().name == "postgres" ? "/.s.PGSQL.5432" : "/mysqld.sock";
    std::filesystem::create_directory(dir_ + "/relay");
    relay_ = std::make_unique<Relay>(dir_ + "/relay" + socket, dir_ + "/cluster" + socket);
  }
  // Opens a database by way of the relay, with a session that has used all its statements. `more`
  // stands behind the URL.
  void OpenByRelay(const std::string& more = "") {
    OpenBehindRelay();
    other_ = ConnectTo(UrlOf(dir_ + "/relay") + more, "by_relay", "relayed");
    other_table_ = other_->OpenTable("t");
    other_session_ = other_->NewSession();
    Work();
    End();
  }
  // Opens a database of mysql by way of the relay, with TLS. Returns false when there is no program
  // to make a certificate.
  bool OpenEncryptedByRelay() {
    const std::string key = dir_ + "/key.pem", certificate = dir_ + "/certificate.pem";
    const std::string make =
        "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout " + key + " -out " +
        certificate + " 2>/dev/null";
    std::filesystem::create_directory(dir_);
    if (std::system(make.c_str()) != 0) return false;
    options_.extra["server_option"] = "ssl_cert=" + certificate + ";ssl_key=" + key;
    OpenByRelay("&tls=on");
    return true;
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
  if (!OpenEncryptedByRelay()) GTEST_SKIP() << "there is no openssl to make a certificate";
  ExpectTheWorkIsCounted();
}

// The library tells the end of a connection with TLS by another error than that of any other one.
// The connection ends while the client waits for an answer, because another transaction has locked
// the row.
TEST_P(ServerWireTest, AnEncryptedConnectionThatEndsIsLost) {
  if (info().name == "postgres") GTEST_SKIP() << "PostgreSQL encrypts nothing on a Unix socket";
  if (!OpenEncryptedByRelay()) GTEST_SKIP() << "there is no openssl to make a certificate";
  const std::unique_ptr<Session> holder = other_->NewSession();
  holder->Begin();
  holder->Put(other_table_, "end", "locked");
  const uint64_t before = relay_->to_server();
  std::atomic<bool> ended{false};
  std::thread cuts([&] {
    while (relay_->to_server() == before && !ended) std::this_thread::yield();
    relay_->EndConnections();
  });
  const std::string sentence =
      ErrorOf(Error::kIo, [&] { other_session_->Put(other_table_, "end", "v"); });
  ended = true;
  cuts.join();
  EXPECT_NE(sentence.find("is lost"), std::string::npos) << sentence;
}

TEST_P(ServerWireTest, TheStatementsOfABatchShareARoundTrip) {
  if (info().name != "mysql") GTEST_SKIP() << "it is an access of mysql";
  OpenBehindRelay();
  EngineOptions options = options_;
  options.extra = {
      {"schema", "batches"}, {"connect", UrlOf(dir_ + "/relay")}, {"access", "batched"}};
  other_ = OpenEngine("mysql", dir_ + "/by_batches", options);
  other_table_ = other_->OpenTable("t");
  other_session_ = other_->NewSession();
  const LedgerCounts before = Ledger::Get().Counts();
  Work();
  const LedgerCounts cost = Ledger::Get().Counts() - before;
  const auto trips = [&](OpKind op) { return cost.ops[op.id].wire.round_trips; };
  EXPECT_EQ(trips(read_), 1u);
  EXPECT_EQ(trips(several_), 1u);
  EXPECT_EQ(trips(scan_), 1u);
  EXPECT_LE(trips(write_), 3u) << "BEGIN, ten rows of 30,000 bytes and COMMIT, at 256 KiB a batch";
  End();
  ExpectTheWorkIsCounted();
}

// The first address is the server's own, the second that of the relay, which is then cut.
TEST_P(ServerWireTest, AClientWhoseAddressIsLostGoesOnAtTheNext) {
  OpenBehindRelay();
  const std::string url =
      info().name == "postgres"
          ? "host=" + dir_ + "/cluster," + dir_ + "/relay user=testbed dbname=postgres"
          : Url() + "&socket=" + dir_ + "/relay/mysqld.sock";
  EngineOptions options = options_;
  options.extra = {{"schema", "shelf"}, {"connect", url}, {"lost_address", "next"}};
  const std::unique_ptr<Engine> engine = OpenEngine(info().name, dir_ + "/by_both", options);
  const TableId table = engine->OpenTable("t");
  EXPECT_EQ(engine->CountersByAddress().size(), 2u);
  EXPECT_TRUE(engine->Counters().block_requests.has_value());
  const std::unique_ptr<Session> session = engine->NewClientSession(1);
  session->Begin();
  session->Put(table, "k", "lost");
  relay_->Cut();
  EXPECT_THROW(session->Commit(), LostAnswer);
  std::string_view value;
  EXPECT_FALSE(session->Get(table, "k", &value)) << "COMMIT was not repeated";
  session->Put(table, "k", "v");
  EXPECT_EQ(ValueOf(engine.get(), "k"), "v");
  const std::vector<ServerAddress> addresses = engine->ServerAddresses();
  ASSERT_EQ(addresses.size(), 2u);
  EXPECT_EQ(addresses[0].lost, "");
  EXPECT_NE(addresses[1].lost.find("the connection to the server at "), std::string::npos)
      << addresses[1].lost;
  const std::vector<std::optional<EngineCounters>> counters = engine->CountersByAddress();
  ASSERT_EQ(counters.size(), 2u);
  EXPECT_TRUE(counters[0].has_value());
  EXPECT_FALSE(counters[1].has_value());
  EXPECT_FALSE(engine->Counters().block_requests.has_value()) << "a part of the sum is not known";
  engine->Settle();
  EXPECT_TRUE(engine->NewClientSession(1)->Get(table, "k", &value));
}

// The library would send the statement once more, in a session without the settings of the run.
TEST_P(ServerWireTest, ALostConnectionIsNotMadeAgainByTheLibrary) {
  if (info().name != "mysql") GTEST_SKIP() << "libpq never connects again by itself";
  OpenBehindRelay();
  std::ofstream(dir_ + "/.my.cnf") << "[client]\nreconnect=1\n";
  const char* const home = std::getenv("HOME");
  const std::string before = home != nullptr ? home : "/";
  ::setenv("HOME", dir_.c_str(), 1);
  EngineOptions options = options_;
  options.extra = {{"schema", "shelf"}, {"connect", UrlOf(dir_ + "/relay")}, {"access", "select"}};
  other_ = OpenEngine("mysql", dir_ + "/by_text", options);
  other_table_ = other_->OpenTable("t");
  other_session_ = other_->NewSession();
  ::setenv("HOME", before.c_str(), 1);
  other_session_->Put(other_table_, "k", "v");
  relay_->EndConnections();
  const std::string sentence =
      ErrorOf(Error::kIo, [&] { other_session_->Put(other_table_, "k", "w"); });
  EXPECT_NE(sentence.find("lost"), std::string::npos) << sentence;
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

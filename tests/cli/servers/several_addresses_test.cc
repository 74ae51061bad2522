// Tests runs on a server with several addresses: the clients of a measured phase are spread over
// them, a load goes to the first, and what is wrong with one of them is a sentence that names it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tests/cli/servers/given_server.h"
#include "tests/relay.h"

namespace testbed {
namespace {

using AddressWordsTest = CommandTest;

TEST_F(AddressWordsTest, AListThatIsNoneIsOneSentenceInTheWordsOfTheUser) {
  const auto& all = Engines();
  for (const std::string engine : {"mysql", "postgres"}) {
    const bool built = std::any_of(all.begin(), all.end(),
                                   [&](const EngineInfo& info) { return info.name == engine; });
    // libpq reads the URLs of postgres, and need not be here.
    if (!built || (engine == "postgres" && !HasEngine(engine))) continue;
    const std::string url = (engine == "mysql" ? "mysql" : "postgresql") + std::string("://me@");
    const auto refusal = [&](const std::string& option, const std::string& hosts) {
      return Run("--engine " + engine + " --rows 1000 " + option + url + hosts);
    };
    ExpectRefused(refusal("--connect ", "h1:1,h1:1/"),
                  engine + " cannot honour --connect URL: one of its addresses is there twice");
    ExpectRefused(refusal("--engine-option connect=", "h1:1,h1:1/"),
                  engine + " cannot honour --engine-option connect=URL: one of its addresses");
    ExpectRefused(refusal("--connect ", "h1:1,,h2:1/"), "one of its addresses is empty");
    ExpectRefused(refusal("--connect ", "h1:1,mariadb://h2:1/"), "it takes one scheme");
    ExpectRefused(refusal("--engine-option lost_address=next --connect ", "h1:1/"),
                  engine +
                      " cannot honour --engine-option lost_address=next: it needs several "
                      "addresses of a server that runs already");
  }
  EXPECT_TRUE(DirectoryIsEmpty());
}

#ifdef TESTBED_HAVE_MYSQL
using SeveralAddressesTest = GivenMariadbTest;

// Returns the number of connections from here to a port of the loopback. A line has the local and
// the remote address and the state, 1 for established (proc_net_tcp).
int ConnectionsTo(unsigned port, const std::string& tcp) {
  int count = 0;
  std::istringstream lines(tcp);
  for (std::string line; std::getline(lines, line);) {
    unsigned remote = 0, state = 0;
    if (std::sscanf(line.c_str(), " %*u: %*x:%*x %*x:%x %x", &remote, &state) != 2) continue;
    if (remote == port && state == 1) ++count;
  }
  return count;
}

// Returns the number of connections that a server has accepted at its Unix socket: the sockets of
// that path but the one that listens.
int ConnectionsAt(const std::string& socket, const std::string& unix_sockets) {
  int count = -1;
  std::istringstream lines(unix_sockets);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(" " + socket)) ++count;
  }
  return count;
}

// The two addresses, a Unix socket and a port, are those of one server. Besides the clients the run
// has one connection to each, and one more for checkpoints where it makes tables.
TEST_F(SeveralAddressesTest, ALoadGoesToTheFirstAndMeasuredClientsToAll) {
  const unsigned port = FreePort();
  StartServer("--bind-address=127.0.0.1 --port=" + std::to_string(port) +
              " --init-file=" + (directory_ / "users.sql").string());
  const std::string socket = (directory_ / "socket").string();
  std::ofstream(directory_ / ".my.cnf") << "[client]\nsocket=" << socket << "\n";
  const auto connections_are = [&](int at_first, int at_second) {
    return Becomes([&] {
      return ConnectionsAt(socket, Read("/proc/net/unix")) == at_first &&
             ConnectionsTo(port, Read("/proc/net/tcp")) == at_second;
    });
  };
  const auto start = [&](const std::string& words) {
    return Start(
        "--engine mysql --io direct --page-size 16k --durability sync --threads 4 "
        "--account off --quiet --warmup 0 " +
            words + " --connect mysql://me@localhost,127.0.0.1:" + std::to_string(port) + "/",
        "env MYSQL_PWD=right HOME=" + directory_.string());
  };
  const auto end = [](pid_t run) {
    ::kill(run, SIGKILL);
    ::waitpid(run, nullptr, 0);
  };
  const pid_t load = start("--rows 3000000 --workload insert");
  EXPECT_TRUE(connections_are(2 + 4, 2));
  end(load);
  const pid_t reads = start(
      "--rows 500 --workload insert,point-read --seconds 600 --engine-option schema=of_reads");
  EXPECT_TRUE(connections_are(1 + 2, 1 + 2));
  end(reads);
}

TEST_F(SeveralAddressesTest, TheResultsNameAllAddresses) {
  StartServer("--skip-networking --init-file=" + (directory_ / "users.sql").string());
  const std::string socket = (directory_ / "socket").string(), other = socket + "_2";
  std::filesystem::create_symlink(socket, other);
  const std::string url = "mysql://me@localhost/?socket=" + socket + "&socket=" + other;
  const CommandResult run =
      Run("--engine mysql --io direct --page-size 16k --durability sync --rows 500 --threads 2 "
          "--workload insert,mixed --mix insert=1 --operations 50 --warmup 0 --verify all "
          "--account off --json out.json --connect '" +
              url + "'",
          "MYSQL_PWD=right");
  ASSERT_EQ(run.code, 0) << run.err;
  const nlohmann::json document = Json("out.json");
  EXPECT_EQ(document["options"]["engine_options"]["connect"], url);
  EXPECT_NE(document["runs"][0].dump().find(socket + ", " + other), std::string::npos);
}

// The second address is that of a relay, which is cut while both clients insert. The row whose
// insert got no answer is there or not, and all others are.
TEST_F(SeveralAddressesTest, ClientsOfALostAddressGoOnWhereTheUserWantsIt) {
  StartServer("--skip-networking --init-file=" + (directory_ / "users.sql").string());
  const std::string socket = (directory_ / "socket").string(), other = socket + "_2";
  Relay relay(other, socket);
  const pid_t run = Start(
      "--engine mysql --io direct --page-size 16k --durability sync --rows 500 --value-size 4000 "
      "--threads 2 --workload insert,mixed,point-read --mix insert=1 --operations 1000 --warmup 0 "
      "--verify none --account off --json out.json --engine-option lost_address=next "
      "--connect 'mysql://me@localhost/?socket=" +
          socket + "&socket=" + other + "'",
      "env MYSQL_PWD=right");
  EXPECT_TRUE(BecomesWhileItRuns(run, [&] { return relay.to_server() > 400'000; }));
  relay.Cut();
  int status = 0;
  ::waitpid(run, &status, 0);
  ASSERT_EQ(status, 0);
  std::map<std::string, nlohmann::json> phases;
  const nlohmann::json document = Json("out.json");
  for (const nlohmann::json& phase : document["runs"][0]["phases"]) {
    phases[phase["name"].get<std::string>()] = phase;
  }
  const nlohmann::json &mixed = phases["mixed"], &reads = phases["point-read"];
  ASSERT_EQ(mixed["unanswered"].size(), 1u);
  EXPECT_EQ(mixed["unanswered"][0]["count"], 1);
  EXPECT_EQ(mixed["count"], 999);
  EXPECT_FALSE(mixed.contains("rows_inserted"));
  EXPECT_FALSE(reads.contains("unanswered"));
  ASSERT_EQ(mixed["addresses"].size(), 2u);
  ASSERT_EQ(reads["addresses"].size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(mixed["addresses"][i]["threads"], 1);
    EXPECT_EQ(mixed["addresses"][i]["unanswered"], i);
    EXPECT_EQ(mixed["addresses"][i]["count"], 500 - i);
    EXPECT_EQ(mixed["account"]["addresses"][i].contains("engine"), i == 0);
    EXPECT_EQ(mixed["account"]["addresses"][i].contains("lost"), i == 1);
    EXPECT_EQ(reads["addresses"][i]["count"], 500);
  }
  const int rows = phases["count-rows"]["rows"].get<int>();
  EXPECT_TRUE(rows == 1499 || rows == 1500) << rows;
  const std::string report = Run("report out.json").out;
  EXPECT_NE(report.find("! mixed, 2 thr: operations without an answer"), std::string::npos)
      << report;
}

TEST_F(SeveralAddressesTest, ASentenceNamesTheAddressThatDoesNotFit) {
  StartServer("--skip-networking --init-file=" + (directory_ / "users.sql").string());
  const std::string one =
      "mysql://me@localhost/?socket=" + (directory_ / "socket").string() + "&socket=";
  ExpectRefused(Load("mysql", one + "/nowhere", "right"),
                "mysql cannot connect to the server at /nowhere: ");
  // The server of another run lets in everybody, and has other pages.
  const std::string other = (directory_ / "db/db/cluster/mysqld.sock").string();
  const pid_t run = Start(
      "--engine mysql --ram 256M --page-size 8k --rows 3000000 --workload insert --quiet "
      "--durability sync --dir db");
  EXPECT_TRUE(Becomes([&] { return std::filesystem::exists(directory_ / "db/db/testbed-mysql"); }));
  ExpectRefused(Load("mysql", one + other, "right"),
                "mysql cannot honour --page-size 16384: the server at " + other +
                    " has innodb_page_size = 8192; give --page-size 8192");
  ::kill(run, SIGKILL);
  ::waitpid(run, nullptr, 0);
}
#endif

}  // namespace
}  // namespace testbed

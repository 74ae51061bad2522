// Tests runs on a server that runs already (--connect) and lets nobody in without a password, or
// without TLS: what it refuses is one sentence, and nothing is left behind.
#include "tests/cli/servers/given_server.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace testbed {
namespace {

namespace fs = std::filesystem;

#ifdef TESTBED_HAVE_MYSQL
TEST_F(GivenMariadbTest, AWrongPasswordAndAMissingTlsAreOneSentence) {
  const std::string port = std::to_string(FreePort());
  StartServer("--bind-address=127.0.0.1 --require-secure-transport=ON --port=" + port +
              " --init-file=" + (directory_ / "users.sql").string());
  const std::string socket = "mysql://me@localhost/?socket=" + (directory_ / "socket").string();
  const std::string tcp = "mysql://me@127.0.0.1:" + port + "/";
  ExpectRefused(Load("mysql", socket, "wrong"), "the password is taken from MYSQL_PWD");
  ExpectRefused(Load("mysql", tcp, "right"), "add ?tls=on to the URL");
  // This server requires TLS and has no certificate for it.
  ExpectRefused(Load("mysql", tcp + "?tls=on", "right"), "(1045)");
  // A Unix socket is as good as TLS.
  const CommandResult good = Load("mysql", socket, "right");
  EXPECT_EQ(good.code, 0) << good.err;
}

// What the server does not do must not be reported as in force, be it weaker or stronger.
TEST_F(GivenMariadbTest, ADurabilityThatIsNotTheServersIsRefused) {
  StartServer("--skip-networking --innodb-flush-log-at-timeout=1 --init-file=" +
              (directory_ / "users.sql").string());
  const std::string url = "mysql://me@localhost/?socket=" + (directory_ / "socket").string();
  for (const std::string durability : {"lazy", "none"}) {
    ExpectRefused(
        Load("mysql", url, "right", durability),
        "--durability " + durability +
            ": the server has innodb_flush_log_at_trx_commit = 1; give --durability sync");
  }
  const CommandResult good = Load("mysql", url, "right", "sync");
  EXPECT_EQ(good.code, 0) << good.err;
}

// The server refuses a checkpoint to this user. The run went on at once, and said that its rows
// outlive a power cut, while the server had not synced the last of them.
TEST_F(GivenMariadbTest, WithoutACheckpointLazyCommitsAreAwaited) {
  std::ofstream(directory_ / "few.sql") << "CREATE USER me@'%' IDENTIFIED BY 'right';\n"
                                        << "GRANT ALL ON other.* TO me@'%';\n";
  StartServer(
      "--skip-networking --innodb-flush-log-at-trx-commit=2 --innodb-flush-log-at-timeout=1 "
      "--init-file=" +
      (directory_ / "few.sql").string());
  const CommandResult result =
      Run("--engine mysql --io direct --page-size 16k --durability lazy --lazy-interval 1000 "
          "--rows 500 --workload insert --account off --quiet --json out.json --engine-option "
          "schema=other --connect 'mysql://me@localhost?socket=" +
              (directory_ / "socket").string() + "'",
          "MYSQL_PWD=right");
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json run = Json("out.json")["runs"][0];
  EXPECT_EQ(run["engine"]["effective"]["checkpoints"], "not allowed to this user");
  const nlohmann::json& settle = run["phases"][1];
  ASSERT_EQ(settle["name"], "settle");
  EXPECT_GE(settle["seconds"].get<double>(), 1.9);
}

// After a power cut the server would roll back what its binary log lacks.
TEST_F(GivenMariadbTest, ABinaryLogThatIsNotSyncedIsNoSyncOfCommits) {
  StartServer("--skip-networking --log-bin --sync-binlog=0 --init-file=" +
              (directory_ / "users.sql").string());
  const std::string url = "mysql://me@localhost/?socket=" + (directory_ / "socket").string();
  ExpectRefused(Load("mysql", url, "right", "sync"),
                "--durability sync: the server has sync_binlog = 0; give that server "
                "sync_binlog = 1");
}

// A run may be killed when it has made its database, and no table in it yet.
TEST_F(GivenMariadbTest, ADatabaseThatIsTestbedsAndHasNoTableIsMadeAnew) {
  std::ofstream(directory_ / "made.sql")
      << Read(directory_ / "users.sql") << "CREATE DATABASE cut_short COMMENT 'testbed';\n"
      << "CREATE DATABASE filled COMMENT 'testbed';\n"
      << "CREATE TABLE filled.t (a INT);\n"
      << "CREATE DATABASE theirs;\n";
  StartServer("--skip-networking --init-file=" + (directory_ / "made.sql").string());
  const std::string url = "mysql://me@localhost?socket=" + (directory_ / "socket").string();
  for (const std::string schema : {"filled", "theirs"}) {
    ExpectRefused(Load("mysql", url, "right", "sync", schema), schema + " of the server is not");
  }
  const CommandResult good = Load("mysql", url, "right", "sync", "cut_short");
  EXPECT_EQ(good.code, 0) << good.err;
}

// Once, the engine's options were tried on an empty database, which the server refused in that
// place.
TEST_F(GivenMariadbTest, ADatabaseOfAGivenServerIsReused) {
  StartServer("--skip-networking --init-file=" + (directory_ / "users.sql").string());
  const std::string run =
      "--engine mysql --io direct --page-size 16k --durability sync --rows 500 "
      "--account off --quiet --dir d --connect 'mysql://me@localhost?socket=" +
      (directory_ / "socket").string() + "' ";
  const CommandResult load = Run(run + "--workload insert", "MYSQL_PWD=right");
  ASSERT_EQ(load.code, 0) << load.err;
  const CommandResult reuse = Run(
      run + "--reuse --workload mixed --mix insert=1 --operations 50 --warmup 0 --json reuse.json",
      "MYSQL_PWD=right");
  ASSERT_EQ(reuse.code, 0) << reuse.err;
  EXPECT_EQ(Json("reuse.json")["runs"][0]["database"]["rows"], 550);
  ExpectRefused(Run(run + "--reuse --workload point-read", "MYSQL_PWD=wrong"),
                "the password is taken from MYSQL_PWD");
}

// Once, the engine's options were tried without --fresh, and so refused what the run would have
// replaced.
TEST_F(GivenMariadbTest, FreshReplacesTheDatabaseOfAGivenServer) {
  StartServer("--skip-networking --init-file=" + (directory_ / "users.sql").string());
  const std::string run =
      "--engine mysql --io direct --page-size 16k --durability sync --workload insert --account "
      "off --quiet --json out.json --connect 'mysql://me@localhost?socket=" +
      (directory_ / "socket").string() + "' ";
  const CommandResult load = Run(run + "--rows 500 --dir d", "MYSQL_PWD=right");
  ASSERT_EQ(load.code, 0) << load.err;
  ExpectRefused(Run(run + "--rows 400 --dir e", "MYSQL_PWD=right"),
                "give --fresh to replace it, or --engine-option schema=NAME");
  int rows = 400;
  for (const std::string dir : {"d", "e"}) {  // its own directory, and another one
    const CommandResult anew =
        Run(run + "--rows " + std::to_string(rows) + " --fresh --dir " + dir, "MYSQL_PWD=right");
    ASSERT_EQ(anew.code, 0) << anew.err;
    EXPECT_EQ(Json("out.json")["runs"][0]["database"]["rows"], rows);
    --rows;
  }
}

// A host that the network no longer reaches never answers, and never ends the connection. The
// kernel asks it from time to time, and the connection that holds the schema's lock rests.
TEST_F(GivenMariadbTest, AConnectionThatRestsAsksWhetherItsHostIsThere) {
  const unsigned port = FreePort();
  StartServer("--bind-address=127.0.0.1 --port=" + std::to_string(port) +
              " --init-file=" + (directory_ / "users.sql").string());
  const pid_t run = Start(
      "--engine mysql --io direct --page-size 16k --durability sync --rows 3000000 --workload "
      "insert --account off --quiet --connect mysql://me@127.0.0.1:" +
          std::to_string(port) + "/",
      "env MYSQL_PWD=right");
  // A line has the local and the remote address, the state, two queues, and the timer that runs,
  // with the time to it in hundredths of a second (proc_net_tcp).
  const auto asks = [&] {
    std::istringstream lines(Read("/proc/net/tcp"));
    for (std::string line; std::getline(lines, line);) {
      unsigned remote = 0, state = 0, timer = 0;
      unsigned long time = 0;
      if (std::sscanf(line.c_str(), " %*u: %*x:%*x %*x:%x %x %*x:%*x %x:%lx", &remote, &state,
                      &timer, &time) != 4) {
        continue;
      }
      if (remote == port && state == 1 && timer == 2 && time <= 3000) return true;
    }
    return false;
  };
  EXPECT_TRUE(Becomes(asks));
  ::kill(run, SIGKILL);
  ::waitpid(run, nullptr, 0);
}

// A thread of a pool serves many connections, and one behind TCP may be another machine's. Such
// operations seemed to have read and written no blocks.
TEST_F(GivenMariadbTest, AServerWhoseThreadsCannotBeFollowedIsSaidToChargeNoOperation) {
  StartServer("--thread-handling=pool-of-threads --skip-networking --init-file=" +
              (directory_ / "users.sql").string());
  const CommandResult run =
      Run("--engine mysql --io direct --page-size 16k --durability sync --rows 500 --workload "
          "insert --quiet --json out.json --connect 'mysql://me@localhost/?socket=" +
              (directory_ / "socket").string() + "'",
          "MYSQL_PWD=right");
  ASSERT_EQ(run.code, 0) << run.err;
  const nlohmann::json of_run = Json("out.json")["runs"][0];
  const auto charged = of_run["engine"]["effective"]["charged"].get<std::string>();
  EXPECT_TRUE(charged.starts_with("to no operation at ")) << charged;
  const nlohmann::json& accounting = of_run["accounting"];
  EXPECT_FALSE(accounting["kernel_account"].get<bool>());
  EXPECT_NE(accounting["missing"].dump().find("per operation kind and thread at the kernel level"),
            std::string::npos)
      << accounting["missing"];
  EXPECT_EQ(accounting["grade"], "C");
  EXPECT_NE(accounting["grade_reasons"].dump().find("blocks are charged to no operation at "),
            std::string::npos)
      << accounting["grade_reasons"];
  for (const nlohmann::json& phase : of_run["phases"]) {
    for (const nlohmann::json& cause : phase["account"]["causes"]) {
      EXPECT_FALSE(cause.contains("kernel")) << phase["name"] << " " << cause;
    }
    EXPECT_FALSE(phase["account"].contains("other_threads")) << phase["name"];
  }
}

// The client's library would go on without TLS.
TEST_F(GivenMariadbTest, TlsThatIsAskedForIsNotLeftOut) {
  const std::string port = std::to_string(FreePort());
  StartServer("--bind-address=127.0.0.1 --ssl=0 --port=" + port +
              " --init-file=" + (directory_ / "users.sql").string());
  const std::string tcp = "mysql://me@127.0.0.1:" + port + "/";
  ExpectRefused(Load("mysql", tcp + "?tls=on", "right"), "speaks no TLS");
  const CommandResult good = Load("mysql", tcp, "right");
  EXPECT_EQ(good.code, 0) << good.err;
}
#endif

// The server of another run gets a user with a password.
TEST_F(GivenServerTest, AWrongPasswordOfPostgresAndAMissingTlsAreOneSentence) {
  if (!HasEngine("postgres")) GTEST_SKIP() << "there is no PostgreSQL here";
  if (std::system("command -v psql >/dev/null") != 0) GTEST_SKIP() << "there is no psql here";
  server_ = Start("--engine postgres --ram 256M --rows 3000000 --workload insert --quiet --dir db");
  ASSERT_TRUE(Becomes([&] { return fs::exists(directory_ / "db/db/testbed-postgres"); }));
  const fs::path cluster = directory_ / "db/db/cluster";
  const auto sql = [&](const std::string& statement) {
    return std::system(("psql -qAtX -h " + cluster.string() + " -U testbed -d postgres -c \"" +
                        statement + "\" >/dev/null")
                           .c_str());
  };
  ASSERT_EQ(sql("CREATE ROLE me LOGIN SUPERUSER PASSWORD 'right'"), 0);
  const auto admit = [&](const std::string& how) {
    std::ofstream(cluster / "pg_hba.conf") << "local all testbed peer map=testbed\n" << how << "\n";
    ASSERT_EQ(sql("SELECT pg_reload_conf()"), 0);
  };
  const std::string url = "host=" + cluster.string() + " user=me dbname=postgres";
  admit("local all me scram-sha-256");
  // The server reads the file some time after it was told to.
  EXPECT_TRUE(Becomes([&] {
    return Load("postgres", url, "wrong").err.find("password authentication") != std::string::npos;
  }));
  ExpectRefused(Load("postgres", url, "wrong"), "the password is taken from PGPASSWORD");
  const CommandResult good = Load("postgres", url, "right");
  EXPECT_EQ(good.code, 0) << good.err;
  ASSERT_EQ(sql("ALTER SYSTEM SET fsync = off"), 0);
  ASSERT_EQ(sql("SELECT pg_reload_conf()"), 0);
  EXPECT_TRUE(Becomes([&] { return Load("postgres", url, "right").code == 2; }));
  for (const std::string durability : {"sync", "lazy"}) {
    ExpectRefused(Load("postgres", url, "right", durability),
                  "--durability " + durability + ": the server has fsync = off");
  }
  ASSERT_EQ(sql("ALTER SYSTEM RESET fsync"), 0);
  ASSERT_EQ(sql("SELECT pg_reload_conf()"), 0);
  EXPECT_TRUE(Becomes([&] { return Load("postgres", url, "right").code == 0; }));
  admit("hostssl all me all scram-sha-256");
  EXPECT_TRUE(Becomes([&] { return Load("postgres", url, "right").code == 2; }));
  ExpectRefused(Load("postgres", url, "right"), "no encryption");
}

}  // namespace
}  // namespace testbed

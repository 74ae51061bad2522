// Tests runs that start a server of their own: one command makes the whole run, and nothing of the
// server is left, however the run ends.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "tests/cli/started_command.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class ServerRunTest : public StartedCommandTest, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (!HasEngine(GetParam())) GTEST_SKIP() << "there is no " << GetParam() << " here";
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, ServerRunTest, testing::Values("postgres", "mysql"),
                         [](const auto& info) { return info.param; });

TEST_P(ServerRunTest, ReadsWhatItHasLoaded) {
  const CommandResult result =
      Run("--engine " + GetParam() +
          " --ram 256M --rows 5000 --workload insert,point-read,mixed --operations 2000 --warmup 0 "
          "--verify all --threads 2 --json out.json --quiet");
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json document = Json("out.json");
  const std::string text = document.dump();
  EXPECT_NE(
      text.find(GetParam() == "postgres" ? "\"shared_buffers\"" : "\"innodb_buffer_pool_size\""),
      std::string::npos);
  EXPECT_TRUE(Servers().empty());
  // The processor time of the server must count as the run's, and not as another program's.
  for (const nlohmann::json& phase : document["runs"][0]["phases"]) {
    if (phase["kind"] != "load") continue;
    const double cpu = phase["account"]["cpu_user_seconds"].get<double>() +
                       phase["account"]["cpu_system_seconds"].get<double>();
    EXPECT_GT(cpu / phase["count"].get<double>(), 20e-6) << "a statement of SQL takes longer";
  }
  // A read is one round trip, and each thread prepares its statement by one more.
  const nlohmann::json& causes = document["runs"][0]["phases"][2]["account"]["causes"];
  const auto read = std::find_if(causes.begin(), causes.end(), [](const nlohmann::json& cause) {
    return cause["name"] == "point-read";
  });
  ASSERT_NE(read, causes.end()) << causes;
  EXPECT_GE((*read)["wire"]["round_trips"], 2000);
  EXPECT_LE((*read)["wire"]["round_trips"], 2002);
  EXPECT_GT((*read)["wire"]["received_bytes"].get<double>() / 2000, 100) << "a value";
  EXPECT_NE(result.out.find("Between client and server"), std::string::npos) << result.out;
}

TEST_P(ServerRunTest, LeavesNoServerWhenItIsKilled) {
  CopyClusters();
  const pid_t process = Start("--engine " + GetParam() +
                              " --ram 256M --rows 3000000 --workload insert --quiet --dir db");
  ASSERT_TRUE(Becomes([&] { return fs::exists(directory_ / ("db/db/testbed-" + GetParam())); }));
  ASSERT_FALSE(Servers().empty());
  ::kill(process, SIGKILL);
  EXPECT_TRUE(Becomes([&] { return Servers().empty(); }, 20)) << "a server outlived its run";
  ::waitpid(process, nullptr, 0);
  for (const pid_t left : Servers()) ::kill(left, SIGKILL);
}

// The first phase is worth its time, so its figures must be in the results, which say what ended
// the second.
TEST_P(ServerRunTest, AServerThatIsKilledInTheSecondPhaseLeavesTheFirst) {
  CopyClusters();
  std::future<CommandResult> run = std::async(std::launch::async, [this] {
    return Run("--engine " + GetParam() +
               " --ram 256M --rows 3000 --workload insert,point-read --seconds 60 --warmup 0 "
               "--threads 2 --account off --report-interval 1 --dir db --json out.json");
  });
  const std::string err = directory_.string() + ".err";
  // A line tells of the phase once it has run for a second.
  EXPECT_TRUE(Becomes([&] { return Read(err).find("point-read: ") != std::string::npos; }, 60));
  for (const pid_t server : Servers()) ::kill(server, SIGKILL);
  const CommandResult result = run.get();
  EXPECT_EQ(result.code, 1) << result.err;
  const size_t sentence = result.err.find("testbed: ");
  ASSERT_NE(sentence, std::string::npos) << result.err;
  EXPECT_EQ(result.err.find('\n', sentence), result.err.size() - 1) << result.err;
  EXPECT_NE(result.err.find("the connection to the server in ", sentence), std::string::npos)
      << result.err;
  EXPECT_TRUE(Servers().empty());
  EXPECT_EQ(result.err.find("LOG:"), std::string::npos) << "this is no complaint: " << result.err;
  const nlohmann::json runs = Json("out.json")["runs"];
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_FALSE(runs[0].contains("error"));
  EXPECT_EQ(runs[0]["phases"][0]["name"], "insert");
  EXPECT_EQ(runs[0]["phases"][0]["count"], 3000);
  ASSERT_TRUE(runs[1].contains("error"));
  EXPECT_EQ(runs[1]["error"]["exit_code"], 1);
  EXPECT_TRUE(runs[1]["phases"].empty());
}

// A client that cannot connect, now or ever, must end the run, and not wait while the server lives.
TEST_P(ServerRunTest, AClientLibraryThatCannotBeLoadedIsOneSentence) {
  const std::string name = GetParam() == "postgres" ? "libpq.so.5" : "libmariadb.so.3";
  fs::create_directory(directory_ / "lib");
  std::ofstream(directory_ / "lib" / name) << "no library";
  const CommandResult result =
      Run("--engine " + GetParam() + " --ram 256M --rows 100 --workload insert --quiet --dir db",
          "LD_LIBRARY_PATH=" + (directory_ / "lib").string() + " timeout -k 1 60");
  ExpectRefused(result, name + ": apt-get install");
  EXPECT_TRUE(Servers().empty());
  EXPECT_FALSE(fs::exists(directory_ / "db/db/cluster"));
}

// What the environment says of other servers must not lead the run to them, nor change its own.
TEST_P(ServerRunTest, TheEnvironmentIsNotForItsOwnServer) {
  CopyClusters();
  const CommandResult result =
      Run("--engine " + GetParam() + " --ram 256M --rows 100 --workload insert --quiet",
          "PGHOSTADDR=127.0.0.1 PGPORT=1 PGDATABASE=other PGUSER=other PGREQUIREPEER=other "
          "PGCHANNELBINDING=require PGTARGETSESSIONATTRS=standby PGSSLMODE=require "
          "PGOPTIONS='-c default_transaction_read_only=on' MYSQL_UNIX_PORT=/nowhere "
          "MYSQL_TCP_PORT=1 MYSQL_PWD=other timeout -k 1 100");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(Servers().empty());
}

TEST_P(ServerRunTest, AServerThatRefusesItsRunIsOneSentence) {
  if (GetParam() != "postgres") GTEST_SKIP() << "MariaDB has no option that makes it refuse root";
  CopyClusters();
  const CommandResult result =
      Run("--engine postgres --ram 256M --rows 100 --workload insert --quiet "
          "--engine-option server_option=session_preload_libraries=nosuch",
          "timeout -k 1 60");
  ExpectRefused(result, "nosuch");
  EXPECT_TRUE(Servers().empty());
}

// The program of this server tells its id, makes no socket, and does not end.
TEST_P(ServerRunTest, AnInterruptEndsTheWaitForTheServer) {
  // A server of root runs as another user, who may not reach the directory of the tests.
  std::string made = (fs::temp_directory_path() / "server_run_test_XXXXXX").string();
  ASSERT_NE(::mkdtemp(made.data()), nullptr);
  const fs::path bin = made;
  fs::permissions(bin, fs::perms::all);
  for (const std::string name : {"postgres", "initdb", "mariadbd"}) {
    std::ofstream(bin / name) << "#!/bin/sh\n"
                              << "case \"$*\" in *--version) echo '"
                              << (name == "mariadbd" ? "mariadbd  Ver 10.11.19-MariaDB"
                                                     : "postgres (PostgreSQL) 15.20")
                              << "'; exit ;; esac\n"
                              << (name == "initdb" ? "exit 0\n"
                                                   : "echo $$ >$0.pid\nexec sleep 600\n");
    fs::permissions(bin / name, fs::perms::all);
  }
  const std::string program = GetParam() == "postgres" ? "postgres" : "mariadbd";
  const fs::path id = bin / (program + ".pid");
  const pid_t run = Start(
      "--engine " + GetParam() +
      " --ram 256M --rows 100 --workload insert --quiet --dir db --json out.json --engine-option " +
      (GetParam() == "postgres" ? "programs=" + bin.string()
                                : "program=" + (bin / "mariadbd").string()));
  EXPECT_TRUE(Becomes([&] { return Read(id).find('\n') != std::string::npos; }));
  const std::string server = Read(id).substr(0, Read(id).find('\n'));
  ::kill(run, SIGINT);
  int status = 0;
  const bool ended = Becomes([&] { return ::waitpid(run, &status, WNOHANG) == run; });
  EXPECT_TRUE(ended) << "the run waits for ever";
  if (!ended) {
    ::kill(run, SIGKILL);
    ::waitpid(run, &status, 0);
  }
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_TRUE(Becomes([&] { return State(server) == 'Z'; })) << "a server outlived its run";
  fs::remove_all(bin);
}

// A server knows its options by other spellings, too.
TEST_P(ServerRunTest, AnOptionOfTheServerThatTheRunDecidesIsRefusedInAnySpelling) {
  std::vector<std::string> options = {"loose_innodb_flush_log_at_trx_commit=0",
                                      "loose-innodb-flush-log-at-trx=0",
                                      "skip-innodb-doublewrite=1",
                                      "DATADIR=/nowhere",
                                      "innodb_log_file_buffering=ON",
                                      "innodb_file_per_table=0",
                                      "debug_no_sync=1",
                                      "log_bin=/nowhere/binlog"};
  if (GetParam() == "postgres") {
    options = {"FSYNC=off", "Synchronous-Commit=off", "debug_io_direct=data"};
  }
  for (const std::string& option : options) {
    ExpectRefused(Run("--engine " + GetParam() + " --engine-option server_option=" + option),
                  "server_option=" + option + ": the run's own options");
  }
}

// The blocks and the memory of such a server do not belong to the run, and must not be reported as
// the run's.
TEST_P(ServerRunTest, AServerThatRunsAlreadyIsNotCountedNorBounded) {
  if (GetParam() != "postgres") GTEST_SKIP() << "one server says it for both";
  CopyClusters();
  const pid_t process =
      Start("--engine postgres --ram 256M --rows 3000000 --workload insert --quiet --dir db");
  ASSERT_TRUE(Becomes([&] { return fs::exists(directory_ / "db/db/testbed-postgres"); }));
  const std::string run =
      "--engine postgres --rows 1000 --workload insert,point-read --operations 100 --ram 64M "
      "--read-iops 100000 --drop-caches --repeat 2 --quiet --json out.json "
      "--engine-option schema=other "
      "--engine-option 'connect=host=" +
      (directory_ / "db/db/cluster").string() + " user=testbed dbname=postgres'";
  const CommandResult result = Run(run), strict = Run(run + " --strict");
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  EXPECT_TRUE(Becomes([&] { return Servers().empty(); }, 20));
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json document = Json("out.json");
  ASSERT_EQ(document["not_in_force"].size(), 3u) << document["not_in_force"];
  EXPECT_EQ(document["not_in_force"][0]["option"], "ram");
  EXPECT_EQ(document["not_in_force"][1]["option"], "read-iops");
  EXPECT_EQ(document["not_in_force"][2]["option"], "drop-caches");
  const nlohmann::json& accounting = document["runs"][0]["accounting"];
  EXPECT_EQ(accounting["grade"], "C");
  EXPECT_NE(accounting["grade_reasons"].dump().find("connect"), std::string::npos);
  ExpectRefused(strict, "--ram cannot be enforced");
}

TEST_P(ServerRunTest, RefusesAPasswordAndWhatIsNoServer) {
  const std::string scheme = GetParam() == "postgres" ? "postgresql" : "mysql";
  const CommandResult password = Run(
      "--engine " + GetParam() + " --engine-option connect=" + scheme + "://me:secret@127.0.0.1/");
  ExpectRefused(password, "password");
  EXPECT_EQ(password.err.find("secret"), std::string::npos);
  ExpectRefused(
      Run("--engine " + GetParam() + " --cache-pct most --connect " + scheme + "://me@127.0.0.1/"),
      "--cache-pct most measures");
  std::vector<std::string> wrong = {"mysql://me:s3cret/@h/", "mysql://me:s3cret?@h/",
                                    "me:s3cret@h",           "mysql://me@h/?password=s3cret",
                                    "mysql://me@h:33o6/",    "mysql://me@h:4294970602/",
                                    "mysql://me@h/mine"};
  if (GetParam() == "postgres") {
    wrong = {"host=x user=me password = s3cret dbname=t", "host=x sslpassword=s3cret",
             "postgresql://h/?pass%77ord=s3cret", "host=x password='s3cret", "me:s3cret@h"};
  }
  for (const std::string& url : wrong) {
    SCOPED_TRACE(url);
    const CommandResult result =
        Run("--engine " + GetParam() + " --engine-option \"connect=" + url + "\"");
    ExpectRefused(result, "--engine-option connect");
    EXPECT_EQ(result.err.find("s3cret"), std::string::npos) << result.err;
  }
  EXPECT_TRUE(DirectoryIsEmpty());
}

}  // namespace
}  // namespace testbed

// Fixtures of tests on a server that the run does not start (--connect), which lets in the user
// `me` with the password "right".
#ifndef TESTBED_TESTS_CLI_SERVERS_GIVEN_SERVER_H_
#define TESTBED_TESTS_CLI_SERVERS_GIVEN_SERVER_H_

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/started_command.h"
#include "tests/free_port.h"

namespace testbed {

class GivenServerTest : public StartedCommandTest {
 protected:
  void TearDown() override {
    if (server_ > 0) {
      ::kill(server_, SIGKILL);
      ::waitpid(server_, nullptr, 0);
    }
    // A server of a run ends some time after the run.
    EXPECT_TRUE(Becomes([&] { return Servers().empty(); }));
    StartedCommandTest::TearDown();
  }

  // Runs a load as `me`, with a password, on the server of the URL.
  CommandResult Load(const std::string& engine, const std::string& url, const std::string& password,
                     const std::string& durability = "sync", const std::string& schema = "other") {
    const bool mysql = engine == "mysql";
    return Run("--engine " + engine + (mysql ? " --io direct --page-size 16k" : "") +
                   " --durability " + durability +
                   " --rows 500 --workload insert --account off --quiet --engine-option "
                   "schema=" +
                   schema + " --connect '" + url + "'",
               (mysql ? "MYSQL_PWD=" : "PGPASSWORD=") + password);
  }

  pid_t server_ = 0;
};

#ifdef TESTBED_HAVE_MYSQL
class GivenMariadbTest : public GivenServerTest {
 protected:
  void SetUp() override {
    GivenServerTest::SetUp();
    if (!HasEngine("mysql")) GTEST_SKIP() << "there is no MariaDB here";
    const std::string tables = "/usr/share/mysql/mysql_system_tables.sql";
    if (!std::filesystem::exists(tables)) GTEST_SKIP() << "there is no " << tables;
    std::filesystem::create_directory(directory_ / "data");
    std::ofstream(directory_ / "boot.sql") << "CREATE DATABASE mysql;\nUSE mysql;\n"
                                           << Read(tables);
    std::ofstream(directory_ / "users.sql") << "CREATE USER me@'%' IDENTIFIED BY 'right';\n"
                                            << "GRANT ALL ON *.* TO me@'%';\n";
    const std::string boot = Mariadbd("--bootstrap") + " <boot.sql";
    ASSERT_EQ(std::system(("cd " + directory_.string() + " && " + boot).c_str()), 0)
        << Read(directory_ / "log");
  }

  // Returns the command of a server that writes to `log`. Its temporary files are its own: a server
  // that starts removes those of all servers in their directory.
  std::string Mariadbd(const std::string& options) const {
    const std::string in = directory_.string();
    return std::string("PATH=$PATH:/usr/sbin mariadbd --no-defaults --innodb-log-file-size=8M ") +
           (::geteuid() == 0 ? "--user=root " : "") +
           "--innodb-buffer-pool-size=16M --datadir=" + in + "/data --tmpdir=" + in +
           " --socket=" + in + "/socket " + options + " >>" + in + "/log 2>&1";
  }

  // Starts the server, and waits until it listens.
  void StartServer(const std::string& options) {
    const std::string command = "exec env " + Mariadbd(options);
    server_ = ::fork();
    if (server_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      ::_exit(127);
    }
    ASSERT_TRUE(Becomes([&] {
      return Read(directory_ / "log").find("ready for connections") != std::string::npos;
    })) << Read(directory_ / "log");
  }
};
#endif

}  // namespace testbed

#endif  // TESTBED_TESTS_CLI_SERVERS_GIVEN_SERVER_H_

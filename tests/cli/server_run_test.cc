// Tests runs that start a server of their own: one command makes the whole run, and nothing of the
// server is left, however the run ends.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
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
    EXPECT_GT(cpu / phase["count"].get<double>(), 50e-6) << "a statement of SQL takes longer";
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
  const pid_t process = Start("--engine " + GetParam() +
                              " --ram 256M --rows 3000000 --workload insert --quiet --dir db");
  ASSERT_TRUE(Becomes([&] { return fs::exists(directory_ / ("db/db/testbed-" + GetParam())); }));
  ASSERT_FALSE(Servers().empty());
  ::kill(process, SIGKILL);
  EXPECT_TRUE(Becomes([&] { return Servers().empty(); }, 20)) << "a server outlived its run";
  ::waitpid(process, nullptr, 0);
  for (const pid_t left : Servers()) ::kill(left, SIGKILL);
}

// The first phase is worth its time, so its figures must be in the results, which say what ended the
// second.
TEST_P(ServerRunTest, AServerThatIsKilledInTheSecondPhaseLeavesTheFirst) {
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

// The blocks and the memory of such a server do not belong to the run, and must not be reported as
// the run's.
TEST_P(ServerRunTest, AServerThatRunsAlreadyIsNotCountedNorBounded) {
  if (GetParam() != "postgres") GTEST_SKIP() << "one server says it for both";
  const pid_t process =
      Start("--engine postgres --ram 256M --rows 3000000 --workload insert --quiet --dir db");
  ASSERT_TRUE(Becomes([&] { return fs::exists(directory_ / "db/db/testbed-postgres"); }));
  const std::string run =
      "--engine postgres --rows 1000 --workload insert,point-read --operations 100 --ram 64M "
      "--quiet --json out.json --engine-option schema=other --engine-option 'connect=host=" +
      (directory_ / "db/db/cluster").string() + " user=testbed dbname=postgres'";
  const CommandResult result = Run(run), strict = Run(run + " --strict");
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  EXPECT_TRUE(Becomes([&] { return Servers().empty(); }, 20));
  ASSERT_EQ(result.code, 0) << result.err;
  const nlohmann::json document = Json("out.json");
  EXPECT_EQ(document["not_in_force"][0]["option"], "ram");
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
  EXPECT_TRUE(DirectoryIsEmpty());
}

}  // namespace
}  // namespace testbed

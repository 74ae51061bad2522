// Tests runs on the servers of MariaDB that are older than those of distributions, where they were
// fetched: each workload finds what was loaded, and a kill loses nothing.
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/started_command.h"

namespace testbed {
namespace {

class OldServerRunTest : public StartedCommandTest,
                         public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    for (const EngineInfo& info : Engines()) {
      if (info.name != "mysql") continue;
      for (const ServerChoice& server : info.servers()) {
        if (server.name == GetParam() && !server.program.empty()) return;
        if (server.name == GetParam()) GTEST_SKIP() << "`" << server.command << "` fetches it";
      }
    }
    GTEST_SKIP() << "this build has no mysql";
  }
  CommandResult RunOn(const std::string& words) {
    return Run("--engine mysql --server " + GetParam() +
               " --ram 256M --warmup 0 --threads 2 --account off --quiet " + words);
  }
};
INSTANTIATE_TEST_SUITE_P(Servers, OldServerRunTest,
                         testing::Values("mariadb@10.1.23", "mariadb@10.2.11"),
                         [](const testing::TestParamInfo<std::string>& info) {
                           return info.param == "mariadb@10.1.23" ? std::string("of_10_1")
                                                                  : std::string("of_10_2");
                         });

TEST_P(OldServerRunTest, FindsWhatItHasLoaded) {
  const CommandResult loaded = RunOn(
      "--rows 2000 --workload insert,settle,point-read,mixed --operations 500 --verify all "
      "--mix point-read=30,scan=20,insert=20,update=20,erase=10 --dir d --json out.json");
  ASSERT_EQ(loaded.code, 0) << loaded.err;
  const std::string release = GetParam().substr(GetParam().find('@') + 1) + "-MariaDB";
  EXPECT_NE(Read(directory_ / "out.json").find(release), std::string::npos);
  // The record of the database names the server.
  const CommandResult again =
      Run("--reuse --dir d --ram 256M --workload point-read --operations 500 --warmup 0 --verify "
          "all --account off --quiet");
  EXPECT_EQ(again.code, 0) << again.err;
  if (HasEngine("mysql")) {
    ExpectRefused(Run("--reuse --dir d --ram 256M --workload point-read --operations 5 --account "
                      "off --quiet --server mariadb"),
                  "give --server " + GetParam());
  }
  EXPECT_TRUE(Servers().empty());
}

// These workloads have secondary indexes, which an old server does not keep itself.
TEST_P(OldServerRunTest, RunsWorkloadsWithIndexes) {
  const CommandResult linkbench = RunOn(
      "--rows 500 --workload linkbench-load,linkbench,linkbench-check --seconds 0.5 --verify all "
      "--workload-option distribution=2011");
  EXPECT_EQ(linkbench.code, 0) << linkbench.err;
  const CommandResult inserts = RunOn(
      "--workload ib.i0,ib.x,settle --verify all --workload-option nr1=4000 "
      "--workload-option nr2=1000 --workload-option deletes=1 --workload-option "
      "query_seconds=1");
  EXPECT_EQ(inserts.code, 0) << inserts.err;
  EXPECT_TRUE(Servers().empty());
}

TEST_P(OldServerRunTest, KeepsWhatItAcknowledgedWhenItIsKilled) {
  const CommandResult result = Run("crashtest --engine mysql --server " + GetParam() +
                                   " --kills 2 --longest-ms 300 --writers 2 --quiet");
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_TRUE(Servers().empty());
}

}  // namespace
}  // namespace testbed

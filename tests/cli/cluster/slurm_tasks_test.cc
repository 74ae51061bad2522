// A run whose clients are the tasks of a step of a real Slurm, on two nodes.
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/cluster/slurm_cluster.h"
#include "tests/cli/servers/given_server.h"

namespace testbed {
namespace {

#ifdef TESTBED_HAVE_MYSQL
class SlurmTasksTest : public OnSlurm<GivenMariadbTest> {};

TEST_F(SlurmTasksTest, AStepIsOneRun) {
  StartServer("--skip-networking --init-file=" + (directory_ / "users.sql").string());
  // The nodes' names lead nowhere here.
  const CommandResult run =
      Run("--engine mysql --io direct --page-size 16k --durability sync --rows 500 --threads 1 "
          "--account off --quiet --workload insert,mixed --mix insert=1 --operations 200 "
          "--warmup 0 --verify all --json out.json --task slurm --task-address 127.0.0.1:" +
              std::to_string(FreePort()) +
              " --connect 'mysql://me@localhost/?socket=" + (directory_ / "socket").string() + "'",
          "MYSQL_PWD=right " + slurm_->Environment() + " " + *FindProgram("srun") +
              " --nodes=2 --ntasks=2 --ntasks-per-node=1");
  ASSERT_EQ(run.code, 0) << run.err << slurm_->Said();
  const nlohmann::json document = Json("out.json");
  EXPECT_EQ(document["runs"][0]["database"]["rows"], 700);
  EXPECT_EQ(document["options"]["tasks"], 2);
}
#endif

}  // namespace
}  // namespace testbed

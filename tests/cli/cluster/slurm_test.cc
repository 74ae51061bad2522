// An experiment on a real Slurm: three nodes, one of which dies in the middle.
#include <thread>

#include "tests/cli/cluster/slurm_cluster.h"
#include "tests/cli/cluster/small_sweep.h"

namespace testbed {
namespace {

class SlurmTest : public OnSlurm<SweepTest> {};

// Returns a host that has finished one of the two cells of a block; an empty string when there is
// none.
std::string InTheMiddle(const std::map<std::string, nlohmann::json>& cells) {
  std::map<std::string, std::set<std::string>> blocks;
  std::map<std::string, std::string> hosts;
  for (const auto& [name, document] : cells) {
    blocks[document["cell"]["block"]].insert(name);
    hosts[document["cell"]["block"]] = document["cell"]["host"];
  }
  for (const auto& [block, names] : blocks) {
    if (names.size() == 1) return hosts[block];
  }
  return "";
}

TEST_F(SlurmTest, ANodeThatDiesCostsNoCellAndChangesNoCount) {
  WriteSweep(2);
  const pid_t command = Start("experiment sweep.toml --on slurm:test --host-checks kind --out o",
                              "env " + slurm_->Environment());
  std::string dead;
  ASSERT_TRUE(Becomes([&] { return !(dead = InTheMiddle(Cells("o"))).empty(); }, 120))
      << slurm_->Said();
  slurm_->KillNode(dead);
  ASSERT_EQ(ExitCodeOf(command), 0) << slurm_->Said();

  // The block of the dead node is one of the first three, which the three nodes began with.
  const CommandResult local = Run("experiment sweep.toml --rounds 3 --quiet --out local");
  ASSERT_EQ(local.code, 0) << local.err;
  // Each cell is there once, as on one host.
  const std::map<std::string, nlohmann::json> counts = Counts("o"), of_local = Counts("local");
  EXPECT_EQ(counts.size(), 8u);
  EXPECT_EQ(of_local.size(), 6u);
  for (const auto& [cell, count] : of_local) EXPECT_EQ(counts.at(cell), count) << cell;
  // The cells of a block are of one host: what the dead one had measured of its block is set aside.
  std::set<std::string> hosts;
  for (const auto& [block, of_block] : HostsOfBlocks("o")) {
    EXPECT_EQ(of_block.size(), 1u) << block;
    hosts.insert(of_block.begin(), of_block.end());
  }
  EXPECT_GE(hosts.size(), 2u);
  EXPECT_EQ(FilesIn("o/set_aside"), 1u);
  EXPECT_EQ(FilesIn("o/claims"), 0u);
  // The same command has nothing to do.
  const CommandResult again = Run(
      "experiment sweep.toml --on slurm:test --host-checks kind --out o", slurm_->Environment());
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out.find("8 of 8 cells"), std::string::npos) << again.out;
}

TEST_F(SlurmTest, AnInterruptCancelsAndTheSameCommandGoesOn) {
  WriteSweep(2, 3);
  const std::string arguments = "experiment sweep.toml --on slurm --host-checks kind --out o";
  const pid_t command = Start(arguments, "env " + slurm_->Environment());
  ASSERT_TRUE(Becomes([&] { return Cells("o").size() >= 1; }, 120)) << slurm_->Said();
  ::kill(command, SIGINT);
  EXPECT_EQ(ExitCodeOf(command), 130);
  const size_t finished = Cells("o").size();
  EXPECT_LT(finished, 6u);
  // Nothing is left in the queue, and nothing goes on.
  EXPECT_EQ(
      RunProgram({"/usr/bin/env", slurm_->Environment(), *FindProgram("squeue"), "--noheader"}),
      "");
  std::this_thread::sleep_for(std::chrono::seconds(3));
  EXPECT_EQ(Cells("o").size(), finished);
  const CommandResult rest = Run(arguments, slurm_->Environment());
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(Cells("o").size(), 6u);
}

}  // namespace
}  // namespace testbed

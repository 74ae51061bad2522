// Which cells form a block, and what squeue tells of their tasks.
#include "tools/experiment/cluster/blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>

#include "engines/registry.h"
#include "tests/unit/tools/experiment/small_experiment.h"
#include "tools/experiment/cluster/slurm.h"

namespace testbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Cell> Planned(const std::vector<std::string>& split) {
  return PlanCells(Small(), {.scale = "full", .rounds = 2, .split = split});
}

TEST(BlocksTest, ARoundIsABlock) {
  const std::vector<Block> blocks = BlocksOf(Planned({}), ResultsDir("nowhere"));
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].key, "round-1");
  EXPECT_EQ(blocks[1].key, "round-2");
  EXPECT_EQ(blocks[0].cells.size(), 3u);  // the fourth is skipped
  EXPECT_EQ(blocks[0].left, 3u);
}

TEST(BlocksTest, SplitBlocksShareNoLoadAndHaveTheSameSeed) {
  const std::vector<Cell> together = Planned({}), split = Planned({"io"});
  std::map<std::string, std::set<std::string>> blocks_of_load;
  std::set<std::string> blocks;
  for (const Cell& cell : split) {
    if (!cell.runs()) continue;
    blocks.insert(cell.block);
    blocks_of_load[cell.load_key].insert(cell.block);
    for (const Cell& other : together) {
      if (other.name != cell.name || other.round != cell.round) continue;
      EXPECT_EQ(other.seed, cell.seed);
      EXPECT_EQ(other.load_options, cell.load_options);
      EXPECT_EQ(CellKey(other), CellKey(cell));
    }
  }
  EXPECT_EQ(blocks.size(), 4u);
  for (const auto& [load, of_load] : blocks_of_load) EXPECT_EQ(of_load.size(), 1u) << load;
  EXPECT_THAT(ErrorOf([] { Planned({"moon"}); }),
              HasSubstr("--split moon: experiment small has no"));
}

// What another host has measured stays when this one lacks the library for the rest.
TEST(BlocksTest, ABlockWhoseRestThisHostCannotRunIsNotBegunAnew) {
  EngineInfo absent = FindEngine("null");
  absent.name = "absent_in_block";
  absent.missing = [] { return std::string("absent needs its library"); };
  AddEngine(absent);
  std::string text = kSmall;
  text.replace(text.find("engine = \"btree\""), 16, "engine = \"absent_in_block\"");
  const Experiment e = ParseExperiment(text, "small.toml");
  const PlanOptions options{.scale = "full", .rounds = 1, .any_machine = true};
  const std::vector<Cell> cells = PlanCells(e, options);
  const std::string path = testing::TempDir() + "blocks_" + std::to_string(::getpid());
  std::filesystem::remove_all(path);
  ResultsDir dir(path);
  dir.CreateShared(e, options);
  ::setenv("SLURMD_NODENAME", "n1", 1);
  dir.WriteCell(cells[0], {{"schema", "testbed-results/1"}, {"runs", nlohmann::json::array()}});
  ::setenv("SLURMD_NODENAME", "n2", 1);
  testing::internal::CaptureStderr();
  const int code =
      RunCells(e, CellsOfKeys(cells, {"round-1"}, true), dir,
               {.run = {.quiet = true}, .checks = ParseHostChecks("none"), .whole_blocks = true});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("2 cells of block round-1 cannot run on n2: absent needs its library"));
  EXPECT_EQ(code, 1);
  EXPECT_EQ(dir.ReadCell(cells[0])["cell"]["host"], "n1");
  ::unsetenv("SLURMD_NODENAME");
  std::filesystem::remove_all(path);
}

TEST(BlocksTest, KeysChooseCells) {
  const std::vector<Cell> cells = Planned({});
  const std::vector<Cell> one = CellsOfKeys(cells, {CellKey(cells[1])}, false);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].name, cells[1].name);
  EXPECT_EQ(CellsOfKeys(cells, {"round-2"}, true).size(), 3u);
  EXPECT_THAT(ErrorOf([&] { (void)CellsOfKeys(cells, {"round-3"}, true); }),
              HasSubstr("--block round-3 is none of this experiment"));
}

TEST(SlurmTest, SqueueTellsTasks) {
  std::vector<std::string> ids;
  const ClusterTasks tasks = TasksOfSqueue(
      "12_0|RUNNING|n1|None\n12_1|COMPLETING|n2|None\n12_2|PENDING||Resources\n13_0|PENDING||"
      "Priority\n",
      &ids);
  EXPECT_EQ(tasks.running, 2u);
  EXPECT_EQ(tasks.waiting, 2u);
  EXPECT_THAT(tasks.hosts, ElementsAre("n1", "n2"));
  EXPECT_EQ(tasks.why_waiting, "Priority");
  EXPECT_THAT(ids, ElementsAre("12", "13"));
  EXPECT_TRUE(TasksOfSqueue("", &ids).none());
}

TEST(SlurmTest, WordsAreQuotedForAShell) {
  EXPECT_EQ(ShellCommand({"a b", "it's", "$x"}), "'a b' 'it'\\''s' '$x'");
}

}  // namespace
}  // namespace testbed

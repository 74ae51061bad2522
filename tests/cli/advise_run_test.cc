// Tests that `testbed advise` goes on where a round of finals was interrupted.
#include <sys/statfs.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/command.h"
#include "tools/experiment/plan/plan.h"
#include "tools/experiment/results_dir.h"

namespace testbed {
namespace {

using nlohmann::json;

using AdviseRunTest = CommandTest;

// Returns the document of a run with this rate.
json WithRate(double rate) {
  const json phase = {{"name", "point-read"}, {"kind", "measure"}, {"rate", rate}, {"count", 1000}};
  return {{"runs", {{{"accounting", {{"grade", "A"}}}, {"phases", {phase}}}}}};
}

// Once, the ways that had had their third round were the only finalists of that round.
TEST_F(AdviseRunTest, AFinalistThatWasNotMeasuredComesFirst) {
  PlanOptions options;
  options.rounds = 3;
  options.set = {{"engine", "null"}, {"ram", "64M"},  {"rows", "500"},
                 {"seconds", "0.1"}, {"warmup", "0"}, {"threads", "1"}};
  const Experiment e = LoadExperiment("advise");
  const std::vector<Cell> cells = PlanCells(e, options);
  Cell missing;
  {
    ResultsDir dir(directory_ / "adv");
    dir.Create(e, options);
    for (const Cell& cell : cells) {
      if (!cell.runs()) continue;
      dir.WriteCell(cell, WithRate(1000 + cell.round));
      if (cell.round == 3) missing = cell;
    }
    std::filesystem::remove(dir.CellFile(missing));
  }
  const std::string words =
      "advise --engine null --ram 64M --seconds 0.1 --threads 1 --set rows=500 --set warmup=0 "
      "--rounds 2 --most-rounds 3 --out adv";
  const CommandResult measured = Run(words);
  EXPECT_EQ(measured.code, 0) << measured.err;
  EXPECT_NE(measured.err.find("round 3 of at most 3"), std::string::npos) << measured.err;
  {
    // The result is put in place of that of a machine at rest: there is no advice when another
    // program holds the device's readahead, and what the run measured is no matter here. Its load,
    // which other ways share, says the same of the readahead, and the other rounds have none.
    const ResultsDir dir(directory_ / "adv");
    EXPECT_TRUE(dir.HasCell(missing)) << measured.err;
    dir.WriteCell(missing, WithRate(1003));
    std::filesystem::remove_all(directory_ / "adv/loads");
    std::filesystem::create_directory(directory_ / "adv/loads");
  }
  const CommandResult result = Run(words);
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.out.find("by 3 rounds"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("incomplete"), std::string::npos) << result.out;
}

// A database that is there has its page size, which --set cannot give: the axis sets it.
TEST_F(AdviseRunTest, WhatWasNotAskedForIsNotMissing) {
  const std::string words = "advise --engine null --ram 64M --seconds 0.1 --threads 1 --rounds 1 ";
  const CommandResult set = Run(words + "--set page-size=8k --out set");
  ExpectRefused(set, "choose among its values with --only page-size=LABEL");
  const CommandResult result =
      Run(words +
          "--set rows=500 --set warmup=0 --only page-size=8k --only 'reading=direct 50,"
          "buffered 20' --out adv");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_NE(result.err.find("advise: 2 cells to run"), std::string::npos) << result.err;
  EXPECT_EQ(result.out.find("not run yet"), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("incomplete"), std::string::npos) << result.out;
}

// Once, such commands loaded and measured for most of an hour, or failed in each way, before they
// said that there is no advice; or they left out the other engine without a word.
TEST_F(AdviseRunTest, WhatHasNoAnswerIsRefusedAtOnce) {
  const std::string words = "advise --engine null --out adv ";
  for (const char* loads : {"insert", "insert,settle"}) {
    ExpectRefused(Run(words + "--workload " + loads), "--workload names nothing there");
  }
  // Once, all ways had the rate that was set, and none could be told from the best.
  for (const char* paced :
       {"--set rate=500", "--workload 'insert,point-read @ 500'", "--set 'find-rate=p99 < 5ms'"}) {
    ExpectRefused(Run(words + paced), "advise tells ways apart by the rate that clients reach");
  }
  ExpectRefused(Run(words + "--workload point-read"),
                "--workload point-read needs a loaded database; begin with insert");
  ExpectRefused(Run(words + "--set engine=btree"),
                "--set engine=btree and --engine are the same option");
  // Once, ways with other shares of the memory all had this cache, and the other size had no
  // effect.
  ExpectRefused(Run(words + "--set cache-size=16M"),
                "--set cache-size: the axis reading of experiment advise sets cache-pct, and both "
                "decide the size of the engine's cache; choose among its values with --only "
                "reading=LABEL");
  // Once, the mix put a workload of its own in the place of this one.
  ExpectRefused(Run(words + "--mix point-read=1,update=1 --set workload=insert,point-read"),
                "--mix belongs to --workload mixed");
  ExpectRefused(Run(words + "--db-ratio 2 --set rows=500"),
                "--rows and --db-ratio both decide how many rows there are");
  ExpectRefused(Run("advise --engine null,btree"), "advice is for one engine");
  ExpectRefused(Run(words + "--ram 0"), "--ram 0 is not accepted; it takes a size from 1M");
  EXPECT_TRUE(DirectoryIsEmpty());
}

// Once, this was said after all measurements. A tmpfs has no device whose readahead could be set.
TEST_F(AdviseRunTest, ThatThereWillBeNoAdviceIsSaidFirst) {
  struct statfs about {};
  constexpr long kTmpfs = 0x01021994;
  if (::statfs("/dev/shm", &about) != 0 || about.f_type != kTmpfs) GTEST_SKIP() << "no tmpfs";
  const std::string out = "/dev/shm/testbed_advise_" + std::to_string(::getpid());
  const CommandResult result =
      Run("advise --engine null --ram 64M --seconds 0.1 --threads 1 --rounds 1 --set rows=500 "
          "--set warmup=0 --read-iops 3000 --only page-size=8k --only 'reading=direct 50' --out " +
          out);
  std::filesystem::remove_all(out);
  const size_t said = result.err.find("advise: there will be figures and no advice, because ");
  ASSERT_NE(said, std::string::npos) << result.err;
  EXPECT_NE(result.err.find("--readahead: no block device", said), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("--read-iops: the database's file system has no block device", said),
            std::string::npos)
      << result.err;
}

}  // namespace
}  // namespace testbed

// Cells and blocks that processes run beside each other into one results directory.
#include <signal.h>

#include <algorithm>
#include <optional>

#include "device/os/child_process.h"
#include "device/os/sys_file.h"
#include "tests/cli/cluster/small_sweep.h"
#include "tests/cli/results/explained_columns.h"
#include "tools/experiment/cluster/claim.h"

namespace testbed {
namespace {

class CellsTest : public SweepTest {
 protected:
  // Returns the words in the lines of a listing that begin with `word`.
  std::vector<std::string> Keys(const std::string& arguments, const std::string& word) {
    const CommandResult list = Run(arguments);
    EXPECT_EQ(list.code, 0) << list.err;
    std::vector<std::string> keys;
    for (const std::string& line : SplitLines(list.out)) {
      const std::vector<std::string> words = SplitWords(line);
      if (!words.empty() && words[0].starts_with(word)) keys.push_back(words[0]);
    }
    return keys;
  }
};

const char kNoChecks[] = " --host-checks none --quiet";

TEST_F(CellsTest, EachColumnOfAListOfCellsIsExplained) {
  WriteSweep(0.2);
  const std::string list = Run("experiment cells sweep.toml --rounds 1").out;
  for (const std::string title : {"Cells", "Blocks, whose cells stay on one host"}) {
    EXPECT_EQ(PrintedColumns(list, title), ExplainedColumns(title)) << list;
  }
}

TEST_F(CellsTest, EachCellRunsByItsKeyAndCountsAsInTheWholeExperiment) {
  WriteSweep(0.2);
  const std::vector<std::string> keys =
      Keys("experiment cells sweep.toml --rounds 1", "page-size=");
  ASSERT_EQ(keys.size(), 2u);
  for (const std::string& key : keys) {
    const CommandResult one =
        Run("experiment run sweep.toml --rounds 1 --out o --cell " + key + kNoChecks);
    EXPECT_EQ(one.code, 0) << one.err;
    EXPECT_TRUE(std::filesystem::exists(directory_ / "o/cells" / (key + ".json"))) << key;
  }
  EXPECT_EQ(Cells("o").size(), 2u);
  ASSERT_EQ(Run("experiment sweep.toml --rounds 1 --quiet --out local").code, 0);
  EXPECT_EQ(Counts("o"), Counts("local"));
  // The whole experiment has nothing to do, and no claim, database or lock is in its way.
  const CommandResult whole = Run("experiment sweep.toml --rounds 1 --quiet --out o");
  EXPECT_EQ(whole.code, 0) << whole.err;
  EXPECT_NE(whole.out.find("2 of 2 cells"), std::string::npos) << whole.out;
  EXPECT_EQ(FilesIn("o/claims") + FilesIn("o/databases"), 0u);
  ASSERT_EQ(
      Run("experiment sweep.toml --rounds 1 --quiet --out o --fresh --set operations=10").code, 0);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "o/hosts"));
}

TEST_F(CellsTest, TwoProcessesDoEachCellOnce) {
  WriteSweep(1);
  const std::string blocks = "--block round-1 --block round-2";
  const pid_t other = Start("experiment run sweep.toml --rounds 2 --out o " + blocks + kNoChecks);
  const CommandResult mine =
      Run("experiment run sweep.toml --rounds 2 --out o " + blocks + kNoChecks);
  EXPECT_EQ(ExitCodeOf(other), 0);
  EXPECT_EQ(mine.code, 0) << mine.err;
  EXPECT_EQ(Cells("o").size(), 4u);
  // A result that came second would have been left away with a sentence.
  EXPECT_EQ(mine.err.find("its result counts"), std::string::npos) << mine.err;
}

TEST_F(CellsTest, AClaimOfALivingProcessHoldsAndThatOfADeadOneDoesNot) {
  WriteSweep(30);
  const std::string key = Keys("experiment cells sweep.toml --rounds 1", "page-size=4k").at(0);
  const std::string arguments =
      "experiment run sweep.toml --rounds 1 --out o --cell " + key + kNoChecks;
  const pid_t other = Start(arguments);
  // While the database is loaded, there is a claim on the load, too.
  ASSERT_TRUE(Becomes([&] { return FilesIn("o/loads") == 1 && FilesIn("o/claims") == 1; }));
  const CommandResult second = Run(arguments);
  EXPECT_EQ(second.code, 1) << second.err;
  EXPECT_NE(second.err.find("runs it now"), std::string::npos) << second.err;
  // For itself nobody has the directory meanwhile.
  ExpectRefused(Run("experiment sweep.toml --rounds 1 --quiet --out o"),
                "--out o is used by another");
  ::kill(other, SIGKILL);
  AwaitChild(other);
  ASSERT_TRUE(Becomes([&] { return Processes().empty(); }));
  EXPECT_EQ(FilesIn("o/claims"), 1u);
  WriteSweep(1);
  std::filesystem::rename(directory_ / "o", directory_ / "killed");
  // What it left is taken over: its claim, and the directory of its database.
  std::filesystem::create_directories(directory_ / "o");
  ASSERT_EQ(Run("experiment run sweep.toml --rounds 1 --out o --cell " + key + kNoChecks).code, 0);
  std::filesystem::remove(directory_ / "o/cells" / (key + ".json"));
  std::filesystem::copy(directory_ / "killed/claims", directory_ / "o/claims",
                        std::filesystem::copy_options::overwrite_existing);
  std::filesystem::copy(
      directory_ / "killed/databases", directory_ / "o/databases",
      std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  const CommandResult taken =
      Run("experiment run sweep.toml --rounds 1 --out o --cell " + key + kNoChecks);
  EXPECT_EQ(taken.code, 0) << taken.err;
  EXPECT_EQ(Cells("o").size(), 1u);
  EXPECT_EQ(FilesIn("o/claims") + FilesIn("o/databases"), 0u);
}

// Two processes whose cells share a load make one each. Once, the second of two that began at once
// replaced the document of the first one's load, so that the cells had the figures of another load.
TEST_F(CellsTest, ALoadThatAnotherProcessMakesNowKeepsItsKey) {
  WriteSweep(0.2);
  const std::string key = Keys("experiment cells sweep.toml --rounds 1", "page-size=4k").at(0);
  const std::string run = "experiment run sweep.toml --rounds 1 --out o --cell " + key + kNoChecks;
  ASSERT_EQ(Run(run).code, 0);
  const std::string load = Json("o/cells/" + key + ".json")["cell"]["load"];
  std::filesystem::remove(directory_ / "o/cells" / (key + ".json"));
  std::filesystem::remove(directory_ / "o/loads" / (load + ".json"));
  {
    const std::optional<Claim> other = Claim::Try(directory_ / "o/claims" / load);
    ASSERT_TRUE(other.has_value());
    const CommandResult mine = Run(run);
    EXPECT_EQ(mine.code, 0) << mine.err;
  }
  EXPECT_EQ(Json("o/cells/" + key + ".json")["cell"]["load"], load + ".2");
  EXPECT_TRUE(std::filesystem::exists(directory_ / "o/loads" / (load + ".2.json")));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "o/loads" / (load + ".json")));
  EXPECT_EQ(FilesIn("o/claims") + FilesIn("o/databases"), 0u);
}

// A process may end when its database is loaded and the document of the load is not written yet.
// Once, it went on with the cell after another host had made a load of the same key. The cell then
// had the figures of the other host's load.
TEST_F(CellsTest, ADatabaseIsNotTakenForTheOneThatTheDocumentOfAnotherLoadTellsOf) {
  WriteSweep(0.2);
  const std::string key = Keys("experiment cells sweep.toml --rounds 1", "page-size=4k").at(0);
  const std::string run =
      "experiment run sweep.toml --rounds 1 --out o --keep-databases --cell " + key + kNoChecks;
  ASSERT_EQ(Run(run).code, 0);
  const std::string load = Json("o/cells/" + key + ".json")["cell"]["load"];
  const std::string file = "o/loads/" + load + ".json";
  const auto load_of_cell = [&] {
    std::filesystem::remove(directory_ / "o/cells" / (key + ".json"));
    const CommandResult again = Run(run);
    EXPECT_EQ(again.code, 0) << again.err;
    return Json("o/cells/" + key + ".json")["cell"]["load"].get<std::string>();
  };
  EXPECT_EQ(load_of_cell(), load) << "the database that is there is not loaded again";
  nlohmann::json other = Json(file);
  other["host"] = "n2";
  std::ofstream(directory_ / file) << other.dump(1) << "\n";
  EXPECT_EQ(load_of_cell(), load + ".2");
  EXPECT_EQ(Json(file)["host"], "n2");
  EXPECT_EQ(load_of_cell(), load + ".2");
}

// Another host may run the block that this one had loaded a database for.
TEST_F(CellsTest, ADatabaseOfAnInterruptedBlockIsRemovedByTheNextBlock) {
  WriteSweep(3, 2);
  const std::string run = "experiment run sweep.toml --out o --databases d --block ";
  const pid_t first = Start(run + "round-1" + kNoChecks);
  ASSERT_TRUE(Becomes([&] { return FilesIn("o/loads") == 1; }));
  ::kill(first, SIGINT);
  EXPECT_EQ(ExitCodeOf(first), 130);
  ASSERT_EQ(FilesIn("d"), 1u) << "the load stays for the call that goes on with the block";
  const CommandResult next = Run(run + "round-2" + kNoChecks);
  EXPECT_EQ(next.code, 0) << next.err;
  EXPECT_EQ(FilesIn("d"), 0u);
}

TEST_F(CellsTest, ABlockThatGoesOnElsewhereBeginsAnewThere) {
  WriteSweep(0.2);
  const std::string key = Keys("experiment cells sweep.toml --rounds 1", "page-size=4k").at(0);
  const std::string run = "experiment run sweep.toml --rounds 1 --out o ";
  ASSERT_EQ(Run(run + "--cell " + key + kNoChecks, "SLURMD_NODENAME=n1").code, 0);
  const CommandResult other = Run(run + "--block round-1" + kNoChecks, "SLURMD_NODENAME=n2");
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_NE(other.err.find("1 cell of block round-1, measured on n1, is set aside"),
            std::string::npos)
      << other.err;
  EXPECT_EQ(HostsOfBlocks("o"),
            (std::map<std::string, std::set<std::string>>{{"round-1", {"n2"}}}));
  EXPECT_EQ(FilesIn("o/set_aside"), 1u);
  // Cells that are named by their keys may run on any host; the table says that a round is mixed.
  std::filesystem::remove(directory_ / "o/cells" / (key + ".json"));
  ASSERT_EQ(Run(run + "--cell " + key + kNoChecks, "SLURMD_NODENAME=n1").code, 0);
  EXPECT_NE(Run("findings o").out.find("cells of round 1 ran on n1, n2"), std::string::npos);
}

TEST_F(CellsTest, AHostOfAnotherKindIsRefused) {
  WriteSweep(0.2);
  const std::string run = "experiment run sweep.toml --rounds 1 --out o --block round-1 --quiet ";
  ASSERT_EQ(Run(run + "--host-checks kind").code, 0);
  nlohmann::json first = Json("o/hosts/first.json");
  first["host"] = "n0";
  first["kind"]["processor"] = "Another 9000";
  std::ofstream(directory_ / "o/hosts/first.json") << first;
  for (const auto& [name, document] : Cells("o")) {
    std::filesystem::remove(directory_ / "o/cells" / name);
  }
  const CommandResult refused = Run(run + "--host-checks kind");
  EXPECT_EQ(refused.code, 3) << refused.err;
  EXPECT_NE(refused.err.find("is refused: it is of another kind than n0"), std::string::npos)
      << refused.err;
  EXPECT_TRUE(Cells("o").empty());
  EXPECT_EQ(Run(run + "--host-checks none").code, 0);
}

TEST_F(CellsTest, ASplitMakesBlocksThatShareNoLoad) {
  WriteSweep(0.2);
  const std::string split = " sweep.toml --rounds 1 --split page-size --out o";
  const std::vector<std::string> blocks = Keys("experiment cells" + split, "round-");
  ASSERT_EQ(blocks.size(), 2u);
  for (const std::string& block : blocks) {
    ASSERT_EQ(Run("experiment run" + split + " --block " + block + kNoChecks).code, 0);
  }
  EXPECT_EQ(HostsOfBlocks("o").size(), 2u);
  ASSERT_EQ(Run("experiment sweep.toml --rounds 1 --quiet --out local").code, 0);
  EXPECT_EQ(Counts("o"), Counts("local"));
  EXPECT_NE(Run("findings o").out.find("2 of 2 cells"), std::string::npos);
  ExpectRefused(Run("experiment sweep.toml --rounds 1 --quiet --out o"), "another --split");
}

TEST_F(CellsTest, WhatIsNotAcceptedIsRefused) {
  WriteSweep(1);
  ExpectRefused(Run("experiment run sweep.toml"), "takes --cell KEY or --block KEY");
  ExpectRefused(Run("experiment run sweep.toml --cell a --block b"),
                "takes --cell KEY or --block KEY");
  ExpectRefused(Run("experiment run sweep.toml --cell a"), "--cell a is none of this experiment");
  ExpectRefused(Run("experiment run sweep.toml --block a"), "--block a is none of this experiment");
  ExpectRefused(Run("experiment sweep.toml --cell a"),
                "--cell is an option of testbed experiment run");
  ExpectRefused(Run("experiment cells sweep.toml --on slurm"), "--on is an option of");
  // Once, each of these options was taken, and nothing was written or removed.
  for (const std::string words : {"list", "show sweep.toml", "plan sweep.toml", "cells sweep.toml",
                                  "run sweep.toml --block round-1"}) {
    for (const char* option : {"--json f", "--csv f", "--fresh"}) {
      ExpectRefused(Run("experiment " + words + " " + option),
                    "is an option of testbed experiment NAME; leave it out of testbed experiment " +
                        words.substr(0, words.find(' ')));
    }
  }
  ExpectRefused(Run("experiment plan sweep.toml --keep-databases"), "--keep-databases is an");
  ExpectRefused(Run("experiment list read-size"), "testbed experiment takes list, show NAME");
  ExpectRefused(Run("experiment sweep.toml --on moon"), "--on moon is not accepted; it takes");
  ExpectRefused(Run("experiment sweep.toml --on slurm:"), "--on slurm: is not accepted; it takes");
  ExpectRefused(Run("experiment sweep.toml --sbatch time=1"),
                "--sbatch is an option of --on slurm");
  ExpectRefused(Run("experiment sweep.toml --on slurm --sbatch --time=1"), "without dashes");
  // By another name its tasks would not be known, and run on after the command's end.
  for (const std::string own : {"job-name=mine", "job-n=mine", "array=0-9", "oversubscribe"}) {
    ExpectRefused(Run("experiment sweep.toml --on slurm --sbatch " + own),
                  "--sbatch " + own + " is not accepted; testbed decides what sbatch gets as --");
  }
  ExpectRefused(Run("experiment sweep.toml --split moon"), "--split moon: experiment sweep has no");
  ExpectRefused(Run("experiment run sweep.toml --block round-1 --host-checks moon"),
                "--host-checks moon is not accepted");
  // The room is looked for where the databases will lie; there is none in /proc.
  ExpectRefused(Run("experiment sweep.toml --databases /proc/d"), "choose another --databases");
  ExpectRefused(Run("experiment run sweep.toml --block round-1 --databases /proc/d"),
                "choose another --databases");
  ExpectRefused(Run("experiment sweep.toml --set threads=1,2"), "threads 1,2 is a list: make it");
  ExpectRefused(Run("advise --engine null --threads 1,2"), "advice is for one number of clients");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "testbed-sweep-small"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "testbed-advise-null"));
}

}  // namespace
}  // namespace testbed

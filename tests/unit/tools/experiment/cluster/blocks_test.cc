// Tests which cells form a block, and what the programs that run them tell of their tasks.
#include "tools/experiment/cluster/blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engines/registry.h"
#include "tests/unit/tools/experiment/small_experiment.h"
#include "tools/experiment/cluster/claim.h"
#include "tools/experiment/cluster/cluster_options.h"
#include "tools/experiment/cluster/parallel.h"
#include "tools/experiment/cluster/slurm.h"
#include "tools/experiment/plan/cell_engine.h"

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

// Makes the engine "absent_in_block", whose library this machine lacks.
void AddAbsent() {
  const auto is_it = [](const EngineInfo& info) { return info.name == "absent_in_block"; };
  if (std::any_of(Engines().begin(), Engines().end(), is_it)) return;
  EngineInfo absent = FindEngine("null");
  absent.name = "absent_in_block";
  absent.missing = [] { return std::string("absent needs its library"); };
  AddEngine(absent);
}

// Makes the engine "served_in_block", of whose servers this machine has only the one that reads by
// direct IO, as it may have one release of mysql and lack another.
void AddServed() {
  const auto is_it = [](const EngineInfo& info) { return info.name == "served_in_block"; };
  if (std::any_of(Engines().begin(), Engines().end(), is_it)) return;
  EngineInfo served = FindEngine("null");
  served.name = "served_in_block";
  served.check_programs = [](const EngineOptions& options) {
    if (options.io != IoMode::kDirect) throw Error(Error::kUsage, "the server is not here");
  };
  AddEngine(served);
}

nlohmann::json Finished() {
  return {{"schema", "testbed-results/1"}, {"runs", nlohmann::json::array()}};
}

// A BegunBlockTest has the results of a block that several hosts share. This host has the name n2.
class BegunBlockTest : public testing::Test {
 protected:
  BegunBlockTest()
      : path_(testing::TempDir() + "begun_block_" + std::to_string(::getpid())), dir_(path_) {
    std::filesystem::remove_all(path_);
  }
  ~BegunBlockTest() override {
    ::unsetenv("SLURMD_NODENAME");
    std::filesystem::remove_all(path_);
  }
  void Plan(const std::string& text) {
    const PlanOptions options{.scale = "full", .rounds = 1, .any_machine = true};
    e_ = ParseExperiment(text, "small.toml");
    cells_ = PlanCells(e_, options);
    dir_.CreateShared(e_, options);
    ::setenv("SLURMD_NODENAME", "n1", 1);
  }
  // Runs the block on n2, and returns what that prints. The block must not be finished.
  std::string RunOnN2() {
    ::setenv("SLURMD_NODENAME", "n2", 1);
    testing::internal::CaptureStderr();
    const int code =
        RunCells(e_, CellsOfKeys(cells_, {"round-1"}, true), dir_,
                 {.run = {.quiet = true}, .checks = ParseHostChecks("none"), .whole_blocks = true});
    EXPECT_EQ(code, 1);
    return testing::internal::GetCapturedStderr();
  }
  std::string HostOfCell(size_t cell) { return dir_.ReadCell(cells_[cell])["cell"]["host"]; }

  const std::string path_;
  ResultsDir dir_;
  Experiment e_;
  std::vector<Cell> cells_;
};

// Once, each host that tried the block set aside what the host before it had measured, and failed
// like that host.
TEST_F(BegunBlockTest, ABlockWhoseRestHasFailedStaysOnItsHost) {
  Plan(kSmall);
  dir_.WriteCell(cells_[0], Finished());
  for (size_t cell : {1, 2}) {
    nlohmann::json run;
    run["error"] = {{"sentence", "no space left"}, {"exit_code", 1}};
    dir_.WriteFailure(cells_[cell], {{"schema", "testbed-results/1"}, {"runs", {run}}});
  }
  EXPECT_THAT(RunOnN2(), HasSubstr("block round-1 is not begun anew on n2: n1 has finished its "
                                   "other cells, and " +
                                   cells_[1].name + " failed on n1 (no space left), " +
                                   cells_[2].name + " failed on n1 (no space left); mend that"));
  EXPECT_EQ(HostOfCell(0), "n1");
  EXPECT_FALSE(std::filesystem::exists(path_ + "/set_aside"));
}

TEST_F(BegunBlockTest, ABlockWithCellsThatThisHostCannotRunStaysOnItsHost) {
  AddAbsent();
  std::string text = kSmall;
  text.replace(text.find("engine = \"btree\"\n"), 17, "");
  text.replace(text.find("[[axis]]"), 0,
               "[[axis]]\nname = \"engine\"\nvalues = [\"absent_in_block\", \"null\"]\n");
  text.erase(text.find("[[finding]]"));
  Plan(text);
  ASSERT_EQ(cells_[0].labels.at("engine"), "absent_in_block");
  dir_.WriteCell(cells_[0], Finished());
  EXPECT_THAT(RunOnN2(), HasSubstr("block round-1 is not begun anew on n2: n1 has finished " +
                                   cells_[0].name + ", which cannot run here: absent needs"));
  EXPECT_EQ(HostOfCell(0), "n1");
}

// What another host has measured stays when this one lacks the library for the rest.
TEST(BlocksTest, ABlockWhoseRestThisHostCannotRunIsNotBegunAnew) {
  AddAbsent();
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

// Once, a server that this machine lacks was taken for a wrong option: its cells were in no block.
TEST(BlocksTest, CellsWhoseServerIsElsewhereArePlannedForAnyMachineAndNamedHere) {
  AddServed();
  std::string text = kSmall;
  text.replace(text.find("engine = \"btree\""), 16, "engine = \"served_in_block\"");
  const Experiment e = ParseExperiment(text, "small.toml");
  PlanOptions options{.scale = "full", .rounds = 1};
  const auto runs = [](const std::vector<Cell>& cells) {
    return std::count_if(cells.begin(), cells.end(), [](const Cell& c) { return c.runs(); });
  };
  EXPECT_EQ(runs(PlanCells(e, options)), 2);  // those with direct IO
  options.any_machine = true;
  const std::vector<Cell> cells = PlanCells(e, options);
  EXPECT_EQ(runs(cells), 3);
  const std::vector<Cell> block = CellsOfKeys(cells, {"round-1"}, true);
  ASSERT_EQ(block.size(), 3u);
  for (const Cell& cell : block) {
    EXPECT_EQ(MissingHere(cell), cell.labels.at("io") == "direct" ? "" : "the server is not here");
  }
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

// Once, the tasks of a command without --only also ran what an earlier --only had chosen besides.
TEST(BlocksTest, TasksLeaveOutTheCellsOfAnEarlierChoice) {
  std::string directory = std::filesystem::current_path() / "blocks_test_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  ResultsDir results(directory + "/o");
  PlanOptions options{"full", {}, {}, {}};
  results.Create(Small(), options);
  const std::vector<Cell> cells = PlanCells(Small(), options);
  EXPECT_THAT(OnlyOf(cells, results), testing::IsEmpty());
  options.only["io"] = {"direct"};
  results.Create(Small(), options);
  EXPECT_THAT(OnlyOf(cells, results), ElementsAre("io=direct,buffered", "page-size=4k,big"));
  std::filesystem::remove_all(directory);
}

// Blocks on several hosts would load their databases into one schema of that server at once.
TEST(BlocksTest, AServerThatRunsAlreadyIsRefusedOnSeveralHosts) {
  for (const char* name : {"connect", "engine-option.connect"}) {
    std::vector<Cell> cells(2);
    cells[1].options = {{"engine", "mysql"}, {name, "mysql://me@db1/"}};
    ClusterOptions options;
    const auto refusal = [&] { return ErrorOf([&] { CheckGivenServers(options, cells); }); };
    for (const char* on : {"slurm", "slurm:nvme", "ssh:n1,n2"}) {
      options.on = on;
      EXPECT_THAT(refusal(), HasSubstr("--on " + options.on + " is not accepted with connect: "));
    }
    for (const char* on : {"", "ssh:n1"}) {
      options.on = on;
      EXPECT_EQ(refusal(), "no error") << on;
    }
    options.on = "slurm";
    cells[1].skipped = "for the test";
    EXPECT_EQ(refusal(), "no error") << "the cell does not run";
  }
}

// "auto" was half of the memory of the host where the command runs, such as a login node, without a
// word.
TEST(BlocksTest, TheMemoryThatAutoStandsForOnOtherHostsIsTold) {
  const auto note = [](const std::string& toml, const std::string& on,
                       std::optional<uint64_t> kept = std::nullopt) {
    const Experiment e = ParseExperiment(toml, "small.toml");
    PlanOptions plan;
    plan.scale = "full";
    plan.auto_ram = kept;
    ClusterOptions options;
    options.on = on;
    return MemoryNote(options, e, plan, PlanCells(e, plan));
  };
  const auto with = [](const std::string& part, const std::string& instead) {
    std::string changed = kSmall;
    changed.replace(changed.find(part), part.size(), instead);
    return changed;
  };
  EXPECT_EQ(note(kSmall, "slurm"), "");
  const std::string of_cells = with("ram = \"1G\"", "ram = \"auto\"");
  const std::string of_load = with("[load]\n", "[load]\nram = \"auto\"\n");
  for (const std::string& toml : {of_cells, of_load}) {
    SCOPED_TRACE(toml);
    EXPECT_THAT(note(toml, "slurm"), HasSubstr("small: ram = \"auto\" is "));
    EXPECT_THAT(note(toml, "ssh:n1"), HasSubstr("begin the experiment on one of them\n"));
    EXPECT_EQ(note(toml, ""), "");
    EXPECT_EQ(note(toml, "slurm", uint64_t{1} << 30), "");
  }
}

// Programs in the directory take the place of those on PATH.
class FirstOnPath {
 public:
  explicit FirstOnPath(const std::string& directory) {
    const char* const path = std::getenv("PATH");
    before_ = path != nullptr ? path : "/usr/bin:/bin";
    ::setenv("PATH", (directory + ":" + before_).c_str(), 1);
  }
  ~FirstOnPath() { ::setenv("PATH", before_.c_str(), 1); }
  FirstOnPath(const FirstOnPath&) = delete;
  FirstOnPath& operator=(const FirstOnPath&) = delete;

 private:
  std::string before_;
};

// The file of a claim stays when its process is killed, and its block counted as one that runs.
TEST(ParallelLauncherTest, TheClaimOfADeadProcessIsNoBlockThatRuns) {
  std::string directory = std::filesystem::current_path() / "parallel_test_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  for (const char* folder : {"/logs", "/claims"}) {
    std::filesystem::create_directory(directory + folder);
  }
  std::ofstream(directory + "/parallel") << "#!/bin/sh\nexec sleep 60\n";
  std::filesystem::permissions(directory + "/parallel", std::filesystem::perms::owner_all);
  const FirstOnPath first(directory);
  ParallelLauncher launcher(directory, {"n1"});
  launcher.Start({"testbed"}, {"round-1", "round-2"}, {});
  std::ofstream(directory + "/claims/round-1") << "of a dead process";
  EXPECT_EQ(launcher.Look().running, 0u);
  EXPECT_EQ(launcher.Look().waiting, 1u);
  {
    const std::optional<Claim> claim = Claim::Try(directory + "/claims/round-2");
    EXPECT_EQ(launcher.Look().running, 1u);
  }
  launcher.Cancel();
  EXPECT_TRUE(launcher.Look().none());
  std::filesystem::remove_all(directory);
}

// GNU parallel ends with a command that is killed, and the blocks that ran then go on. Blocks of
// the next command ran beside them on the same hosts.
TEST(ParallelLauncherTest, BlocksThatRunBeforeTheStartAreTasks) {
  std::string directory = std::filesystem::current_path() / "parallel_test_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  std::filesystem::create_directory(directory + "/claims");
  std::ofstream(directory + "/parallel") << "#!/bin/sh\nexit 0\n";
  std::filesystem::permissions(directory + "/parallel", std::filesystem::perms::owner_all);
  const FirstOnPath first(directory);
  ParallelLauncher launcher(directory, {"n1"});
  std::ofstream(directory + "/claims/round-2") << "of a dead process";
  const std::optional<Claim> load = Claim::Try(directory + "/claims/0123456789abcdef");
  EXPECT_TRUE(launcher.Look().none());
  {
    const std::optional<Claim> claim = Claim::Try(directory + "/claims/round-1-0123abcd");
    EXPECT_EQ(launcher.Look().running, 1u);
    ParallelLauncher other(directory, {"n1"});
    other.Cancel();
    EXPECT_TRUE(other.Look().none()) << "a command that is interrupted waits for no other";
  }
  EXPECT_TRUE(launcher.Look().none());
  std::filesystem::remove_all(directory);
}

// Once, a cancelled task got SIGTERM twice and SIGKILL within 350 ms, and its databases stayed on
// the host.
TEST(ParallelLauncherTest, ACancelledTaskHasTimeToEndInOrder) {
  std::string directory = std::filesystem::current_path() / "parallel_test_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  std::filesystem::create_directory(directory + "/logs");
  std::ofstream(directory + "/parallel") << "#!/bin/sh\necho \"$@\" >" << directory << "/words\n";
  std::filesystem::permissions(directory + "/parallel", std::filesystem::perms::owner_all);
  const FirstOnPath first(directory);
  ParallelLauncher launcher(directory, {"n1"});
  launcher.Start({"testbed"}, {"round-1"}, {});
  while (!launcher.Look().none()) ::usleep(1000);
  std::ifstream file(directory + "/words");
  std::string words;
  std::getline(file, words);
  EXPECT_THAT(words, HasSubstr(" --termseq TERM,30000,KILL,25 "));
  EXPECT_THAT(words, HasSubstr("; exec 'testbed' @block@ "))
      << "SIGKILL follows as soon as the process that GNU parallel has started ends: no shell";
  std::filesystem::remove_all(directory);
}

// Once, a refused host was known by the first part of its name alone, in the case in which it was
// given. With n.east, all hosts called n got no blocks, and N1 went on getting them.
TEST(ParallelLauncherTest, ARefusedHostIsTheOneOfItsDomainInWhateverCase) {
  std::string directory = std::filesystem::current_path() / "parallel_test_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  std::filesystem::create_directory(directory + "/logs");
  std::ofstream(directory + "/parallel") << "#!/bin/sh\nexit 0\n";
  std::filesystem::permissions(directory + "/parallel", std::filesystem::perms::owner_all);
  const FirstOnPath first(directory);
  // Returns the hosts that get blocks, by what the log says.
  const auto fit = [&](const std::vector<std::string>& hosts, const std::string& refused) {
    ParallelLauncher launcher(directory, hosts);
    launcher.Start({"testbed"}, {"round-1"}, {refused});
    std::ifstream log(launcher.LogOf("round-1"));
    std::string line;
    std::getline(log, line);
    while (!launcher.Look().none()) ::usleep(1000);
    return line.substr(line.find(", on ") + 5);
  };
  EXPECT_EQ(fit({"n.east", "n.west"}, "n.east"), "n.west");
  EXPECT_EQ(fit({"N1", "n2"}, "n1"), "n2");
  EXPECT_EQ(fit({"me@N1.lab", "n2.lab"}, "n1"), "n2.lab");
  EXPECT_EQ(fit({"n1", "n10"}, "n1.lab"), "n10");
  EXPECT_EQ(fit({"n1.lab", "n2.lab"}, "n1.internal"), "n2.lab") << "another domain than ssh's";
  EXPECT_THAT(ErrorOf([&] { fit({"n1"}, "N1.lab"); }), HasSubstr("every host that --on names"));
  std::filesystem::remove_all(directory);
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

// sbatch may print messages of the site and warnings before the job's number. The job is submitted
// all the same.
TEST(SlurmTest, SbatchTellsTheJobAmongMessages) {
  EXPECT_EQ(JobOfSbatch("12\n"), "12");
  EXPECT_EQ(JobOfSbatch("12;west\n"), "12");
  EXPECT_EQ(JobOfSbatch("sbatch: 40 nodes are free\nsbatch: warning: no time limit\n12\n"), "12");
  EXPECT_EQ(JobOfSbatch("sbatch: 40 nodes are free\n"), "");
  EXPECT_EQ(JobOfSbatch(""), "");
}

// The kernel accepts no word of more than 128 KiB, so a long list of blocks is submitted as several
// arrays. A site may refuse a later one; the earlier ones then run, and the sentence must say so.
TEST(SlurmTest, ALongListIsSeveralArraysAndThoseThatWereTakenAreTold) {
  std::string directory = std::filesystem::current_path() / "slurm_test_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  for (const char* name : {"sbatch", "squeue", "scancel"}) {
    const std::string program = directory + "/" + name;
    std::ofstream(program) << "#!/bin/sh\ncd " << directory
                           << "\necho >>calls\n[ $(wc -l <calls) -lt 3 ] && echo 7 && exit\n"
                           << "echo too many jobs\nexit 1\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  const FirstOnPath first(directory);
  SlurmLauncher launcher(directory, "", {});
  const std::vector<std::string> blocks(1500, std::string(149, 'b'));
  const std::string sentence = ErrorOf([&] { launcher.Start({"testbed"}, blocks, {}); });
  EXPECT_THAT(sentence, HasSubstr("too many jobs; the 1332 blocks before are submitted"));
  std::filesystem::remove_all(directory);
}

// sbatch accepts the beginning of an option's name, and takes the last --exclude alone. Once,
// blocks went to the hosts that the user had excluded, or to those that were refused.
TEST(SlurmTest, ExcludedHostsAndRefusedOnesAreOneOption) {
  std::string directory = std::filesystem::current_path() / "slurm_test_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  for (const char* name : {"sbatch", "squeue", "scancel"}) {
    const std::string program = directory + "/" + name;
    std::ofstream(program) << "#!/bin/sh\nfor word; do echo \"$word\" >>" << directory
                           << "/words; done\necho 7\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  const FirstOnPath first(directory);
  SlurmLauncher launcher(directory, "", {"exclud=n7", "exclude=n8", "time=1"});
  launcher.Start({"testbed"}, {"round-1"}, {"n1"});
  std::ifstream words(directory + "/words");
  std::vector<std::string> excludes;
  for (std::string word; std::getline(words, word);) {
    if (word.starts_with("--excl") && word != "--exclusive") excludes.push_back(word);
  }
  EXPECT_THAT(excludes, ElementsAre("--exclude=n1,n7,n8"));
  std::filesystem::remove_all(directory);
}

// A host that refuses a task is idle, and got the tasks that waited one after the other. scontrol
// changes those, and ends with an error where others of the array run.
TEST(SlurmTest, TasksThatWaitAreKeptFromARefusedHost) {
  std::string directory = std::filesystem::current_path() / "slurm_test_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  for (const std::string name : {"sbatch", "squeue", "scancel", "scontrol"}) {
    std::ofstream program(directory + "/" + name);
    program << "#!/bin/sh\n";
    if (name == "squeue") {
      program << "echo '12_0|RUNNING|n2|None'\necho '12_1|PENDING||None'\n"
              << "echo '13_0|PENDING||None'\n";
    } else {
      program << "echo \"$*\" >>" << directory << "/" << name << ".words\nexit 1\n";
    }
    program.close();
    std::filesystem::permissions(directory + "/" + name, std::filesystem::perms::owner_all);
  }
  const FirstOnPath first(directory);
  SlurmLauncher(directory, "", {"exclude=n8"}).Exclude({"n1"});
  std::ifstream words(directory + "/scontrol.words");
  std::vector<std::string> told;
  for (std::string line; std::getline(words, line);) told.push_back(line);
  EXPECT_THAT(
      told, ElementsAre("update JobId=12 ExcNodeList=n1,n8", "update JobId=13 ExcNodeList=n1,n8"));
  std::filesystem::remove_all(directory);
}

// With SQUEUE_STATES=RUNNING the tasks that wait seemed to have ended, and their blocks were
// submitted again.
TEST(SlurmTest, VariablesOfTheUserHideNoTask) {
  std::string directory = std::filesystem::current_path() / "slurm_test_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  for (const char* name : {"sbatch", "squeue", "scancel"}) {
    const std::string program = directory + "/" + name;
    std::ofstream(program) << "#!/bin/sh\n[ -z \"$SQUEUE_STATES\" ] && "
                           << "echo \"12_0|PENDING||$SBATCH_ACCOUNT\"\nexit 0\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  const FirstOnPath first(directory);
  ::setenv("SQUEUE_STATES", "RUNNING", 1);
  ::setenv("SBATCH_ACCOUNT", "mine", 1);
  const ClusterTasks tasks = SlurmLauncher(directory, "", {}).Look();
  ::unsetenv("SQUEUE_STATES");
  ::unsetenv("SBATCH_ACCOUNT");
  EXPECT_EQ(tasks.waiting, 1u);
  EXPECT_EQ(tasks.why_waiting, "mine") << "other variables are passed on";
  std::filesystem::remove_all(directory);
}

// With a slash at the end, as the shell completes a directory, the tasks of a command that was
// killed were not found: their blocks were submitted again, and called unfinished.
TEST(SlurmTest, TasksAreFoundByWhicheverPathTheResultsAreNamed) {
  std::string directory = std::filesystem::current_path() / "slurm_test_XXXXXX";
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  for (const char* name : {"sbatch", "squeue", "scancel"}) {
    const std::string program = directory + "/" + name;
    std::ofstream(program) << "#!/bin/sh\nfor word; do echo \"$word\" >>" << directory
                           << "/words; done\necho 7\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  const FirstOnPath first(directory);
  std::filesystem::create_directory(directory + "/results");
  std::filesystem::create_directory_symlink(directory + "/results", directory + "/link");
  for (const char* path : {"/results", "/results/", "/link", "/link/"}) {
    SlurmLauncher(directory + path, "", {}).Start({"testbed"}, {"round-1"}, {});
    (void)SlurmLauncher(directory + path, "", {}).Look();
  }
  std::ifstream words(directory + "/words");
  std::set<std::string> submitted, sought;
  for (std::string word; std::getline(words, word);) {
    if (word.starts_with("--job-name=")) submitted.insert(word.substr(11));
    if (word.starts_with("--name=")) sought.insert(word.substr(7));
  }
  EXPECT_EQ(submitted.size(), 1u);
  EXPECT_EQ(sought, submitted);
  std::filesystem::remove_all(directory);
}

TEST(SlurmTest, WordsAreQuotedForAShell) {
  EXPECT_EQ(ShellCommand({"a b", "it's", "$x"}), "'a b' 'it'\\''s' '$x'");
}

}  // namespace
}  // namespace testbed

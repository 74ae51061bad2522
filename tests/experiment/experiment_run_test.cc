// Tests whole experiments by the real program at their smallest scale, and what an interruption
// leaves.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/paths.h"
#include "tools/experiment/experiment.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

class ShippedTest : public CommandTest, public testing::WithParamInterface<std::string> {};

// Returns the words that leave out cells of the longest experiments: values of one axis. The
// nightly run leaves out none.
std::string LeavingOutCells(const std::string& experiment) {
  static const std::map<std::string, std::string> kSome = {
      {"concurrent-inserts", " --only durability=lazy"},
      {"log-writes", " --only write=buffered,direct-512,own"},
      {"read-size", " --only io=direct,mmap"}};
  const auto some = kSome.find(experiment);
  return some == kSome.end() || EveryWay() ? "" : some->second;
}

// Expects that every part of a finding was either judged by figures, or left out for a reason that
// the experiment states. No cell may be missing but those that --only left out (`some`), and the
// verdict must agree with its parts.
void ExpectJudged(const nlohmann::json& verdict, bool some) {
  size_t holding = 0, counted = 0;
  for (const nlohmann::json& part : verdict["parts"]) {
    const std::string outcome = part["outcome"];
    const bool judged = outcome == "holds in one round" || outcome == "does not hold in one round";
    const std::string because = part["because"];
    if (because.find("which does not run here") != std::string::npos) continue;
    if (some && outcome == "not measured yet") continue;
    EXPECT_THAT(outcome, testing::AnyOf("holds in one round", "does not hold in one round",
                                        "asked at another scale", "not measured at this scale",
                                        "withheld", "waits for an engine", "untestable"))
        << verdict["id"] << ": " << part["says"];
    if (!judged) continue;
    // Parts that were measured on a stand-in count only in a verdict that has no other parts.
    if (!part["stand_in"].get<std::string>().empty() &&
        verdict["on_stand_in"].get<std::string>().empty())
      continue;
    ++counted;
    holding += outcome == "holds in one round";
  }
  EXPECT_EQ(verdict["parts_holding"], holding) << verdict["id"];
  EXPECT_LE(counted, verdict["parts_counted"].get<size_t>()) << verdict["id"];
}

TEST_P(ShippedTest, RunsFromOneCommandAndJudgesEachFinding) {
  // On a scratch device a cell does not wait for the writes of other tests, and its account must
  // close. So experiments that do not ask for a scratch device get one here, and those that leave
  // its size open get a size for the tiny scale.
  const std::string& text = ShippedExperiments().at(GetParam());
  const bool sized = text.find("scratch = \"512M") != std::string::npos;
  const std::string some = LeavingOutCells(GetParam());
  const std::string command = "experiment " + GetParam() + " --scale tiny --quiet --out o" +
                              (sized ? "" : " --set scratch=900M") + some;
  const CommandResult result = Run(command + " --json v.json --csv t.csv");
  if (result.code == 1 && result.err.find("which --ram cannot tell here") != std::string::npos) {
    GTEST_SKIP() << "cells with --cache-pct most need a memory budget: " << result.err;
  }
  ASSERT_EQ(result.code, 0) << result.err << result.out;
  const Experiment e = LoadExperiment(GetParam());
  const nlohmann::json verdicts = Json("v.json");
  ASSERT_EQ(verdicts.size(), e.findings.size());
  for (size_t i = 0; i < e.findings.size(); ++i) {
    EXPECT_EQ(verdicts[i]["id"], e.findings[i].id);
    ExpectJudged(verdicts[i], !some.empty());
  }
  // On a scratch device with the kernel account, the account of every cell must close.
  for (const auto& entry : fs::directory_iterator(directory_ / "o/cells")) {
    const nlohmann::json cell = Json(fs::relative(entry.path(), directory_));
    for (const nlohmann::json& run : cell["runs"]) {
      const bool counted = run["accounting"]["kernel_account"] == true;
      if (!counted || cell["device"]["exclusive"] != true) continue;
      for (const nlohmann::json& phase : run["phases"]) {
        // A request may be under way at a border of phases that follow each other at once.
        if (phase["account"]["closure"]["at_rest"] != true) continue;
        for (const char* figure : {"reads", "read_bytes", "writes", "write_bytes"}) {
          EXPECT_EQ(phase["account"]["closure"][figure], 0)
              << cell["cell"]["name"] << " " << phase["name"] << " " << figure;
        }
      }
    }
  }
  EXPECT_EQ(Run("findings o").out, result.out);
  EXPECT_FALSE(Read(directory_ / "t.csv").empty());
  EXPECT_FALSE(fs::exists(directory_ / "o/databases"));
  // Finished cells must not run again.
  const CommandResult again = Run(command);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, result.out);
}

// Each run has the five experiments whose findings were published, and of the others those that ask
// something of another kind in little time. The nightly run has the rest.
std::vector<std::string> Shipped(bool nightly) {
  std::set<std::string> rest = {"advise", "cache-auto", "cache-split", "compressed-cache"};
  rest.insert({"engine-defaults-more", "insert-benchmark", "servers"});
  std::vector<std::string> names;
  for (const auto& [name, text] : ShippedExperiments()) {
    if (rest.contains(name) == nightly) names.push_back(name);
  }
  return names;
}
std::string ExperimentTestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Experiments, ShippedTest, testing::ValuesIn(Shipped(false)),
                         ExperimentTestName);
INSTANTIATE_TEST_SUITE_P(EveryWay, ShippedTest, testing::ValuesIn(Shipped(true)),
                         ExperimentTestName);

using ExperimentRunTest = CommandTest;

constexpr char kTwoCells[] = R"toml(
name = "mine"
title = "Two cells, the second a long one"
[options]
engine = "btree"
workload = "insert,point-read"
rows = 2000
ram = "64M"
account = "file"
warmup = 0
threads = 1
[scale.small]
[[axis]]
name = "length"
values = [ { label = "short", operations = 100 }, { label = "long", seconds = 4 } ]
[metrics]
qps = "point_read.rate"
[[table]]
title = "Rates"
rows = ["length"]
metrics = ["qps"]
)toml";

TEST_F(ExperimentRunTest, GoesOnWhereItWasInterrupted) {
  std::ofstream(directory_ / "mine.toml") << kTwoCells;
  const std::string script =
      "( cd " + directory_.string() + "; " + TestbedBinary() +
      " experiment mine.toml --rounds 1 --quiet --out o >out 2>err & pid=$!; for i in {1..600}; do"
      " ls o/cells/*short*.json >/dev/null && break; sleep 0.1; done 2>/dev/null;"
      " sleep 0.5; kill -TERM $pid; wait $pid; echo $? >code )";
  ASSERT_EQ(std::system(("bash -c '" + script + "'").c_str()), 0);
  EXPECT_EQ(Read(directory_ / "code"), "130\n");
  EXPECT_NE(Read(directory_ / "out").find("1 of 2 cells"), std::string::npos)
      << Read(directory_ / "out");
  std::map<std::string, fs::file_time_type> before;
  for (const auto& entry : fs::directory_iterator(directory_ / "o/cells")) {
    before[entry.path().filename()] = entry.last_write_time();
  }
  ASSERT_EQ(before.size(), 1u);
  const auto load = [this] { return fs::directory_iterator(directory_ / "o/loads")->path(); };
  const fs::file_time_type loaded = fs::last_write_time(load());
  EXPECT_TRUE(fs::exists(directory_ / "o/databases" / load().stem())) << "the cell will need it";
  const CommandResult rest = Run("experiment mine.toml --rounds 1 --quiet --out o");
  EXPECT_EQ(rest.code, 0) << rest.err;
  EXPECT_EQ(fs::last_write_time(load()), loaded) << "it is not loaded again";
  EXPECT_FALSE(fs::exists(directory_ / "o/databases"));
  EXPECT_NE(rest.out.find("2 of 2 cells"), std::string::npos) << rest.out;
  EXPECT_EQ(fs::last_write_time(directory_ / "o/cells" / before.begin()->first),
            before.begin()->second);
}

// The test kills the process of the run in the second of its phases, which are of 1 s and of 8 s.
// The kill comes seconds after the end of the first phase, and seconds before that of the second.
TEST_F(ExperimentRunTest, TheFinishedPhasesOfAKilledRunAreKept) {
  std::string text = kTwoCells;
  text.replace(text.find("point-read\""), 10, "point-read 1s,point-read 8s");
  std::ofstream(directory_ / "mine.toml") << text;
  const std::string script =
      "( cd " + directory_.string() + "; " + TestbedBinary() +
      " experiment mine.toml --rounds 1 --quiet --only length=long --out o >out 2>err & pid=$!;"
      " for i in {1..600}; do grep -q loaded.*true o/databases/*/testbed.json && break; sleep 0.1;"
      " done 2>/dev/null; sleep 4; pkill -KILL -P $pid; wait $pid; echo $? >code )";
  ASSERT_EQ(std::system(("bash -c '" + script + "'").c_str()), 0);
  const std::string err = Read(directory_ / "err"), out = Read(directory_ / "out");
  EXPECT_EQ(Read(directory_ / "code"), "1\n") << err;
  EXPECT_NE(err.find("the phases that it finished are in o/failed/"), std::string::npos) << err;
  EXPECT_NE(out.find("failed: length=long: "), std::string::npos) << out;
  EXPECT_NE(out.find("0 of 2 cells"), std::string::npos) << out;
  std::string file;
  for (const auto& entry : fs::directory_iterator(directory_ / "o/failed")) file = entry.path();
  const nlohmann::json run = nlohmann::json::parse(Read(file))["runs"][0];
  ASSERT_EQ(run["phases"].size(), 1u) << run;
  EXPECT_EQ(run["phases"][0]["name"], "point-read");
  EXPECT_NE(run["error"]["sentence"].get<std::string>().find("signal 9"), std::string::npos) << run;
  EXPECT_EQ(Run("experiment mine.toml --rounds 1 --quiet --only length=long --out o").code, 0);
  EXPECT_TRUE(fs::is_empty(directory_ / "o/failed"));
}

// A cell that asks for a scratch device must not be measured on a shared device.
TEST_F(ExperimentRunTest, CellsWhoseDeviceCannotBeMadeFailOneAndAll) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gets a scratch device";
  std::ofstream(directory_ / "mine.toml") << kTwoCells;
  const std::string command = "experiment mine.toml --rounds 1 --quiet --out o ";
  const CommandResult result = Run(command + "--set scratch=900000G");
  EXPECT_EQ(result.code, 1) << result.err;
  for (const char* cell : {"length=short", "length=long"}) {
    const size_t line = result.err.find(std::string("testbed: ") + cell + ": ");
    ASSERT_NE(line, std::string::npos) << result.err;
    EXPECT_NE(result.err.substr(line, result.err.find('\n', line) - line).find("scratch device"),
              std::string::npos)
        << result.err;
  }
  EXPECT_TRUE(fs::is_empty(directory_ / "o/cells"));
  EXPECT_TRUE(fs::is_empty(directory_ / "o/loads"));
  EXPECT_NE(result.out.find("0 of 2 cells"), std::string::npos) << result.out;
}

// Once, the document of the second load took the place of the first one, on which a finished cell
// had been measured.
TEST_F(ExperimentRunTest, ALoadThatIsMadeAgainLeavesThatOfTheFinishedCells) {
  std::string text = kTwoCells;
  text.replace(text.find("seconds = 4"), 11, "operations = 50");
  std::ofstream(directory_ / "mine.toml") << text;
  const std::string command = "experiment mine.toml --rounds 1 --quiet --out o";
  ASSERT_EQ(Run(command + " --only length=short").code, 0);
  const fs::path load = fs::directory_iterator(directory_ / "o/loads")->path();
  const std::string first = Read(load), key = load.stem();
  const CommandResult all = Run(command);
  ASSERT_EQ(all.code, 0) << all.err;
  EXPECT_EQ(Read(load), first);
  EXPECT_TRUE(fs::exists(directory_ / "o/loads" / (key + ".2.json")));
  for (const auto& entry : fs::directory_iterator(directory_ / "o/cells")) {
    const nlohmann::json cell = Json(fs::relative(entry.path(), directory_))["cell"];
    EXPECT_EQ(cell["load"], cell["labels"]["length"] == "short" ? key : key + ".2") << cell;
  }
  EXPECT_FALSE(fs::exists(directory_ / "o/databases"));
}

// A results file that cannot be read must be refused at once, and not after the other cells have
// run.
TEST_F(ExperimentRunTest, WhatIsNoRegularFileIsNoResult) {
  std::ofstream(directory_ / "mine.toml") << kTwoCells;
  const std::string command = "experiment mine.toml --rounds 1 --quiet --out o";
  ASSERT_EQ(Run(command + " --only length=short").code, 0);
  for (const char* folder : {"cells", "loads"}) {
    const fs::path file = fs::directory_iterator(directory_ / "o" / folder)->path();
    const std::string name = fs::relative(file, directory_), kept = directory_ / "kept.json";
    fs::rename(file, kept);
    for (const bool pipe : {true, false}) {
      if (pipe) {
        ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
      } else {
        fs::create_symlink("/dev/zero", file);
      }
      for (const std::string& reader :
           {command, std::string("report o"), std::string("report o --html p.html"),
            std::string("report o --csv"), std::string("findings o"),
            std::string("results add o --store s.db")}) {
        SCOPED_TRACE(reader);
        ExpectRefused(Run(reader), name + " is no regular file");
      }
      fs::remove(file);
    }
    fs::rename(kept, file);
  }
  EXPECT_EQ(Run("report o").code, 0);
}

constexpr char kMost[] = R"toml(
name = "most"
title = "The largest cache that fits, once for both cells"
[options]
engine = "btree"
workload = "insert"
io = "direct"
ram = "64M"
account = "file"
db-ratio = 1.5
rows-per-transaction = 100
threads = 1
cache-pct = "most"
[scale.small]
[[axis]]
name = "durability"
values = ["none", "lazy"]
[metrics]
held = { value = "held.bytes / options.ram" }
[[table]]
title = "Held"
rows = ["durability"]
metrics = ["held"]
)toml";

TEST_F(ExperimentRunTest, CellsShareWhatWasRehearsedAndARunThatWasEndedHasLess) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own memory is not the engine's";
#endif
  std::ofstream(directory_ / "most.toml") << kMost;
  const std::string command = "experiment most.toml --rounds 1 --quiet --out o";
  const CommandResult result = Run(command);
  if (result.err.find("which --ram cannot tell") != std::string::npos) GTEST_SKIP() << result.err;
  ASSERT_EQ(result.code, 0) << result.err;
  const auto files = [&](const char* below) {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(directory_ / "o" / below)) {
      found.push_back(fs::relative(entry.path(), directory_));
    }
    return found;
  };
  ASSERT_EQ(files("rehearsals").size(), 1u);
  const std::string kept = files("rehearsals")[0];
  nlohmann::json rehearsal = Json(kept);
  const double chosen = rehearsal["cache_rehearsal"]["chosen_pct"];
  for (const fs::path& cell : files("cells")) {
    const nlohmann::json document = Json(cell);
    EXPECT_EQ(document["cache_rehearsal"], rehearsal["cache_rehearsal"]);
    const nlohmann::json& memory = document["runs"][0]["phases"][0]["memory"];
    EXPECT_GT(memory["held_most"], 0.85 * (64 << 20)) << cell;
    EXPECT_EQ(memory["held_most"], memory["own_most"]);
  }

  // This share is more than the memory, so the kernel ends the first run with it.
  rehearsal["cache_rehearsal"]["chosen_pct"] = 105;
  std::ofstream(directory_ / kept) << rehearsal;
  for (const fs::path& cell : files("cells")) fs::remove(directory_ / cell);
  const CommandResult again = Run(command + " --only durability=none");
  ASSERT_EQ(again.code, 0) << again.err;
  const nlohmann::json document = Json(files("cells").at(0));
  const nlohmann::json& lowered = document["cache_rehearsal"];
  ASSERT_GE(lowered["ended_pct"].size(), 1u);
  EXPECT_EQ(lowered["ended_pct"][0], 105);
  EXPECT_LT(lowered["chosen_pct"], 98);
  EXPECT_NEAR(document["options"]["cache_pct"], lowered["chosen_pct"], 0.1);
  EXPECT_FALSE(document["runs"][0].contains("error"));
  EXPECT_EQ(Json(kept)["cache_rehearsal"], lowered) << "for the cells that come";
  EXPECT_LT(chosen, 98);
}

constexpr char kCopies[] = R"toml(
name = "copies"
title = "Cells that insert, each into a copy of the same database"
copy-loads = true
[options]
engine = "btree"
workload = "insert,mixed"
mix = "insert=100"
rows = 2000
ram = "64M"
account = "file"
warmup = 0
operations = 100
[load]
threads = 1
[scale.small]
[[axis]]
name = "clients"
values = [ { label = "one", threads = 1 }, { label = "two", threads = 2 } ]
[metrics]
rows = "database.rows"
loaded = "loaded.rows"
[[table]]
title = "Rows"
rows = ["clients"]
metrics = ["rows", "loaded"]
)toml";

// Expects that the run of each of two cells began with the rows that were loaded, once.
void ExpectCopies(const std::map<std::string, nlohmann::json>& cells) {
  ASSERT_EQ(cells.size(), 2u);
  for (const auto& [name, document] : cells) {
    EXPECT_EQ(document["runs"][0]["database"]["rows"], 2100) << name;
    EXPECT_EQ(document["runs"][0]["phases"][0]["name"], "mixed") << "the load is no part of it";
  }
}

TEST_F(ExperimentRunTest, EachCellThatWritesHasACopyOfTheLoad) {
  const auto cells = [&] {
    std::map<std::string, nlohmann::json> found;
    for (const auto& entry : fs::directory_iterator(directory_ / "o/cells")) {
      found[entry.path().filename()] = Json(fs::relative(entry.path(), directory_));
    }
    return found;
  };
  std::ofstream(directory_ / "copies.toml") << kCopies;
  const CommandResult result = Run("experiment copies.toml --rounds 1 --quiet --out o");
  ASSERT_EQ(result.code, 0) << result.err;
  ExpectCopies(cells());
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_ / "o/loads"), {}), 1);
  EXPECT_FALSE(fs::exists(directory_ / "o/databases"));

  // A rehearsal of --cache-pct most inserts, too, and its rows must be gone when the run begins.
  // The check of sysbench's workloads counts what is there.
  std::string text = kCopies;
  text.replace(text.find("insert,mixed"), 12, "sysbench-load,oltp-insert");
  text.erase(text.find("mix = "), 19);
  std::ofstream(directory_ / "copies.toml") << text;
  const CommandResult most =
      Run("experiment copies.toml --rounds 1 --quiet --fresh --out o --set cache-pct=most");
  if (most.err.find("which --ram cannot tell") != std::string::npos) GTEST_SKIP() << most.err;
  ASSERT_EQ(most.code, 0) << most.err;
  for (const auto& [name, document] : cells()) {
    EXPECT_EQ(document["runs"][0]["phases"][0]["details"]["table_rows"], 2100) << name;
    EXPECT_GE(document["cache_rehearsal"]["rehearsals"].size(), 1u);
    const std::vector<std::string> words = document["command"];
    const auto share = std::find(words.begin(), words.end(), "--cache-pct");
    ASSERT_NE(share, words.end());
    EXPECT_GT(std::atof((share + 1)->c_str()), 0) << "who repeats it has no second copy";
  }
}

// Once, a repeat ran on the database that the run before it had changed.
TEST_F(ExperimentRunTest, EachRepeatOfACellThatWritesHasACopyOfTheLoad) {
  std::ofstream(directory_ / "copies.toml") << kCopies;
  const CommandResult result = Run(
      "experiment copies.toml --rounds 1 --quiet --out o --only clients=one --set repeat-runs=3");
  ASSERT_EQ(result.code, 0) << result.err;
  const fs::path cell = fs::directory_iterator(directory_ / "o/cells")->path();
  const nlohmann::json runs = Json(fs::relative(cell, directory_))["runs"];
  ASSERT_EQ(runs.size(), 3u);
  for (const nlohmann::json& run : runs) EXPECT_EQ(run["database"]["rows"], 2100);
}

// Compares a cell with itself, TESTBED_SELF_RUNS times (10 in the nightly run, otherwise once). A
// part that holds is a false alarm, which is allowed for one part in twenty.
TEST_F(ExperimentRunTest, ACellDoesNotDifferFromItself) {
  const char* asked = std::getenv("TESTBED_SELF_RUNS");
  const int runs = asked == nullptr ? 1 : std::atoi(asked);
  int parts = 0, alarms = 0;
  for (int run = 0; run < runs; ++run) {
    const CommandResult result = Run("experiment " + SourceDir() +
                                     "/tests/experiment/self.toml --scale tiny --quiet "
                                     "--fresh --out o --json v.json --set seed=" +
                                     std::to_string(100 * run + 1));
    ASSERT_EQ(result.code, 0) << result.err;
    const nlohmann::json verdicts = Json("v.json");
    EXPECT_EQ(verdicts[0]["rounds"], 3);
    for (const nlohmann::json& part : verdicts[0]["parts"]) {
      const std::string because = part["because"];
      if (part["outcome"] == "withheld" &&
          because.find("not in force: --ram") != std::string::npos) {
        GTEST_SKIP() << "a verdict needs its memory budget: " << because;
      }
      ++parts;
      alarms += part["outcome"] == "holds";
      EXPECT_TRUE(part.contains("true_share")) << part.dump();
    }
    EXPECT_NE(Run("findings o --markdown").out.find("| A is faster than A |"), std::string::npos);
  }
  EXPECT_EQ(parts, 2 * runs);
  EXPECT_LE(alarms, std::max(1, parts / 20)) << "of " << parts;
}

TEST_F(ExperimentRunTest, BadInputIsOneSentence) {
  std::ofstream(directory_ / "mine.toml") << kTwoCells;
  std::ofstream(directory_ / "bad.toml") << "name = \"x\"\ntitle = \"y\"\nengines = 1\n";
  ExpectRefused(Run("experiment nosuch"), "nosuch");
  ExpectRefused(Run("experiment nosuch.toml"), "nosuch.toml");
  ExpectRefused(Run("experiment bad.toml"), "bad.toml:3");
  ExpectRefused(Run("experiment mine.toml --scale huge"), "--scale");
  ExpectRefused(Run("experiment mine.toml --rounds 0"), "--rounds");
  ExpectRefused(Run("experiment mine.toml --only nosuch=1"), "nosuch");
  ExpectRefused(Run("experiment mine.toml --only length=short,lang"),
                "--only length=lang: the axis length of experiment mine has short, long");
  ExpectRefused(Run("experiment mine.toml --set nosuch=1"), "nosuch");
  ExpectRefused(Run("experiment mine.toml --set nosuch"), "--set");
  ExpectRefused(Run("experiment mine.toml --json nosuch/v.json"), "--json nosuch/v.json");
  ExpectRefused(Run("experiment mine.toml --csv ."), "--csv .");
  ExpectRefused(Run("experiment show"), "show NAME");
  ExpectRefused(Run("findings nosuch"), "nosuch");
  std::filesystem::create_directory(directory_ / "full");
  std::ofstream(directory_ / "full/file") << "mine";
  ExpectRefused(Run("experiment mine.toml --out full"), "--out full");
  ExpectRefused(Run("experiment mine.toml --out full --fresh"), "--out full");
  EXPECT_TRUE(std::filesystem::exists(directory_ / "full/file"));
  std::filesystem::create_directory(directory_ / "held");
  const int held = Hold("held");
  ASSERT_GE(held, 0);
  ExpectRefused(Run("experiment mine.toml --out held"), "another testbed");
  close(held);
  EXPECT_EQ(Run("experiment list").code, 0);
  EXPECT_EQ(Run("experiment show read-size").code, 0);
  EXPECT_EQ(Run("experiment plan mine.toml").code, 0);
}

}  // namespace
}  // namespace testbed

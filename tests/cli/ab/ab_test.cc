// Tests `testbed ab` of the real program at small scale: its ways, refusals, exit codes, progress,
// and sides that fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "device/machine/host.h"
#include "tests/cli/started_command.h"
#include "tools/ab/option_rules.h"
#include "tools/option_check.h"

namespace testbed {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Point reads of a few rows, in short slices on three loads.
constexpr char kReads[] =
    " --ram 64M --rows 5000 --threads 1 --workload point-read --time 9s --loads 3 --slice 0.05 "
    "--warmup 0 --quiet ";

// Rounds of few operations, each of which takes 50 microseconds more on side b.
constexpr char kMixed[] =
    " --engine null --a '' --b added-delay=50000 --rows 1000 --threads 1 --operations 2000 "
    "--warmup 0 --account off --quiet ";

constexpr char kOneClient[] = " --threads 1 --workload point-read --account off --quiet";

class AbTest : public StartedCommandTest {
 protected:
  nlohmann::json Taken(const std::string& name) {
    nlohmann::json document = Json(name);
    std::filesystem::remove(directory_ / name);
    return document;
  }

  // Returns the processors that a process may use, as the kernel lists them.
  static std::string ProcessorsOf(pid_t process) {
    const std::string status = Read("/proc/" + std::to_string(process) + "/status");
    std::smatch list;
    std::regex_search(status, list, std::regex("Cpus_allowed_list:\\s*(\\S+)"));
    return list.empty() ? "" : list[1].str();
  }
};

TEST_F(AbTest, SlicesOfBothSidesAreMeasuredAndAnswered) {
  const CommandResult result =
      Run("ab --engine null --a '' --b 'added-delay=50000' --json ab.json --account file" +
          std::string(kReads));
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(result.out.starts_with("b is slower by")) << result.out;
  EXPECT_THAT(result.out, HasSubstr("interleave in slices of 0.05 s"));
  EXPECT_EQ(Run("report ab.json").out, result.out);
  const nlohmann::json document = Taken("ab.json");
  EXPECT_EQ(document["schema"], "testbed-ab/1");
  EXPECT_EQ(document["loads"], 3);
  EXPECT_EQ(document["runs"].size(), 6u);
  std::set<std::pair<int, int>> of_a, of_b;
  for (const nlohmann::json& sample : document["samples"]) {
    EXPECT_GT(sample["metrics"]["rate"], 0);
    EXPECT_TRUE(sample.contains("rest"));
    (sample["side"] == "a" ? of_a : of_b).emplace(sample["load"], sample["block"]);
  }
  EXPECT_EQ(of_a, of_b);
  EXPECT_GE(of_a.size(), 3 * 8u);
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(AbTest, ADuetBindsTheSidesToProcessorsThatTheyExchange) {
  if (OwnProcessors().size() < 2) {
    GTEST_SKIP() << "a duet needs two processors, and this process may use one";
  }
  const pid_t process = Start(
      "ab --engine null --a '' --b added-delay=50000 --way duet --account file --json ab.json" +
      std::string(kReads) + "> out");
  const std::string all = ProcessorsOf(::getpid());
  std::string first, second;
  pid_t one = 0, other = 0;
  const bool apart = Becomes([&] {
    std::vector<pid_t> sides = Processes();
    std::erase(sides, process);
    if (sides.size() != 2) return false;
    one = sides[0], other = sides[1];
    first = ProcessorsOf(one), second = ProcessorsOf(other);
    if (first.empty() || second.empty()) return false;
    return first != all && second != all && first != second;
  });
  const bool exchanged = Becomes([&] { return ProcessorsOf(one) == second; });
  const int code = ExitCodeOf(process);
  EXPECT_TRUE(apart) << "both sides may use " << first;
  EXPECT_TRUE(exchanged);
  ASSERT_EQ(code, 0);
  const std::string out = Read(directory_ / "out");
  EXPECT_TRUE(out.starts_with("b is slower by")) << out;
  EXPECT_THAT(out, HasSubstr("point-read by duet in slices of 0.05 s"));
  const nlohmann::json document = Taken("ab.json");
  std::set<std::pair<int, int>> of_a, of_b;
  for (const nlohmann::json& sample : document["samples"]) {
    (sample["side"] == "a" ? of_a : of_b).emplace(sample["load"], sample["block"]);
  }
  EXPECT_EQ(of_a, of_b);
  EXPECT_GE(of_a.size(), 3 * 2u);
  std::filesystem::remove(directory_ / "out");
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(AbTest, ADuetOfWritesIsOfWholeRunsAtOnce) {
  if (OwnProcessors().size() < 2) {
    GTEST_SKIP() << "a duet needs two processors, and this process may use one";
  }
  const pid_t process = Start(
      "ab --engine btree --a '' --b added-delay=2000 --way duet --ram 64M --rows 20000 "
      "--threads 1 --workload insert --loads 3 --until 0.001% --account file --json ab.json "
      "--quiet > out");
  const bool apart = Becomes([&] {
    std::vector<pid_t> sides = Processes();
    std::erase(sides, process);
    if (sides.size() != 2) return false;
    const std::string first = ProcessorsOf(sides[0]), second = ProcessorsOf(sides[1]);
    return !first.empty() && !second.empty() && first != second &&
           first != ProcessorsOf(::getpid());
  });
  const int code = ExitCodeOf(process);
  EXPECT_TRUE(apart);
  const std::string out = Read(directory_ / "out");
  ASSERT_EQ(code, 0) << out;
  EXPECT_THAT(out, HasSubstr("insert by duet: 3 loads of each side"));
  const nlohmann::json document = Taken("ab.json");
  EXPECT_TRUE(document["slice_seconds"].is_null());
  std::map<std::string, int> loads;
  for (const nlohmann::json& sample : document["samples"]) {
    EXPECT_EQ(sample["count"], 20000);
    ++loads[sample["side"]];
  }
  EXPECT_EQ(loads, (std::map<std::string, int>{{"a", 3}, {"b", 3}}));
  std::filesystem::remove(directory_ / "out");
  EXPECT_TRUE(DirectoryIsEmpty());
}

// Equal sides that must agree within a thousandth of a per cent are not told, so that the
// comparison goes on to its last load.
TEST_F(AbTest, ProgressHasALineForEachIntervalWithTheAnswerSoFar) {
  const CommandResult result =
      Run("ab --engine null --a '' --b '' --rows 1000 --threads 1 --workload point-read --time 14s "
          "--loads 5 --until 0.001% --slice 0.05 --warmup 0 --account off --report-interval 1");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::regex line(
      "ab: load ([1-5]), (loading side [ab](?: and [ab])?|measuring, [0-9]+ s left on it);( .*;)? "
      "([0-9]+) s of at most 14");
  const std::regex interval(" rate of b [+-][0-9.]+ % \\([+-][0-9.]+ to [+-][0-9.]+\\);");
  int lines = 0, with_interval = 0, last = 0;
  std::istringstream err(result.err);
  for (std::string text; std::getline(err, text); ++lines) {
    std::smatch parts;
    ASSERT_TRUE(std::regex_match(text, parts, line)) << text;
    const bool has_interval = std::regex_search(text, interval);
    // Three loads are the least that have one.
    EXPECT_EQ(has_interval, std::stoi(parts[1]) > 3) << text;
    with_interval += has_interval;
    last = std::stoi(parts[4]);
  }
  EXPECT_GE(lines, 3) << result.err;
  EXPECT_LE(lines, last / 0.9 + 1) << result.err;
  EXPECT_GE(with_interval, 1) << result.err;
}

// A run or a load may take longer than the interval.
TEST_F(AbTest, ProgressGoesOnWithinARun) {
  const CommandResult result =
      Run("ab --engine null --a '' --b '' --rows 1000 --threads 1 --workload insert,mixed --mix "
          "update=1 --seconds 1.7 --warmup 0 --loads 1 --account off --report-interval 1");
  ASSERT_EQ(result.code, 0) << result.err;
  const std::regex line("ab: load 1, running side [ab]; [0-9]+ s\n");
  const auto lines = std::distance(std::sregex_iterator(result.err.begin(), result.err.end(), line),
                                   std::sregex_iterator());
  EXPECT_GE(lines, 2) << result.err;
}

// An update of a value that is the same in all versions changes nothing.
TEST_F(AbTest, UpdatesThatChangeNothingHaveANote) {
  const std::string words =
      "ab --engine null --a '' --b '' --workload overwrite --rows 1000 --operations 1000 "
      "--threads 1 --loads 1 --account off --quiet --value-size ";
  const std::string note = "--value-size 1: a value of 0 or 1 byte is the same";
  const CommandResult result = Run(words + "1");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr(note));
  EXPECT_THAT(Run(words + "100").out, Not(HasSubstr("a value of 0 or 1 byte")));
}

TEST_F(AbTest, OneLoadIsToldWithTheCommandThatMakesEnough) {
  const std::string settings =
      "--engine null --a '' --b added-delay=50000 --rows 1000 --threads 1 --workload point-read "
      "--time 1s --slice 0.05 --warmup 0 --account off --quiet ";
  const CommandResult result = Run("ab " + settings + "--loads 1");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("cannot be told from 1 load of each"));
  std::smatch command;
  ASSERT_TRUE(std::regex_search(result.out, command, std::regex("\n  testbed (ab .*)\n")))
      << result.out;
  // The time that was enough for one load is replaced by one that is enough for five.
  const std::string words =
      settings.substr(0, settings.find("--time ")) + settings.substr(settings.find("--slice"));
  EXPECT_TRUE(
      std::regex_match(command[1].str(), std::regex("ab " + words + "--time ([0-9]+)s --loads 5")))
      << command[1];
  const CommandResult enough = Run(command[1]);
  EXPECT_TRUE(enough.out.starts_with("b is slower by")) << enough.out;
  EXPECT_THAT(enough.out, Not(HasSubstr("would be enough")));
}

TEST_F(AbTest, ATimeThatIsTooShortForAnAnswerIsToldWithOneThatIsNot) {
  const CommandResult result =
      Run("ab --engine null --a '' --b '' --rows 1000 --threads 1 --workload point-read --time 1s "
          "--slice 0.05 --warmup 0 --account off --quiet --json ab.json");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr(" of the 1.0 s of --time, and an answer needs 3 loads; give "
                                    "--time "));
  EXPECT_EQ(Run("report ab.json").out, result.out);
}

TEST_F(AbTest, RoundsLoadAnewForEachRun) {
  const CommandResult result =
      Run("ab --engine btree --a '' --b 'page-size=4k env:SOME=thing' --ram 64M --rows 3000 "
          "--threads 1 "
          "--workload insert --time 60s --loads 3 --account file --json ab.json --quiet");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("insert by rounds: 3 loads"));
  EXPECT_THAT(result.out, HasSubstr("size"));
  const nlohmann::json document = Taken("ab.json");
  EXPECT_EQ(document["samples"].size(), 6u);
  for (const nlohmann::json& run : document["runs"]) {
    EXPECT_EQ(run["phases"][0]["kind"], "load");
    EXPECT_EQ(run["phases"][0]["rows_inserted"], 3000);
  }
  EXPECT_EQ(document["sides"][1]["environment"]["SOME"], "thing");
  EXPECT_TRUE(DirectoryIsEmpty());
}

// What is set after the fork is not among the variables with which a program was executed, and
// comes too late for the dynamic linker and the allocator.
TEST_F(AbTest, ASideIsExecutedWithItsVariables) {
  const pid_t process = Start(
      "ab --engine null --a '' --b env:OF_THIS_SIDE=yes --rows 1000 --threads 1 --workload "
      "point-read --time 3s --loads 1 --slice 0.1 --warmup 0 --account off --quiet > out");
  const auto with_variable = [&] {
    std::vector<pid_t> sides = Processes();
    std::erase(sides, process);
    std::erase_if(sides, [](pid_t side) {
      const std::string environment = Read("/proc/" + std::to_string(side) + "/environ");
      return environment.find(std::string("\0OF_THIS_SIDE=yes", 17)) == std::string::npos &&
             !environment.starts_with("OF_THIS_SIDE=yes");
    });
    return sides.size();
  };
  EXPECT_TRUE(Becomes([&] { return with_variable() == 1; }));
  EXPECT_EQ(ExitCodeOf(process), 0);
  EXPECT_THAT(Read(directory_ / "out"), HasSubstr("1 load of each side"));
  std::filesystem::remove(directory_ / "out");
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(AbTest, TheTimeEndsAComparisonWithManyLoads) {
  const std::string settings =
      "ab --engine null --a '' --b '' --rows 1000 --threads 1 --operations 2000 --warmup 0 "
      "--workload insert,mixed --mix update=1 --until 0.001% --account off --quiet --loads 100 "
      "--json ab.json --time ";
  ASSERT_EQ(Run(settings + "1s").code, 0);
  const nlohmann::json document = Taken("ab.json");
  EXPECT_LT(document["loads"], 100);
  EXPECT_EQ(document["time_seconds"], 1);
}

// The directories of the databases are gone when the next load begins.
TEST_F(AbTest, AnErrorOfALaterLoadKeepsTheEarlierOnes) {
  const pid_t process = Start(
      "ab --engine null --a '' --b '' --rows 1000 --threads 1 --workload insert,mixed --mix "
      "update=1 --seconds 0.5 --warmup 0 --until 0.001% --account off --loads 30 --json ab.json "
      "--report-interval 1 > out 2> err");
  EXPECT_TRUE(
      Becomes([&] { return Read(directory_ / "err").find("load 2") != std::string::npos; }));
  // A load may make a file in a directory while it is removed.
  EXPECT_TRUE(Becomes([&] {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(directory_, error)) {
      if (entry.is_directory(error)) std::filesystem::remove_all(entry.path(), error);
      if (error) return false;
    }
    return !error;
  }));
  EXPECT_EQ(ExitCodeOf(process), 1) << Read(directory_ / "err");
  const nlohmann::json document = Taken("ab.json");
  EXPECT_GE(document["loads"], 1);
  ASSERT_GE(document["errors"].size(), 1u);
  EXPECT_NE(document["errors"][0]["sentence"], "");
  EXPECT_THAT(Read(directory_ / "out"), HasSubstr(" failed: "));
  for (const char* name : {"out", "err"}) std::filesystem::remove(directory_ / name);
}

TEST_F(AbTest, AServerIsNeitherBoundNorBoundedByASide) {
  if (!HasEngine("mysql")) GTEST_SKIP() << "there is no MariaDB here";
  const std::string elsewhere = "engine=mysql ram=64M connect=mysql://me@127.0.0.1:1/ rows=1000";
  ExpectRefused(Run("ab --strict --a 'engine=null ram=0 rows=1000' --b '" + elsewhere + "'" +
                    std::string(kOneClient)),
                "side b: --ram cannot be enforced: the server that runs already (connect)");
  ExpectRefused(
      Run("ab --way duet --a engine=null --b engine=mysql --rows 1000" + std::string(kOneClient)),
      "the server of mysql on side b does its work on all of them; give --way interleave");
}

TEST_F(AbTest, EachSideHasItsEnvironmentAndOptions) {
  // The sizes of pages show that options reached the engine of the right side.
  std::ofstream(directory_ / "small.words") << "page-size=4k  # a comment\n";
  const CommandResult result = Run(
      "ab --engine btree --a @small.words --b page-size=16k --json ab.json --loads 1 --time 1s "
      "--ram 64M --rows 5000 --threads 1 --workload point-read --slice 0.05 --warmup 0 --quiet");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("\na: engine=btree @small.words (page-size=4k)\n"));
  const nlohmann::json document = Json("ab.json");
  // The percentiles of a load are those of all its slices together.
  std::map<std::string, nlohmann::json> p99;
  for (const nlohmann::json& sample : document["samples"]) {
    nlohmann::json& of_side = p99[sample["side"]];
    if (of_side.is_null()) of_side = sample["metrics"]["p99"];
    EXPECT_EQ(sample["metrics"]["p99"], of_side);
    EXPECT_GT(of_side, 0);
  }
  EXPECT_EQ(p99.size(), 2u);
  for (const nlohmann::json& run : Taken("ab.json")["runs"]) {
    EXPECT_EQ(run["engine"]["effective"]["page_size"], run["side"] == "a" ? "4096" : "16384");
  }
}

TEST_F(AbTest, ExitCodesOfFailIf) {
  const auto code = [this](const std::string& sides, const std::string& loads) {
    const std::string time = loads == "1" ? "1s" : "5s";
    return Run("ab --engine null --account off --rows 1000 --threads 1 --workload point-read "
               "--slice 0.05 --warmup 0 --quiet --fail-if 'rate < -20%' --time " +
               time + " --loads " + loads + sides)
        .code;
  };
  EXPECT_EQ(code(" --a '' --b added-delay=50000", "3"), 3);
  EXPECT_EQ(code(" --a added-delay=50000 --b ''", "3"), 0);
  EXPECT_EQ(code(" --a '' --b added-delay=50000", "1"), 125);
}

// `git bisect run` calls a commit bad at 1, and passes over it at 125.
TEST_F(AbTest, AnAnswerThatCannotBeWrittenIsNoJudgement) {
  const std::string faster =
      "ab --engine null --a added-delay=50000 --b '' --account off --rows 1000 --threads 1 "
      "--workload insert,mixed --mix update=1 --operations 2000 --warmup 0 --quiet --time 60s";
  const std::string asked = faster + " --fail-if 'rate < -20%'";
  const CommandResult full = Run(asked + " --json /dev/full");
  EXPECT_EQ(full.code, 125) << full.err;
  EXPECT_NE(full.err.find("--json /dev/full cannot be written"), std::string::npos) << full.err;
  EXPECT_THAT(full.out, HasSubstr("rate < -20 % of b: does not hold, for sure"));
  EXPECT_EQ(Run(asked + " >/dev/full").code, 125);
  EXPECT_EQ(Run(faster + " --json /dev/full").code, 1);
}

// The file level is not counted, so a minute of loads would tell nothing about it.
TEST_F(AbTest, AMetricThatIsNotMeasuredIsNotWaitedFor) {
  const CommandResult result =
      Run("ab --engine null --a '' --b '' --rows 1000 --threads 1 --operations 2000 --warmup 0 "
          "--workload insert,mixed --mix update=1 --account off --quiet --time 60s --json ab.json "
          "--fail-if 'file_reads > 1%'");
  EXPECT_EQ(result.code, 125) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("file_reads was not measured on a and b"));
  EXPECT_EQ(Taken("ab.json")["loads"], 3);
}

// The counts of equal sides are equal. To ask whether they grew at all needs no margin.
TEST_F(AbTest, EqualCountsHaveNotGrown) {
  const CommandResult result =
      Run("ab --engine btree --a '' --b '' --ram 64M --rows 1000 --threads 1 --workload insert "
          "--account file --quiet --loads 3 --fail-if 'engine_asks > 0%'");
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("engine_asks > 0 % of b: does not hold, for sure"));
}

// A replay at the pace of its trace is as fast on any side that keeps up.
TEST_F(AbTest, WhereATraceSetsTheRateTheLatencyIsAsked) {
  const std::string null = "--engine null --rows 1000 --warmup 0 --account off --quiet ";
  ASSERT_EQ(Run(null + "--threads 1 --workload insert,point-read --rate 1000 --operations 100 "
                       "--record a.trace")
                .code,
            0);
  const std::string replay =
      "ab --a '' --b '' --loads 1 --json ab.json --workload insert,replay:a.trace " + null;
  CommandResult result = Run(replay + "--speed 1");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Taken("ab.json")["asked"], nlohmann::json::array({"p99"}));
  result = Run(replay + "--speed max");
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(Taken("ab.json")["asked"], nlohmann::json::array({"rate"}));
}

TEST_F(AbTest, EachKindOfOperationHasItsLatencies) {
  const CommandResult result =
      Run("ab --workload mixed --mix point-read=50,update=50 --loads 20 "
          "--fail-if 'update.p50 > 20%' --json ab.json" +
          std::string(kMixed));
  EXPECT_EQ(result.code, 3) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("update.p50 > 20 % of b: holds for sure"));
  for (const char* metric : {"  point-read.p99 ", "  update.mean ", "  update.rate "}) {
    EXPECT_THAT(result.out, HasSubstr(metric));
  }
  for (const char* whole : {"  p99 ", "  erase."}) {
    EXPECT_THAT(result.out, Not(HasSubstr(whole)));
  }
  EXPECT_EQ(Run("report ab.json").out, result.out);
  for (const nlohmann::json& sample : Taken("ab.json")["samples"]) {
    EXPECT_GT(sample["metrics"]["update.p50"], sample["side"] == "b" ? 40 : 0);
    EXPECT_GT(sample["metrics"]["update.rate"], 0);
  }
}

TEST_F(AbTest, AKindThatIsNotMeasuredIsRefusedWithThoseThatAre) {
  const auto refused = [this](const std::string& settings, const std::string& condition,
                              const std::string& sentence) {
    const CommandResult result =
        Run("ab --workload " + settings + " --fail-if '" + condition + "'" + kMixed);
    ExpectRefused(result, sentence);
    EXPECT_EQ(result.out, "");
  };
  refused("mixed --mix point-read=50,update=50", "p99 > 10%", "give point-read.p99 or update.p99");
  refused("ycsb-a", "mean > 10%", "give point-read.mean or update.mean");
  refused("readwhilewriting", "p50 > 10%", "give point-read.p50 or update.p50");
  refused("mixed --mix point-read=50,update=50", "erase.p99 > 10%",
          "an operation that mixed does not have; it has point-read, update");
  refused("mixed --mix update=1", "update.p99 > 10%", "mixed has one alone; give p99");
  refused("ycsb-a", "update.size > 10%", "--fail-if 'update.size > 10%' names no metric");
  // The rate is one of all kinds together. One load tells nothing.
  const CommandResult whole =
      Run("ab --workload ycsb-a --loads 1 --fail-if 'rate < -20%'" + std::string(kMixed));
  EXPECT_EQ(whole.code, 125) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("rate < -20 % of b: cannot be told"));
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(AbTest, RefusesBeforeAnythingRuns) {
  const std::string reads(kReads);
  ExpectRefused(Run("ab"), "ab compares two sides or more");
  ExpectRefused(Run("ab --a engine=null"), "--b");
  ExpectRefused(Run("ab --a engine=null --time 0.5"), "ab compares two sides or more");
  ExpectRefused(Run("ab --a '' --b ''" + reads), "--engine is missing");
  ExpectRefused(Run("ab --a= --b= --engine nul" + reads), "side a: --engine nul is not known");
  ExpectRefused(Run("ab --engine null --a '' --b rows=7" + reads), "cannot be compared");
  ExpectRefused(Run("ab --engine null --a '' --b key-size=20" + reads), "cannot be compared");
  ExpectRefused(Run("ab --engine null --a '' --b engine=nul" + reads), "side b");
  ExpectRefused(Run("ab --engine null --a '' --b nonsense" + reads), "--b: nonsense");
  const CommandResult password = Run("ab --engine null --a '' --b env:PGPASSWORD=s3cret" + reads);
  ExpectRefused(password, "env:PGPASSWORD is not accepted");
  EXPECT_EQ(password.err.find("s3cret"), std::string::npos) << password.err;
  ExpectRefused(Run("ab --engine null --a '' --b '\"'" + reads), "quote");
  ExpectRefused(Run("ab --engine null --a '' --b '' --dir d" + reads), "--dir");
  ExpectRefused(Run("ab --engine null --a '' --b '' --repeat 2" + reads), "--repeat");
  ExpectRefused(Run("ab --engine null --a '' --b '' --csv-series x" + reads), "--csv-series");
  ExpectRefused(Run("ab --engine null --a '' --b '' --csv" + reads), "--csv");
  ExpectRefused(Run("ab --engine null --a record=a.t --b ''" + reads), "--a: ab records no trace");
  ExpectRefused(Run("ab --engine null --a '' --b '' --way rond" + reads),
                "interleave, duet, rounds");
  ExpectRefused(Run("ab --engine null --a '' --b '' --fail-if 'speed < 1%'" + reads), "--fail-if");
  ExpectRefused(Run("ab --engine null --a '' --b '' --fail-if 'point-read.p99 > 1%'" + reads),
                "point-read in slices is measured as a whole; give p99");
  ExpectRefused(Run("ab --engine null --a '' --b '' --rate 10 --way interleave" + reads), "--rate");
  ExpectRefused(Run("ab --engine null --a '' --b '' --seconds 10" + reads), "--seconds");
  ExpectRefused(Run("ab --engine null --a '' --b '' --until 0%" + reads),
                "--until 0% is not a difference in per cent");
  ExpectRefused(Run("ab --engine null --a '' --b '' --time 1d"),
                "--time 1d is not accepted; it takes a time above 0, such as 90s, 10m or 1h");
  ExpectRefused(Run("ab --engine btree --a '' --b engine-option=no_such=1" + reads), "no_such");
  ExpectRefused(Run("ab --engine btree --a '' --b '' --way interleave --workload insert --rows 10"),
                "--way rounds");
  ExpectRefused(Run("ab --engine btree --a '' --b '' --rows 10 --workload linkbench-check"),
                "linkbench-check ends by itself; give --way rounds");
  ExpectRefused(Run("ab --engine null --a '' --b threads=1000 --way duet" + reads), "--threads");
  ExpectRefused(Run("ab --engine btree --a '' --b '' --way duet --threads 1 --workload ycsb-a"),
                "the sides would come to ycsb-a at different times; give --way rounds");
  ExpectRefused(Run("ab --engine null --a '' --b '' --way rounds" + reads),
                "--slice is the length of a slice, and --way rounds compares whole runs");
  ExpectRefused(Run("ab --engine null --a '' --b '' --warmup 30 --time 6s --workload point-read"),
                "--warmup 30 s leaves nothing of --time 6 s");
  ExpectRefused(Run("ab --engine null --a '' --b '' --warmup 600 --workload point-read"),
                "--warmup 600 s leaves nothing of --time 600 s, its default");
  ExpectRefused(Run("ab --engine null --a '' --b '' --warmup 30 --time 6s --way rounds"),
                "--warmup 30 s leaves nothing of --time 6 s");
  ExpectRefused(Run("ab --engine null --a '' --b '' --json no/such/file" + reads), "--json");
  ExpectRefused(Run("ab --a engine=null --b engine=btree --ram 64M --rows 1000000000000" +
                    std::string(kOneClient)),
                "and the databases of all sides need 378.3T at least; free space, or give fewer");
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(AbTest, EachOptionIsInTheHelpOrRefused) {
  const std::string help = Run("ab --help").out;
  for (const OptionRule& rule : OptionRules()) {
    for (const std::string name : rule.names) {
      const bool shown = help.find("\n  --" + name + " ") != std::string::npos;
      EXPECT_EQ(shown, rule.use != OptionUse::kRefused) << name;
      if (shown) continue;
      const CommandResult refused =
          Run("ab --engine null --a '' --b '' --" + name + (IsRunFlag(name) ? "" : " 1"));
      ExpectRefused(refused, "--" + name);
    }
  }
}

TEST_F(AbTest, ASideThatIsKilledCostsItselfOnly) {
  const pid_t process = Start(
      "ab --engine btree --a '' --b cache-pct=20 --ram 64M --rows 5000 --threads 1 --workload "
      "point-read --time 4s --loads 1 --slice 0.1 --warmup 0 --json ab.json > out 2> err");
  std::vector<pid_t> sides;
  ASSERT_TRUE(Becomes([&] {
    sides = Processes();
    std::erase(sides, process);
    return sides.size() == 2;
  }));
  ::kill(sides[1], SIGKILL);
  EXPECT_EQ(ExitCodeOf(process), 1);
  const nlohmann::json document = Taken("ab.json");
  ASSERT_EQ(document["errors"].size(), 1u);
  EXPECT_THAT(document["errors"][0]["sentence"].get<std::string>(), HasSubstr("signal 9"));
  const std::string failed = document["errors"][0]["side"], other = failed == "a" ? "b" : "a";
  size_t kept = 0;
  for (const nlohmann::json& sample : document["samples"]) kept += sample["side"] == other;
  EXPECT_GT(kept, 0u);
  EXPECT_THAT(Read(directory_ / "err"), HasSubstr("side " + failed + " failed"));
  EXPECT_THAT(Processes(), IsEmpty());
  for (const char* name : {"out", "err"}) std::filesystem::remove(directory_ / name);
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(AbTest, AStopAnswersWithWhatThereIs) {
  const pid_t process = Start(
      "ab --engine null --a '' --b '' --rows 1000 --threads 1 --workload point-read --time 60s "
      "--until 0.001% --slice 0.05 --warmup 0 --account file --json ab.json > out");
  ASSERT_TRUE(Becomes([&] { return Processes().size() == 3; }));
  std::this_thread::sleep_for(std::chrono::seconds(2));
  ::kill(process, SIGINT);
  EXPECT_EQ(ExitCodeOf(process), 130);
  EXPECT_THAT(Read(directory_ / "out"), HasSubstr("stopped by a signal"));
  EXPECT_TRUE(Taken("ab.json")["partial"]);
  EXPECT_THAT(Processes(), IsEmpty());
  std::filesystem::remove(directory_ / "out");
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(AbTest, AParentThatIsKilledLeavesNoProcessAndNoFileThatIsNotCleaned) {
  const pid_t process = Start(
      "ab --engine btree --a '' --b '' --ram 64M --rows 5000 --threads 1 --workload point-read "
      "--time 60s --loads 1 --quiet");
  ASSERT_TRUE(Becomes([&] { return Processes().size() == 3; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  EXPECT_TRUE(Becomes([&] { return Processes().empty(); }, 10));
  EXPECT_TRUE(Becomes(
      [&] {
        Run("scratch clean");
        return DirectoryIsEmpty();
      },
      10));
}

TEST_F(AbTest, ADamagedFileIsRefused) {
  std::ofstream(directory_ / "ab.json") << R"({"schema": "testbed-ab/1", "sides": 7})";
  ExpectRefused(Run("report ab.json"), "is damaged");
}

}  // namespace
}  // namespace testbed

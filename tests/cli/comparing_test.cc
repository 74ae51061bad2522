// Tests `testbed compare` and `testbed history` on results of real runs, some with other figures.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "tests/cli/command.h"
#include "tests/cli/results/csv_records.h"
#include "tests/cli/results/explained_columns.h"

namespace testbed {
namespace {

using nlohmann::json;

class ComparingTest : public CommandTest {
 protected:
  void Measure() {
    const CommandResult result =
        Run("--engine btree --rows 2000 --operations 500 --threads 1 --warmup 0 --repeat 3 "
            "--account file --json base.json --quiet");
    ASSERT_EQ(result.code, 0) << result.err;
    base_ = Json("base.json");
  }
  // Writes the document with these rates of all phases, one for each load.
  void Write(const std::string& file, json document, const std::vector<double>& rates) {
    for (json& run : document["runs"]) {
      for (json& phase : run["phases"]) {
        if (!phase.contains("operations")) continue;
        phase["rate"] = rates[run["load"].get<size_t>() % rates.size()];
      }
    }
    std::ofstream(directory_ / file) << document;
  }
  // Adds a result of a night with this rate to the history.
  void AddNight(int night, double rate, const std::string& commit = "",
                const std::string& kernel = "") {
    json document = base_;
    document["started"] = fmt::format("2026-10-{:02}T02:00:00Z", night + 1);
    if (!kernel.empty()) document["machine"]["kernel"] = kernel;
    Write("night.json", document, {rate, rate * 1.002, rate * 0.998});
    const CommandResult added = Run("history add night.json --commit " +
                                    (commit.empty() ? fmt::format("c{:02}", night) : commit));
    ASSERT_EQ(added.code, 0) << added.err;
  }
  void ExpectRefused(const std::string& arguments, const std::string& sentence) {
    const CommandResult result = Run(arguments);
    EXPECT_EQ(result.code, 2) << arguments;
    EXPECT_NE(result.err.find(sentence), std::string::npos) << result.err;
    EXPECT_EQ(result.out, "");
  }

  json base_;
};

// Returns the rate of a night: `rate` with a spread that is the same in each test.
double Night(int night, double rate) { return rate * (1 + (night * 37 % 11 - 5) / 1000.0); }

TEST_F(ComparingTest, CompareTellsByLoadsAndJudgesConditions) {
  Measure();
  Write("old.json", base_, {1000, 1010, 990});
  Write("new.json", base_, {900, 910, 890});
  const std::string files = "compare old.json new.json ";
  const CommandResult slower = Run(files + "--fail-if 'rate < -3%' --metric rate");
  EXPECT_EQ(slower.code, 1) << slower.out;
  EXPECT_NE(slower.out.find("point-read, 1 thr: the second is slower by 10 % ("), std::string::npos)
      << slower.out;
  EXPECT_EQ(Run(files + "--fail-if 'rate < -30%'").code, 0);
  EXPECT_EQ(Run(files + "--fail-if 'rate < -10%'").code, 3);
  ExpectRefused(files + "--fail-if 'speed < -3%'", "--fail-if 'speed < -3%' names no metric");
  ExpectRefused(files + "--within 0", "--within 0 is not a difference in per cent");
  ExpectRefused(files + "--metric rate,speed", "--metric rate,speed names no metric: 'speed'");
  ExpectRefused(files + "--metric rate,rate", "--metric rate,rate: rate is in the list twice");
  json other = base_;
  other["data"]["rows"] = 1;
  Write("other.json", other, {1000});
  ExpectRefused("compare old.json other.json", "their data differ: rows 2000 against 1");
}

// Once, rates had commas, and a cell had the change with its interval: "+3.2 % (+1.0 to +5.4)".
TEST_F(ComparingTest, TheCsvOfAComparisonIsItsAnswersAsData) {
  Measure();
  Write("old.json", base_, {645277, 645377, 645177});
  Write("new.json", base_, {545277, 545377, 545177});
  const CommandResult result = Run("compare old.json new.json --csv --json c.json");
  EXPECT_EQ(result.code, 0) << result.err;
  const json answers = Json("c.json")["answers"];
  const std::vector<Record> records = ParseCsv(result.out);
  ASSERT_EQ(records.size(), answers.size());
  ASSERT_GT(records.size(), 1u);
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].size(), answers[i].size());
    for (const auto& [column, text] : records[i]) {
      const json& value = answers[i].at(column);
      if (value.is_number()) {
        EXPECT_EQ(std::stod(text), value.get<double>()) << column;
      } else {
        EXPECT_EQ(text, value.is_null() ? "" : value.get<std::string>()) << column;
      }
    }
  }
  EXPECT_EQ(records[0].at("metric"), "rate");
  EXPECT_NEAR(std::stod(records[0].at("first")), 645277, 1);
}

// An engine that does not count what another one counts, or another account.
TEST_F(ComparingTest, CompareNamesWhatOneSideLacks) {
  Measure();
  json other = base_;
  for (json& run : other["runs"]) {
    for (json& phase : run["phases"]) {
      if (phase.contains("account")) phase["account"]["engine"] = json::object();
    }
  }
  Write("old.json", base_, {1000, 1010, 990});
  Write("new.json", other, {1000, 1010, 990});
  const CommandResult result = Run("compare old.json new.json --json c.json");
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string line = "engine_asks was measured on the first side alone in 2 of 2 cells\n";
  EXPECT_NE(result.out.find(line), std::string::npos) << result.out;
  EXPECT_EQ(result.out.find("wire_round_trips"), std::string::npos) << "which nobody asked for";
  EXPECT_EQ(Json("c.json")["lacked"][0]["only_first"], 2);
  EXPECT_EQ(Run("compare old.json old.json").out.find("was measured"), std::string::npos);
  const CommandResult named = Run("compare old.json new.json --metric rate,wire_round_trips");
  EXPECT_NE(named.out.find("wire_round_trips was measured on neither side\n"), std::string::npos)
      << named.out;
  ExpectRefused("compare old.json new.json --metric engine_asks,wire_round_trips",
                "have no phase in which both measured engine_asks or wire_round_trips");
  EXPECT_EQ(Run("compare old.json new.json --metric engine_asks --fail-if 'rate < -30%'").code, 0);
}

// That no condition holds is not told of cells in which it could not be judged.
TEST_F(ComparingTest, AConditionOnWhatOneSideLacksInACellIsNotJudgedThere) {
  Measure();
  json other = base_;
  for (json& run : other["runs"]) {
    for (json& phase : run["phases"]) {
      if (phase["name"] == "insert") phase["account"]["engine"] = json::object();
    }
  }
  Write("old.json", base_, {1000, 1010, 990});
  Write("new.json", other, {1000, 1010, 990});
  const std::string asked = " --metric rate --fail-if 'engine_asks > 50%'";
  EXPECT_EQ(Run("compare old.json old.json" + asked).code, 0);
  const CommandResult lacking = Run("compare old.json new.json" + asked);
  EXPECT_EQ(lacking.code, 3) << lacking.out;
  EXPECT_NE(lacking.out.find("engine_asks > 50 %: cannot be told in insert, 1 thr\n"),
            std::string::npos)
      << lacking.out;
}

// Exit code 1 says that a condition holds, or that a metric got worse, and nothing else.
TEST_F(ComparingTest, AnAnswerThatCannotBeWrittenIsNoJudgement) {
  Measure();
  Write("old.json", base_, {1000, 1010, 990});
  Write("new.json", base_, {900, 910, 890});
  const std::string files = "compare old.json new.json --metric rate --fail-if ";
  EXPECT_EQ(Run(files + "'rate < -30%' >/dev/full").code, 2);
  const CommandResult full = Run(files + "'rate < -30%' --json /dev/full");
  EXPECT_EQ(full.code, 2) << full.err;
  EXPECT_NE(full.err.find("--json /dev/full cannot be written"), std::string::npos) << full.err;
  EXPECT_EQ(Run(files + "'rate < -3%' >/dev/full").code, 1) << "which is judged for sure";
  for (int night = 0; night < 8; ++night) AddNight(night, Night(night, 1000));
  const std::string check = "history check --otava none --metric rate";
  EXPECT_EQ(Run(check).code, 0);
  EXPECT_EQ(Run(check + " >/dev/full").code, 2);
}

TEST_F(ComparingTest, HistoryFindsTheNightsThatGotSlower) {
  Measure();
  AddNight(0, 1000);
  EXPECT_EQ(Run("history check --otava none").code, 3);  // too few results
  for (int night = 1; night < 12; ++night) AddNight(night, Night(night, 1000));
  const std::string check = "history check --otava none --metric rate";
  const CommandResult before = Run(check);
  EXPECT_EQ(before.code, 0) << before.out;
  for (int night = 12; night < 15; ++night) AddNight(night, Night(night, 930));
  const CommandResult after = Run(check);
  EXPECT_EQ(after.code, 1) << after.out;
  EXPECT_NE(after.out.find("slower"), std::string::npos) << after.out;
  const CommandResult shown = Run("history show");
  EXPECT_TRUE(std::regex_search(shown.out, std::regex("2026-10-15T02:00:00Z +c14 "))) << shown.out;
  EXPECT_EQ(PrintedColumns(shown.out, "Results of main"), ExplainedColumns("Results of BRANCH"));
  EXPECT_EQ(PrintedColumns(after.out, "The last 3 results against those before"),
            ExplainedColumns("The last results against those before"));
  EXPECT_EQ(Run("history check --otava none --metric engine_asks").code, 0);
  if (std::system("command -v otava >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "Apache Otava is not here (pip install apache-otava): its part is not tried";
  }
  const CommandResult otava = Run("history check --metric rate");
  EXPECT_EQ(otava.code, 1) << otava.err;
  const size_t at = otava.out.find("Change points by Apache Otava");
  ASSERT_NE(at, std::string::npos) << otava.out << otava.err;
  EXPECT_NE(otava.out.find("c12", at), std::string::npos) << otava.out;
  const std::string points = "Change points by Apache Otava";
  EXPECT_EQ(PrintedColumns(otava.out, points), ExplainedColumns(points));
}

TEST_F(ComparingTest, HistoryJudgesNoSeriesThatAnUpdateOfTheKernelEnded) {
  Measure();
  for (int night = 0; night < 12; ++night) AddNight(night, Night(night, night < 9 ? 1000 : 930));
  const std::string check = "history check --otava none --metric rate";
  EXPECT_EQ(Run(check).code, 1);
  AddNight(12, 930, "", "another");
  const CommandResult updated = Run(check);
  EXPECT_EQ(updated.code, 3) << updated.out;  // the new series has too few results
  EXPECT_NE(updated.out.find("not judged, because the newest commit was measured with other"),
            std::string::npos)
      << updated.out;
}

TEST_F(ComparingTest, HistoryNamesTheMetricThatTheNewestResultLacks) {
  Measure();
  for (int night = 0; night < 8; ++night) AddNight(night, Night(night, 1000));
  for (json& run : base_["runs"]) {
    for (json& phase : run["phases"]) {
      if (phase.contains("account")) phase["account"]["engine"] = json::object();
    }
  }
  AddNight(8, Night(8, 1000));
  const std::string check = "history check --otava none --metric ";
  const CommandResult both = Run(check + "rate,engine_asks");
  EXPECT_EQ(both.code, 0) << both.out << both.err;
  const std::string why =
      "not judged, because engine_asks is lacking in the newest result: btree insert, 1 thr; btree "
      "point-read, 1 thr\n";
  EXPECT_NE(both.out.find(why), std::string::npos) << both.out;
  EXPECT_EQ(both.out.find("other settings"), std::string::npos) << both.out;
  const CommandResult alone = Run(check + "engine_asks");
  EXPECT_EQ(alone.code, 3) << alone.out << alone.err;
  EXPECT_NE(alone.out.find(why), std::string::npos) << alone.out;
  EXPECT_NE(alone.out.find("cannot be told: no series that goes on has a value above 0\n"),
            std::string::npos)
      << alone.out;
}

// A script with a known report stands for Otava. Its change points must be read, and only those
// among the last results must decide the exit code.
TEST_F(ComparingTest, HistoryReadsTheReportOfOtava) {
  Measure();
  for (int night = 0; night < 12; ++night) AddNight(night, Night(night, 1000));
  const auto otava = [&](int result, const std::string& script) {
    std::ofstream(directory_ / "otava")
        << "#!/bin/bash\necho \"INFO: $*\" >&2\n"
        << "[[ -r ${!#} ]] && grep -q 'file: ' \"${!#}\" || exit 9\n"
        << fmt::format(
               "report='{{\"series1\": [{{\"attributes\": {{\"commit\": \"c10\", "
               "\"result\": \"{}\"}}, "
               "\"changes\": [{{\"metric\": \"rate\", \"mean_before\": \"1000.0\", "
               "\"mean_after\": \"930.0\"}}]}}]}}'\n",
               result)
        << script << "\n";
    std::filesystem::permissions(directory_ / "otava", std::filesystem::perms::owner_all);
    return Run("history check --metric rate --otava " + (directory_ / "otava").string());
  };
  const CommandResult recent = otava(10, "echo \"$report\"");
  EXPECT_EQ(recent.code, 1) << recent.out << recent.err;
  EXPECT_NE(recent.out.find("-7.0 %"), std::string::npos) << recent.out;
  EXPECT_EQ(otava(5, "echo \"$report\"").code, 0);  // an old change
  // The last result is another one of a commit whose first is old.
  AddNight(12, Night(12, 930), "c00");
  EXPECT_EQ(otava(0, "echo \"$report\"").code, 0);
  EXPECT_EQ(otava(12, "echo \"$report\"").code, 1);
  const CommandResult broken = otava(10, "echo nonsense");
  EXPECT_EQ(broken.code, 2);  // 1 would say that something got worse
  EXPECT_NE(broken.err.find("otava printed no report"), std::string::npos) << broken.err;
  // No library of an engine prints into the process that becomes Otava.
  EXPECT_EQ(std::count(broken.err.begin(), broken.err.end(), '\n'), 1) << broken.err;
  otava(10, "echo \"$report\"");
  const std::string named = "history check --metric rate --otava ";
  EXPECT_EQ(Run(named + "otava", "PATH=" + directory_.string() + ":$PATH").code, 1);
  testbed::ExpectRefused(Run(named + "no-such-otava"), "no-such-otava is not on the PATH");
  EXPECT_EQ(otava(10, "exit 3").code, 2);
  std::filesystem::remove(directory_ / "otava");
  ASSERT_EQ(Run("history export out").code, 0);
  EXPECT_EQ(Read(directory_ / "out/series1.csv").find("time,commit,result,rate,"), 0u);
  ASSERT_EQ(Run("history export out --postgres --metric rate").code, 0);
  EXPECT_NE(Read(directory_ / "out/otava.yaml").find("type: postgres"), std::string::npos);
  EXPECT_NE(Read(directory_ / "out/history.sql").find("'main', "), std::string::npos);
}

TEST_F(ComparingTest, HistoryKeepsWhatItHasAndRefusesTheRest) {
  Measure();
  ExpectRefused("history show", "--store testbed-history cannot be read");
  AddNight(0, 1000);
  std::ofstream(directory_ / "testbed-history/notes.txt") << "mine";
  for (const char* commit : {"c00", "c01"}) {
    ExpectRefused(std::string("history add night.json --commit ") + commit,
                  "testbed-history has this result already");
  }
  json other = base_;
  other["started"] = "2026-10-02T02:00:00Z";
  Write("other.json", other, {1000});
  // When one of the files is refused, none is added.
  ExpectRefused("history add other.json night.json --commit c01 --branch b",
                "testbed-history has this result already");
  ExpectRefused("history add other.json other.json --commit c01 --branch b", "is given twice");
  other["started"] = "yesterday";
  Write("undated.json", other, {1000});
  ExpectRefused("history add other.json undated.json --commit c01 --branch b",
                "undated.json is not added, because it does not tell when it was measured");
  ExpectRefused("history show --branch b", "has no result of --branch b");
  ExpectRefused("history show --metric wire_round_trips",
                "has no result of --branch main with wire_round_trips");
  ExpectRefused("history add night.json --commit 'a b'", "--commit 'a b' is no name");
  ExpectRefused("history add night.json --commit c --branch ../x", "--branch '../x' is no name");
  ExpectRefused("history add nothing.json --commit c", "nothing.json cannot be read");
  ExpectRefused("history show --branch other", "has no result of --branch other");
  ExpectRefused("history check --last 2", "--last");
  json partial = base_;
  partial["partial"] = true;
  Write("partial.json", partial, {1});
  ExpectRefused("history add night.json partial.json --commit c9 --branch b",
                "partial.json is not added, because it was interrupted");
  json failed = base_;
  failed["runs"].back()["error"] = {{"sentence", "no space"}, {"exit_code", 1}};
  Write("failed.json", failed, {1});
  ExpectRefused("history add failed.json --commit c9 --branch b",
                "failed.json is not added, because a run of it failed");
  ExpectRefused("history show --branch b", "has no result");  // night.json was not added either
  EXPECT_EQ(Read(directory_ / "testbed-history/notes.txt"), "mine");
  const auto entry = [&] {
    for (const auto& file : std::filesystem::directory_iterator(directory_ / "testbed-history")) {
      if (file.path().extension() == ".json") return file.path();
    }
    return std::filesystem::path();
  }();
  std::filesystem::resize_file(entry, 100);
  ExpectRefused("history show", "is damaged");
}

}  // namespace
}  // namespace testbed

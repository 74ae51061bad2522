// Tests what a page of an experiment shows besides its figures: the memory that engines held, and
// how far the figures can be trusted.
#include "tools/html/experiment_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "device/error.h"
#include "tools/experiment/plan/plan.h"
#include "tools/experiment/results_dir.h"
#include "tools/experiment/sweep/sweep.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kTwoEngines[] = R"toml(
name = "two"
title = "Two engines"
series = "round"
[options]
workload = "insert"
rows = 1000
ram = "64M"
[scale.full]
rounds = 2
[[axis]]
name = "engine"
values = ["btree", "null"]
[metrics]
rate = "insert.rate"
rows_1 = "insert.rate"
rows_2 = "insert.rate"
rows_10 = "insert.rate"
[[table]]
title = "Rates"
rows = ["engine"]
metrics = ["rate"]
[[table]]
title = "The rate of one"
rows = ["engine"]
metrics = ["rate"]
where = { engine = ["btree"] }
[[table]]
title = "The best rate"
rows = ["engine"]
metrics = ["rate"]
best = "max"
[[finding]]
id = "M1"
claim = "btree is slower"
  [[finding.part]]
  says = "btree against null"
  holds = "rate[engine=btree] < rate[engine=null]"
)toml";

constexpr char kTwoWays[] = R"toml(
name = "advise"
title = "Two ways"
[options]
engine = "btree"
workload = "insert"
rows = 1000
ram = "64M"
[scale.full]
rounds = 1
[[axis]]
name = "page-size"
values = ["4k", "8k"]
[metrics]
qps = "insert.rate"
device_reads = "insert.rate"
bytes_per_query = "insert.rate"
cpu_us = "insert.rate"
cache_pct = "insert.rate"
chosen_pct = "insert.rate"
[[table]]
title = "What was measured"
rows = ["page-size"]
metrics = ["qps"]
)toml";

// The facts in a run's document about the terms on which its engine was measured.
struct RunTerms {
  double held = 100;  // MiB
  double foreign_cpu = 0;
  double rows = 1000, rate = 5;
  std::string refused;  // an option that was not in force
  std::string error;    // the run failed
};

class ExperimentDataTest : public testing::Test {
 protected:
  ExperimentDataTest()
      : directory_(testing::TempDir() + "experiment_data_" + std::to_string(::getpid())),
        dir_(directory_) {
    std::filesystem::remove_all(directory_);
    const Experiment two = ParseExperiment(kTwoEngines, "two.toml");
    dir_.Create(two, {"full", {}, {}, {}});
    cells_ = PlanCells(two, {"full", {}, {}, {}});
  }
  ~ExperimentDataTest() override { std::filesystem::remove_all(directory_); }

  static json DocumentOf(const RunTerms& terms) {
    const double bytes = terms.held * (1 << 20);
    const json phase = {{"name", "insert"},
                        {"kind", "load"},
                        {"rate", terms.rate},
                        {"foreign_cpu_share", terms.foreign_cpu},
                        {"memory", {{"held_mean", bytes}, {"held_most", bytes}, {"limit", bytes}}}};
    json run = {{"accounting", {{"grade", "A"}}}, {"threads", 1}, {"phases", json::array({phase})}};
    if (!terms.error.empty()) run["error"] = {{"sentence", terms.error}};
    json document = {{"options", {{"rows", terms.rows}}}, {"runs", json::array({run})}};
    if (!terms.refused.empty()) {
      const json setting = {{"option", terms.refused}, {"why", "not root"}};
      document["not_in_force"] = json::array({setting});
    }
    return document;
  }
  // Writes the documents of the engine's cell, in the first `rounds` rounds.
  void Write(const std::string& engine, const RunTerms& terms, int rounds = 2) {
    for (const Cell& cell : cells_) {
      if (cell.labels.at("engine") != engine || cell.round > rounds) continue;
      dir_.WriteCell(cell, DocumentOf(terms));
    }
  }
  json Data() const {
    PageData data;
    return ExperimentJson(directory_, &data);
  }
  // Returns the sentences on how far the figures can be trusted, those that alarm with a "! ".
  static std::vector<std::string> Confidence(const json& experiment) {
    std::vector<std::string> sentences;
    for (const json& sentence : experiment.at("confidence")) {
      sentences.push_back((sentence.at("alarm").get<bool>() ? "! " : "") +
                          sentence.at("text").get<std::string>());
    }
    return sentences;
  }
  std::vector<std::string> Confidence() const { return Confidence(Data()); }

  const std::string directory_;
  ResultsDir dir_;
  std::vector<Cell> cells_;
};

constexpr char kNoForeign[] =
    "other programs used 5 % or more of the processors, in user mode, in 0 of 4 runs, 0 % at most";

TEST_F(ExperimentDataTest, TablesAndFindingsSayWhatEachEngineHeld) {
  Write("btree", {.held = 100});
  Write("null", {.held = 95});
  const json data = Data();
  ASSERT_EQ(data["tables"].size(), 3u);
  EXPECT_EQ(data["tables"][0]["held"], "btree 100 MiB, null 95 MiB");
  EXPECT_EQ(data["tables"][1]["held"], "btree 100 MiB");
  EXPECT_EQ(data["findings"][0]["held"], "btree 100 MiB, null 95 MiB");
  EXPECT_EQ(data["findings"][0]["parts"][0]["unequal_memory"], "");
  EXPECT_THAT(Confidence(data), ElementsAre(kNoForeign));
}

TEST_F(ExperimentDataTest, TheBestFigureIsMarkedWhereTheTableAsks) {
  const auto mark = [](const json& data, int table, int row) {
    return data["tables"][table]["rows"][row]["figures"][0]["mark"].get<std::string>();
  };
  Write("btree", {.rate = 5});
  Write("null", {.rate = 9});
  json data = Data();
  EXPECT_EQ(mark(data, 2, 0) + "," + mark(data, 2, 1), ",best");
  EXPECT_EQ(mark(data, 0, 1), "") << "this table marks none";
  Write("null", {.rate = 5});
  data = Data();
  EXPECT_EQ(mark(data, 2, 0) + "," + mark(data, 2, 1), "best,~");
}

TEST_F(ExperimentDataTest, UnequalMemoryIsSaidBelowAndOnceAbove) {
  Write("btree", {.held = 100});
  Write("null", {.held = 60});
  const json data = Data();
  const std::string line = "! engines held memory more than 10 % apart: btree 100 MiB, null 60 MiB";
  EXPECT_EQ(data["tables"][0]["under"], line + "\n");
  EXPECT_EQ(data["tables"][1]["under"], "") << "it compares no engines";
  EXPECT_EQ(data["findings"][0]["parts"][0]["unequal_memory"], line);
  EXPECT_THAT(Confidence(data),
              ElementsAre(kNoForeign,
                          "! engines held memory more than 10 % apart: 2 of 3 tables and 1 of 1 "
                          "finding; a line there names them"));
}

TEST_F(ExperimentDataTest, RoundsOfAnotherLengthAreSaidAbove) {
  Write("btree", {.rows = 1000});
  Write("null", {.rows = 400});
  EXPECT_THAT(Confidence(),
              ElementsAre(kNoForeign,
                          "! engines ran rounds of different length, in rows: 2 of 3 tables; a "
                          "line there names them"));
}

TEST_F(ExperimentDataTest, ALoadedMachineAndRefusedSettingsAlarm) {
  Write("btree", {.foreign_cpu = 0.43, .refused = "ram"});
  Write("null", {});
  EXPECT_THAT(Confidence(),
              ElementsAre("! not in force in 1 of 2 cells: --ram: not root",
                          "! other programs used 5 % or more of the processors, in user mode, in "
                          "2 of 4 runs, 43 % at most"));
}

// Once, a fold alone had the sentence, and the page's answer was the best way.
TEST_F(ExperimentDataTest, AdviceThatIsNotSureAlarms) {
  const std::string directory = directory_ + "_advise";
  std::filesystem::remove_all(directory);
  ResultsDir dir(directory);
  const Experiment advise = ParseExperiment(kTwoWays, "advise.toml");
  dir.Create(advise, {"full", {}, {}, {}});
  for (const Cell& cell : PlanCells(advise, {"full", {}, {}, {}})) {
    dir.WriteCell(cell, DocumentOf({}));
  }
  PageData data;
  const json page = ExperimentJson(directory, &data);
  std::filesystem::remove_all(directory);
  EXPECT_THAT(page.at("advice").get<std::string>(), HasSubstr("\nAdvice: "));
  EXPECT_THAT(Confidence(page),
              Contains("! One round cannot tell ways apart: repeat with --rounds 3 or more."));
}

TEST_F(ExperimentDataTest, ARunTellsItsRound) {
  const json document = json::parse(R"({"options": {"rows": 1000}, "runs": [
      {"accounting": {"grade": "A"}, "threads": 1, "phases": []}]})");
  for (const Cell& cell : cells_) {
    if (cell.round == 2) dir_.WriteCell(cell, document);
  }
  const json runs = Data()["cells"][0]["runs"];
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0]["round"], 2) << "the first one that finished is the second";
}

TEST_F(ExperimentDataTest, TheCommandMakesSuchResultsAnew) {
  EXPECT_EQ(Data()["command"], "testbed experiment two.toml --scale full");
  const auto command = [this](const Experiment& experiment, const PlanOptions& options) {
    const std::string directory = directory_ + "/" + experiment.name;
    ResultsDir(directory).Create(experiment, options);
    PageData data;
    return ExperimentJson(directory, &data)["command"].get<std::string>();
  };
  Experiment mine = ParseExperiment(kTwoEngines, "two.toml");
  mine.name = "mine";
  mine.file = "my files/two.toml";
  EXPECT_EQ(command(mine, {"full", {{"value-size", "400"}}, {}, {}, 5}),
            "testbed experiment 'my files/two.toml' --scale full --set value-size=400 --rounds 5");
  mine.name = "spaced";
  EXPECT_EQ(command(mine, {"full", {{"label", "my runs"}}, {}, {}, 5}),
            "testbed experiment 'my files/two.toml' --scale full --set 'label=my runs' --rounds 5");
  EXPECT_EQ(command(LoadExperiment("log-writes"), {"small", {}, {}, {}}),
            "testbed experiment log-writes --scale small");
  const std::vector<std::string> words = {"--engine", "btree,null", "--page-size",
                                          "4k",       "--rounds",   "2"};
  EXPECT_EQ(command(SweepOf(words)->experiment, {"small", {}, {}, {}, 2}),
            "testbed --engine btree,null --page-size 4k --rounds 2");
  // Once, this was the command of the sweep that the file was saved from.
  Experiment saved = SweepOf(words)->experiment;
  std::filesystem::remove_all(directory_ + "/" + saved.name);
  saved.file = "sweep.toml";
  EXPECT_EQ(command(saved, {"small", {{"value-size", "400"}}, {}, {}, 2}),
            "testbed experiment sweep.toml --scale small --set value-size=400 --rounds 2");
}

TEST_F(ExperimentDataTest, RunsThatAreMissingOrFailedAlarm) {
  Write("btree", {}, 1);
  EXPECT_THAT(Confidence(), Contains("! not run yet: 3 cells"));
  Write("btree", {});
  EXPECT_THAT(Confidence(), Contains("! not run yet: 2 cells"));
  Write("null", {});
  EXPECT_THAT(Confidence(), Each(Not(HasSubstr("not run yet"))));
  Write("null", {.error = "the disk is full"});
  EXPECT_THAT(Confidence(), Contains("! failed: engine=null: the disk is full"));
}

// Once, the command ended with what a library says of a field, without the cell or its file.
TEST_F(ExperimentDataTest, ACellThatThePageCannotReadIsNamed) {
  Write("btree", {});
  Write("null", {});
  const Cell& cell = cells_[0];
  json document = dir_.ReadCell(cell);
  const json operation = {{"name", "insert"}, {"latency_us", {{"p99", 9}}}, {"count", 1000}};
  json& phase = document["runs"][0]["phases"][0];
  phase["account"] = {{"causes", json::array()}};
  phase["operations"] = json::array({operation});
  phase["operations"][0]["latency_ns_histogram"] = json::array();
  dir_.WriteCell(cell, document);
  try {
    Data();
    ADD_FAILURE() << "a latency without its maximum is shown";
  } catch (const Error& e) {
    const std::string named = "cell \"" + cell.name + "\", round " + std::to_string(cell.round);
    EXPECT_THAT(e.what(), HasSubstr(named));
    EXPECT_THAT(e.what(), HasSubstr("are damaged"));
  }
}

TEST_F(ExperimentDataTest, ASeriesHasItsMetricsInTheOrderOfTheirNumbers) {
  Write("btree", {});
  const json data = Data();
  ASSERT_EQ(data["series"].size(), 1u);
  const json& series = data["series"][0];
  EXPECT_EQ(series["stem"], "rows");
  EXPECT_EQ(series["over"], "round");
  EXPECT_EQ(series["numbers"], json::parse("[1, 2, 10]"));
  std::vector<std::string> names;
  for (const json& place : series["metrics"]) {
    names.push_back(data["metrics"][place.get<size_t>()]["name"].get<std::string>());
  }
  EXPECT_THAT(names, ElementsAre("rows_1", "rows_2", "rows_10"));
}

}  // namespace
}  // namespace testbed

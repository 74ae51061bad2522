#include "tools/experiment/experiment.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "device/error.h"
#include "engines/registry.h"
#include "tools/experiment/expression.h"
#include "tools/experiment/plan.h"
#include "tools/experiment/report.h"
#include "tools/experiment/results.h"
#include "tools/experiment/tables.h"
#include "tools/experiment/verdict/verdict.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kSmall[] = R"toml(
name = "small"
title = "A small one"
[options]
workload = "insert,point-read"
engine = "btree"
rows = 1000
ram = "64M"
[load]
threads = 1
[scale.tiny]
options = { operations = 100 }
axes = { io = ["direct"] }
[scale.full]
options = { ram = "1G" }
rounds = 1
[[axis]]
name = "io"
values = ["direct", "buffered"]
[[axis]]
name = "page-size"
values = ["4k", { label = "big", page-size = "16k", threads = 2 }]
[[skip]]
where = { io = "buffered", page-size = "big" }
why = "for the test"
[metrics]
qps = { value = "point_read.rate", unit = "/s" }
reads = "point_read.account.device.reads / point_read.count"
[[table]]
title = "Rates"
rows = ["io"]
columns = "page-size"
metrics = ["qps"]
published = { columns = ["who", "4k"], rows = [["me", 7]] }
[[finding]]
id = "Z1"
claim = "direct is faster"
systems = "a server; btree"
mechanism = [ { when = "max(reads) < 1", says = "reads {max(reads)}" } ]
  [[finding.part]]
  says = "direct is faster than buffered"
  published = "7 against 5"
  holds = "min(qps[io=direct]) > max(qps[io=buffered])"
  ours = "{min(qps[io=direct])} against {max(qps[io=buffered])}"
  [[finding.part]]
  says = "small pages are faster"
  holds = "qps[io=direct, page-size=4k] > qps[io=direct, page-size=big]"
  false_if = "the larger page saves a read"
  [[finding.part]]
  says = "another one is slower"
  stand_in = "btree"
  holds = "min(qps) > 1000000"
[[finding]]
id = "Z2"
claim = "another engine is faster"
waits_for = ["nosuch"]
  [[finding.part]]
  says = "buffered with big pages"
  holds = "qps[io=buffered, page-size=big] > 1"
[[finding]]
id = "Z3"
claim = "cannot be"
untestable = "no way"
)toml";

Experiment Small() { return ParseExperiment(kSmall, "small.toml"); }

std::string ErrorOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(ExperimentTest, IsReadFromToml) {
  const Experiment e = Small();
  EXPECT_EQ(e.options.at("rows"), "1000");
  ASSERT_EQ(e.axes.size(), 2u);
  EXPECT_EQ(e.axes[1].values[1].label, "big");
  EXPECT_EQ(e.axes[1].values[1].options.at("threads"), "2");
  EXPECT_EQ(e.findings[0].mechanisms[0].when, "max(reads) < 1");
  ASSERT_EQ(e.findings[0].parts.size(), 3u);
  EXPECT_EQ(e.findings[0].systems, "a server; btree");
  EXPECT_EQ(e.findings[0].parts[0].published, "7 against 5");
  EXPECT_EQ(e.findings[0].parts[1].false_if, "the larger page saves a read");
  EXPECT_EQ(e.findings[0].parts[2].stand_in, "btree");
  EXPECT_EQ(e.tables[0].published[0], (std::vector<std::string>{"me", "7"}));
}

TEST(ExperimentTest, WhatIsNotKnownIsRefusedWithItsLine) {
  const auto parse = [](const std::string& text) {
    return ErrorOf([&] { ParseExperiment(text, "x.toml"); });
  };
  EXPECT_THAT(parse("name = \n"), HasSubstr("x.toml:1"));
  EXPECT_THAT(parse("name=\"a\"\ntitle=\"b\"\nfoo=1\n"), HasSubstr("x.toml:3: foo is not known"));
  EXPECT_THAT(parse("title=\"b\"\n"), HasSubstr("name is missing"));
  EXPECT_THAT(parse("name=\"a\"\ntitle=\"b\"\n"), HasSubstr("engine"));
  std::string text = kSmall;
  text.replace(text.find("columns = \"page-size\""), 21, "columns = \"nosuch\"   ");
  EXPECT_THAT(parse(text), HasSubstr("the axis nosuch"));
  text = kSmall;
  text.replace(text.find("metrics = [\"qps\"]"), 17, "metrics = [\"qqq\"]");
  EXPECT_THAT(parse(text), HasSubstr("the metric qqq"));
  const auto replaced = [&](const std::string& what, const std::string& by) {
    std::string changed = kSmall;
    return parse(changed.replace(changed.find(what), what.size(), by));
  };
  EXPECT_THAT(replaced("says = \"small", "tells = \"small"), HasSubstr("tells is not known"));
  EXPECT_THAT(replaced("holds = \"min(qps) > 1000000\"", ""), HasSubstr("a part needs holds"));
  EXPECT_THAT(replaced("min(qps) >", "min(qqq[io=direct]) >"), HasSubstr("the metric qqq"));
  EXPECT_THAT(replaced("min(qps) >", "min(qps[io=dir]) >"), HasSubstr("io = dir"));
  EXPECT_THAT(replaced("{min(qps[io=direct])}", "{min(qps[oi=direct])}"), HasSubstr("the axis oi"));
  EXPECT_THAT(replaced("max(reads) < 1", "max(reads) <"), HasSubstr("finding Z1"));
  EXPECT_THAT(ErrorOf([] { LoadExperiment("nosuch"); }), HasSubstr("read-size"));
}

TEST(ExperimentTest, CellsAreTheCombinationsOfTheAxes) {
  const std::vector<Cell> cells = PlanCells(Small(), {"full", {}, {}, {}});
  std::vector<std::string> names;
  for (const Cell& cell : cells) names.push_back(cell.name);
  EXPECT_THAT(names, ElementsAre("io=direct page-size=4k", "io=buffered page-size=4k",
                                 "io=direct page-size=big", "io=buffered page-size=big"));
  EXPECT_EQ(cells[0].load_key, cells[1].load_key) << "only pages and rows make a database";
  EXPECT_NE(cells[0].load_key, cells[2].load_key);
  EXPECT_EQ(cells[3].skipped, "for the test");
  EXPECT_EQ(cells[2].options.at("page-size"), "16k");
  EXPECT_EQ(cells[2].load_options.at("threads"), "1");
}

TEST(ExperimentTest, ARoundHasItsOwnDatabasesAndSeed) {
  PlanOptions options;
  options.scale = "full";
  EXPECT_EQ(RoundsOf(Small(), options), 1) << "as the scale says";
  EXPECT_EQ(RoundsOf(Small(), {"0.5", {}, {}, {}, {}}), 1) << "a part of the full scale";
  EXPECT_EQ(RoundsOf(Small(), {"tiny", {}, {}, {}, {}}), 1);
  options.rounds = 3;
  EXPECT_EQ(RoundsOf(Small(), options), 3);
  std::string text = kSmall;
  text.replace(text.find("rounds = 1\n"), 11, "");
  EXPECT_EQ(RoundsOf(ParseExperiment(text, "x"), {"full", {}, {}, {}, {}}), 3);
  text = kSmall;
  text.replace(text.find("rounds = 1\n"), 11, "rounds = 0\n");
  EXPECT_THAT(ErrorOf([&] { ParseExperiment(text, "x"); }), HasSubstr("rounds must be"));

  const std::vector<Cell> cells = PlanCells(Small(), options);
  ASSERT_EQ(cells.size(), 12u);
  for (size_t i = 0; i < cells.size(); ++i) {
    EXPECT_EQ(cells[i].round, static_cast<int>(i / 4) + 1) << "one round after the other";
  }
  // What is late in each round would look slow on a machine that slows down.
  const auto orders = [&](const std::string& experiment) {
    PlanOptions six = options;
    six.rounds = 6;
    std::set<std::vector<std::string>> found;
    const std::vector<Cell> all = PlanCells(ParseExperiment(experiment, "x"), six);
    for (size_t round = 0; round < 6; ++round) {
      std::vector<std::string> names;
      size_t loads = 0;
      for (size_t i = 4 * round; i < 4 * round + 4; ++i) {
        names.push_back(all[i].name);
        loads += !all[i].load_key.empty() && (i == 0 || all[i].load_key != all[i - 1].load_key);
      }
      found.insert(names);
      EXPECT_EQ(loads, 2u) << "cells with one database stand together";
    }
    return found;
  };
  EXPECT_GT(orders(kSmall).size(), 2u);
  EXPECT_EQ(orders("in-order = true\n" + std::string(kSmall)).size(), 1u);
  std::set<std::string> loads;
  for (const Cell& cell : cells) {
    if (cell.load_key.empty()) continue;
    const auto seed = static_cast<uint64_t>(41 + cell.round);
    EXPECT_EQ(CellRunOptions(cell.options).data.seed, seed);
    EXPECT_EQ(CellRunOptions(cell.options).workload.seed, seed);
    EXPECT_EQ(CellRunOptions(cell.load_options).data.seed, seed);
    loads.insert(cell.load_key);
  }
  EXPECT_EQ(loads.size(), 6u) << "two in each round";
  options.set["page-size"] = "4k";
  EXPECT_THAT(ErrorOf([&] { PlanCells(Small(), options); }), HasSubstr("--only page-size=LABEL"));
  options.set.erase("page-size");
  options.set["seed"] = "7";
  EXPECT_EQ(PlanCells(Small(), options)[11 - 3].options.at("seed"), "9");
}

TEST(ExperimentTest, ScalesSetOptionsAndChooseValues) {
  EXPECT_EQ(PlanCells(Small(), {"tiny", {}, {}, {}}).size(), 2u);
  const std::vector<Cell> half = PlanCells(Small(), {"0.5", {}, {}, {}});
  EXPECT_EQ(half[0].options.at("ram"), std::to_string(512 << 20));
  EXPECT_THAT(ErrorOf([] { PlanCells(Small(), {"huge", {}, {}, {}}); }), HasSubstr("full, tiny"));
  PlanOptions only{"tiny", {{"ram", "128M"}}, {{"io", {"buffered"}}}, {}};
  const std::vector<Cell> cells = PlanCells(Small(), only);
  EXPECT_EQ(cells[0].labels.at("io"), "buffered") << "the user's choice goes before the scale's";
  EXPECT_EQ(cells[0].options.at("ram"), "128M");
  only.only = {{"nosuch", {"x"}}};
  EXPECT_THAT(ErrorOf([&] { PlanCells(Small(), only); }), HasSubstr("nosuch"));
}

TEST(ExperimentTest, AnEngineMayHaveOptionsOfItsOwnAtAScale) {
  std::string text = kSmall;
  text += "[engine.btree]\nthreads = 3\nseconds = 7\n[scale.tiny.engine.btree]\nthreads = 5\n";
  text += "[scale.tiny.engine.rocksdb]\nthreads = 6\n";
  const auto cell = [&](const char* scale) {
    return PlanCells(ParseExperiment(text, "x"), {scale, {}, {}, {}})[0].options;
  };
  EXPECT_EQ(cell("tiny").at("threads"), "5");
  EXPECT_EQ(cell("tiny").at("seconds"), "7");
  EXPECT_EQ(cell("full").at("threads"), "3");
}

#ifdef TESTBED_HAVE_INNODB
// innodb:sql has innodb's options, and reads the database that innodb:handler loaded.
TEST(ExperimentTest, AVariantOfAnEngineSharesItsDatabase) {
  std::string text = kSmall;
  text.replace(text.find("values = [\"direct\", \"buffered\"]"), 31,
               "values = [{ label = \"direct\", engine = \"innodb\" }, "
               "{ label = \"buffered\", engine = \"innodb:sql\" }]");
  text += "[engine.innodb]\ncache-pct = 33\n";
  std::set<std::string> loads;
  for (const Cell& cell : PlanCells(ParseExperiment(text, "x"), {"full", {}, {}, {}})) {
    if (!cell.skipped.empty()) continue;  // the library may not be there
    EXPECT_TRUE(cell.runs()) << cell.name;
    EXPECT_EQ(cell.options.at("cache-pct"), "33");
    if (!cell.labels.at("page-size").starts_with("big")) loads.insert(cell.load_key);
  }
  EXPECT_LE(loads.size(), 1u);
}
#endif

TEST(ExperimentTest, ALoadMayHaveOtherMemoryButTheSameRows) {
  std::string text = kSmall;
  text.replace(text.find("rows = 1000"), 11, "db-ratio = 2");
  text += "[engine.btree]\npage-size = \"8k\"\nload = { ram = \"auto\" }\n";
  const Cell cell = PlanCells(ParseExperiment(text, "x"), {"full", {}, {}, {}})[0];
  const RunOptions run = CellRunOptions(cell.options), load = CellRunOptions(cell.load_options);
  EXPECT_EQ(run.ram_bytes, 1ull << 30);
  EXPECT_NE(load.ram_bytes, run.ram_bytes);
  EXPECT_EQ(load.data.rows, run.data.rows);
  EXPECT_EQ(load.threads, std::vector<int>{1});
}

TEST(ExperimentTest, ASkipMayBeOfOneScale) {
  std::string text = kSmall;
  text.replace(text.find("why = "), 6, "scale = \"full\"\nwhy = ");
  const auto skipped = [&](const char* scale) {
    return !PlanCells(ParseExperiment(text, "x"), {scale, {}, {{"io", {"buffered"}}}, {}})[1]
                .skipped.empty();
  };
  EXPECT_TRUE(skipped("full"));
  EXPECT_FALSE(skipped("tiny"));
  text.replace(text.find("scale = \"full\""), 14, "scale = \"big\" ");
  EXPECT_THAT(ErrorOf([&] { ParseExperiment(text, "x"); }), HasSubstr("the scale big"));
}

TEST(ExperimentTest, ShufflingKeepsCellsOfOneDatabaseTogether) {
  std::set<std::string> first;
  for (uint64_t seed = 1; seed < 30; ++seed) {
    const std::vector<Cell> cells = PlanCells(Small(), {"full", {}, {}, seed});
    ASSERT_EQ(cells.size(), 4u);
    first.insert(cells[0].name);
    std::set<std::string> closed;
    for (size_t i = 1; i < cells.size(); ++i) {
      if (cells[i].load_key.empty() || cells[i].load_key == cells[i - 1].load_key) continue;
      closed.insert(cells[i - 1].load_key);
      EXPECT_FALSE(closed.contains(cells[i].load_key));
    }
  }
  EXPECT_GT(first.size(), 2u);
}

TEST(ExperimentTest, CellsOfEnginesThatAreNotThereWait) {
  std::string text = kSmall;
  text.replace(text.find("values = [\"direct\", \"buffered\"]"), 31,
               "values = [\"direct\", { label = \"buffered\", engine = \"nosuch\" }]");
  for (const Cell& cell : PlanCells(ParseExperiment(text, "x"), {"full", {}, {}, {}})) {
    const bool there = cell.labels.at("io") == "direct";
    EXPECT_EQ(cell.runs(), there) << cell.name;
    if (!there && cell.skipped.empty()) {
      EXPECT_EQ(cell.waits_for, "nosuch") << cell.name;
    }
  }
}

TEST(ExperimentTest, EveryShippedExperimentPlansAtEveryScale) {
  for (const auto& [name, text] : ShippedExperiments()) {
    const Experiment e = LoadExperiment(name);
    EXPECT_EQ(e.name, name);
    EXPECT_TRUE(e.scales.contains("tiny")) << name;
    EXPECT_TRUE(e.scales.contains("small")) << name;
    EXPECT_TRUE(e.scales.contains("full")) << name;
    for (const auto& [scale, unused] : e.scales) {
      for (const Cell& cell : PlanCells(e, {scale, {}, {}, {}})) {
        // A cell may be more than an engine can; an option that is none is a mistake in the file.
        EXPECT_THAT(cell.skipped, testing::Not(HasSubstr("not expected"))) << name;
        EXPECT_THAT(cell.skipped, testing::Not(HasSubstr("has no --"))) << name;
        EXPECT_THAT(cell.skipped, testing::Not(HasSubstr("is not one of"))) << name;
        EXPECT_THAT(cell.skipped, testing::Not(HasSubstr("cannot be loaded"))) << name;
      }
    }
  }
}

TEST(ExpressionTest, FiguresAreNumbersByPath) {
  const Figures figures = {{"a.b", 6}, {"c", 2}};
  EXPECT_EQ(EvaluateFigures("a.b / c + 1", figures), 4);
  EXPECT_TRUE(std::isnan(EvaluateFigures("a.b / nosuch", figures)));
  EXPECT_EQ(EvaluateFigures("within(a.b, 5.9, 0.05) && max(1, c) == 2", figures), 1);
  EXPECT_THAT(ErrorOf([&] { EvaluateFigures("a.b / (", figures); }), HasSubstr("a.b / ("));
}

TEST(ExpressionTest, ASelectionIsAListOfArguments) {
  const auto is_metric = [](const std::string& name) { return name == "qps"; };
  const auto cells_of = [](const Selection& selection) -> Statement::Groups {
    if (selection.where.empty()) return {{0}, {1}, {2}};
    if (selection.where.at("io")[0] == "none") return {};
    return selection.where.at("io").size() == 2 ? Statement::Groups{{3}, {0, 4}}
                                                : Statement::Groups{{5}};
  };
  // The figures of cells 0 to 5.
  const std::vector<double> qps = {1, 2, 3, 4, 9, -4};
  const auto value = [&](const std::string& text) {
    const Statement statement(text, is_metric, cells_of);
    std::vector<double> values;
    for (const Statement::Figure& figure : statement.figures()) values.push_back(qps[figure.cell]);
    return statement.Evaluate(values);
  };
  EXPECT_EQ(value("max(qps)"), 3);
  EXPECT_EQ(value("count(qps) + qps[io=a] * 1e2"), -397);
  EXPECT_EQ(value("sum(qps[io = a | b])"), 4 + 5) << "the second argument is the mean of 1 and 9";
  EXPECT_EQ(value("qps[io=a] < 0 && max(qps) > 2"), 1);
  EXPECT_TRUE(std::isnan(value("max(qps[io=none])")));
  EXPECT_THAT(ErrorOf([&] { value("max(qps[io)"); }), HasSubstr("not closed"));
  EXPECT_THAT(ErrorOf([&] { value("max(qps[io])"); }), HasSubstr("axis=label"));
  EXPECT_THAT(ErrorOf([&] { value("max(p99[io=a])"); }), HasSubstr("the metric p99"));
  EXPECT_THAT(ErrorOf([&] { value("max(qps) > nosuch"); }), HasSubstr("nosuch"));
}

TEST(ExpressionTest, TextsHaveExpressionsInBraces) {
  EXPECT_THAT(ExpressionsIn("a {b} c {d + 1}, {open"), ElementsAre("b", "d + 1"));
  EXPECT_EQ(FillExpressions("a {b}{c} {open", [](const std::string& e) { return e + e; }),
            "a bbcc {open");
}

// Tests run beside each other, each in a process of its own.
std::string UniqueDirectory() {
  return testing::TempDir() + "experiment_results_" + std::to_string(::getpid());
}

// Results documents as a run writes them, with the figures that the small experiment uses.
class ResultsTest : public testing::Test {
 protected:
  ResultsTest() : directory_(UniqueDirectory()), dir_(directory_) {
    std::filesystem::remove_all(directory_);
    dir_.Create(Small(), {"full", {}, {}, {}});
    cells_ = PlanCells(Small(), {"full", {}, {}, {}});
  }
  ~ResultsTest() override { std::filesystem::remove_all(directory_); }

  static json Run(double rate) {
    return {{"accounting", {{"grade", "A"}}},
            {"threads", 1},
            {"phases",
             {{{"name", "point-read"},
               {"kind", "measure"},
               {"operations",
                {{{"name", "a"}, {"count", 3}, {"latency_us", {{"p99", 99}}}},
                 {{"name", "b"}, {"count", 97}, {"latency_us", {{"p99", 12}}}}}},
               {"rate", rate},
               {"count", 100},
               {"series", {{{"operations", 5}}}},
               {"thread_seconds", {1.0, 3.0}},
               {"account", {{"device", {{"reads", 50}}}}}},
              {{"name", "settle"}, {"seconds", 1}},
              {{"name", "settle"}, {"seconds", 2}}}}};
  }
  // The rates of the repeats.
  void Write(size_t cell, std::vector<double> rates, json not_in_force = json::array()) {
    json document = {{"runs", json::array()},
                     {"options", {{"page_size", 4096}}},
                     {"not_in_force", not_in_force}};
    for (double rate : rates) document["runs"].push_back(Run(rate));
    dir_.WriteCell(cells_[cell], document);
  }
  // One rate for each round.
  void WriteRounds(size_t cell, std::vector<double> rates) {
    for (size_t round = 0; round < rates.size(); ++round) {
      Write(cell + round * cells_.size() / static_cast<size_t>(rounds_), {rates[round]});
    }
  }
  void PlanRounds(int rounds) {
    rounds_ = rounds;
    PlanOptions options;
    options.scale = "full";
    options.rounds = rounds;
    dir_.Create(Small(), options);
    cells_ = PlanCells(Small(), options);
    // Cells are named by their number in the first round here.
    const std::vector<Cell> planned = cells_;
    const size_t n = cells_.size() / static_cast<size_t>(rounds);
    for (size_t i = n; i < cells_.size(); ++i) {
      const size_t begin = i / n * n;
      cells_[i] = *std::find_if(planned.begin() + static_cast<ptrdiff_t>(begin), planned.end(),
                                [&](const Cell& c) { return c.name == planned[i - begin].name; });
    }
  }
  ResultSet Results() const { return ResultSet(Small(), cells_, dir_); }

  const std::string directory_;
  ResultsDir dir_;
  std::vector<Cell> cells_;
  int rounds_ = 1;
};

TEST_F(ResultsTest, FiguresHaveTheirPathsAsNames) {
  const Figures figures = FiguresOf({{"options", {{"page_size", 4096}}}}, Run(7));
  EXPECT_EQ(figures.at("point_read.rate"), 7);
  EXPECT_EQ(figures.at("point_read.account.device.reads"), 50);
  EXPECT_EQ(figures.at("point_read.thread_seconds.max"), 3);
  EXPECT_EQ(figures.at("measured.rate"), 7);
  EXPECT_EQ(figures.at("measured.operation.latency_us.p99"), 12) << "of what was done most often";
  EXPECT_EQ(figures.at("settle.seconds"), 1);
  EXPECT_EQ(figures.at("settle_2.seconds"), 2);
  EXPECT_EQ(figures.at("options.page_size"), 4096);
}

TEST_F(ResultsTest, AMeanOverAnAxisIsOneArgumentForEachGroup) {
  Write(0, {100});
  Write(1, {70, 90});
  Write(2, {80});
  const ResultSet results = Results();
  EXPECT_EQ(results.Mean(1, "qps"), 80);
  EXPECT_THAT(results.Select({}), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(results.Select({{"mean", {"page-size"}}}),
              ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
  EXPECT_THAT(results.Select({{"io", {"direct"}}, {"mean", {"page-size"}}}),
              ElementsAre(ElementsAre(0, 2)));
}

TEST_F(ResultsTest, ARoundIsOneValue) {
  PlanRounds(3);
  WriteRounds(0, {100, 110, 90});
  Write(4, {100, 120});  // repeats: their mean is the value of the second round
  WriteRounds(1, {70, 80});
  const ResultSet results = Results();
  EXPECT_EQ(results.cells().size(), 4u);
  EXPECT_EQ(results.rounds(), 3);
  EXPECT_EQ(results.Values(0, "qps"), (std::vector<double>{100, 110, 90}));
  EXPECT_EQ(results.RepeatValues(0, "qps"), (std::vector<double>{100, 100, 120, 90}));
  EXPECT_TRUE(results.finished(0));
  EXPECT_FALSE(results.finished(1)) << "its third round";
  EXPECT_TRUE(results.measured(1));
  EXPECT_EQ(results.finished_runs(), 5u);
  EXPECT_EQ(results.planned_runs(), 9u) << "of three cells that can run";
  const PartVerdict part = CheckFindings(results)[0].parts[0];
  EXPECT_EQ(part.outcome, PartVerdict::kNotMeasured);
  const std::string text = ExperimentText(results);
  EXPECT_THAT(text, testing::ContainsRegex("direct +100 ±24.8"));
  EXPECT_THAT(text, HasSubstr("5 of 9 cells in 3 rounds"));
  EXPECT_THAT(text, HasSubstr("not run yet: 4 cells"));
  EXPECT_THAT(TablesCsv(results), HasSubstr("Rates: qps (/s),direct,100,24.8"));
}

TEST_F(ResultsTest, RoundsAreAddedToADirectoryAndNotTakenAway) {
  PlanRounds(2);
  EXPECT_EQ(ResultSet::Read(directory_).rounds(), 2);
  PlanRounds(1);
  EXPECT_EQ(ResultSet::Read(directory_).rounds(), 2);
}

TEST_F(ResultsTest, CellsBesideTheScaleStayInTheDirectory) {
  PlanOptions options;
  options.scale = "tiny";
  std::filesystem::remove_all(directory_);
  dir_.Create(Small(), options);
  EXPECT_EQ(ResultSet::Read(directory_).cells().size(), 2u);
  options.only = {{"io", {"buffered"}}, {"page-size", {"4k"}}};
  dir_.Create(Small(), options);
  cells_ = PlanCells(Small(), options);
  Write(0, {5});
  const ResultSet results = ResultSet::Read(directory_);
  EXPECT_EQ(results.cells().size(), 3u);
  EXPECT_EQ(results.finished_runs(), 1u);
}

TEST_F(ResultsTest, ACellWhoseSettingsWereRefusedIsMarkedAndItsVerdictsWithheld) {
  Write(0, {100});
  Write(1, {80});
  Write(2, {90}, {{{"option", "ram"}, {"why", "only root may"}}});
  const Verdict verdict = CheckFindings(Results())[0];
  EXPECT_EQ(verdict.parts[0].outcome, PartVerdict::kWithheld);
  EXPECT_THAT(verdict.parts[0].because, HasSubstr("--ram: only root may"));
  EXPECT_EQ(VerdictText(verdict), "withheld");
  const std::string text = ExperimentText(Results());
  EXPECT_THAT(text, testing::ContainsRegex("direct +100 +90.0\\*\n"));
  EXPECT_THAT(text, HasSubstr("* not in force: --ram: only root may"));
  EXPECT_THAT(TablesCsv(Results()), HasSubstr("direct,100,90,--ram: only root may"));
}

TEST_F(ResultsTest, APartMayBeAskedAtSomeScalesAlone) {
  for (size_t cell : {0, 1, 2}) Write(cell, {100});
  const auto outcome = [&](const std::string& scales) {
    std::string text = kSmall;
    const std::string says = "says = \"direct is faster than buffered\"\n";
    text.replace(text.find(says), says.size(), says + "  scale = [" + scales + "]\n");
    const ResultSet results(ParseExperiment(text, "small.toml"), cells_, dir_);
    return CheckFindings(results)[0].parts[0].outcome;
  };
  EXPECT_EQ(outcome(R"("tiny")"), PartVerdict::kAskedElsewhere);
  EXPECT_EQ(outcome(R"("tiny", "full")"), PartVerdict::kFailsOnce);
  EXPECT_THROW(outcome(R"("nosuch")"), Error);
}

// The parts that are asked here have a verdict, which says that there are more.
TEST_F(ResultsTest, PartsOfOtherScalesAreNotCounted) {
  PlanRounds(3);
  for (size_t cell : {0, 1, 2}) WriteRounds(cell, {100, 101, 99});
  const auto verdict = [&](const char* first, const char* second) {
    const auto part = [](const char* scale, const char* holds) {
      return fmt::format(
          "  [[finding.part]]\n  says = \"x\"\n  published = \"1\"\n  ours = \"1\"\n  scale = "
          "[\"{}\"]\n  holds = \"{}\"\n",
          scale, holds);
    };
    const std::string text = std::string(kSmall) +
                             "\n[[finding]]\nid = \"Z\"\nclaim = \"z\"\n" +
                             part(first, "qps[io=direct] > 50") +
                             part(second, "qps[io=direct] > 150");
    const ResultSet results(ParseExperiment(text, "small.toml"), cells_, dir_);
    return VerdictText(CheckFindings(results).back());
  };
  EXPECT_EQ(verdict("full", "full"), "in part (1 of 2)");
  EXPECT_EQ(verdict("full", "tiny"),
            "reproduced as far as this scale asks (1 of 1; 1 more is asked at another scale)");
  EXPECT_EQ(verdict("tiny", "full"),
            "not reproduced as far as this scale asks (0 of 1; 1 more is asked at another scale)");
  EXPECT_EQ(verdict("tiny", "tiny"), "asked at another scale");
}

TEST_F(ResultsTest, AFindingIsReproducedInPartOrNot) {
  const auto verdict = [&](size_t finding) { return CheckFindings(Results())[finding]; };
  PlanRounds(3);
  WriteRounds(0, {100, 101, 99});
  WriteRounds(1, {80, 79, 81});
  WriteRounds(2, {90, 91, 92});
  EXPECT_EQ(VerdictText(verdict(0)), "reproduced") << "the stand-in is not counted";
  EXPECT_EQ(verdict(0).parts[0].ours, "91.0 against 80.0");
  EXPECT_EQ(verdict(0).parts[2].outcome, PartVerdict::kDoesNotHold);
  EXPECT_GE(verdict(0).parts[0].certainty->share(), 0.95);
  EXPECT_THAT(verdict(0).mechanisms, ElementsAre());
  WriteRounds(1, {97, 96, 95});
  EXPECT_EQ(VerdictText(verdict(0)), "in part (1 of 2)");
  EXPECT_THAT(verdict(0).mechanisms, ElementsAre("reads 0.500"));
  WriteRounds(1, {190, 191, 195});
  WriteRounds(2, {150, 149, 151});
  EXPECT_EQ(VerdictText(verdict(0)), "not reproduced");
  EXPECT_EQ(verdict(1).kind, Verdict::kWaits);
  EXPECT_EQ(verdict(1).because, "engine nosuch");
  EXPECT_EQ(verdict(2).kind, Verdict::kUntestable);
}

TEST_F(ResultsTest, WhatTheRoundsDoNotShowIsNotTold) {
  const auto verdict = [&] { return CheckFindings(Results())[0]; };
  PlanRounds(3);
  WriteRounds(0, {100, 120, 80});
  WriteRounds(1, {80, 79, 81});
  WriteRounds(2, {90, 91, 92});
  EXPECT_EQ(verdict().parts[0].outcome, PartVerdict::kCannotTell) << "80 to 120 against 80";
  EXPECT_EQ(verdict().parts[1].outcome, PartVerdict::kCannotTell);
  EXPECT_TRUE(verdict().parts[1].at_mean);
  EXPECT_THAT(OutcomeText(verdict().parts[1]),
              HasSubstr(" % of resampled rounds, and at their mean"));
  EXPECT_EQ(VerdictText(verdict()), "cannot be told (0 of 2, 2 undecided)");
  WriteRounds(0, {100, 101, 102});
  WriteRounds(1, {80, 100, 92});
  EXPECT_EQ(VerdictText(verdict()), "cannot be told (1 of 2, 1 undecided)")
      << "it may be reproduced, or in part";
  // Of a part that fails and one that cannot be told, the finding may be reproduced in part.
  WriteRounds(2, {150, 149, 151});
  EXPECT_EQ(VerdictText(verdict()), "cannot be told (0 of 2, 1 undecided)");
  const json found = FindingsJson(Results())[0];
  EXPECT_EQ(found["verdict"], VerdictText(verdict()));
  EXPECT_EQ(found["rounds"], 3);
  EXPECT_EQ(found["parts_undecided"], 1);
  EXPECT_EQ(found["parts"][0]["published"], "7 against 5");
  EXPECT_EQ(found["parts"][0]["ours"], "101 against 90.7");
  EXPECT_EQ(found["parts"][1]["outcome"], "does not hold");
  EXPECT_LE(found["parts"][1]["true_share"], 0.05);
}

TEST_F(ResultsTest, FindingsAreTablesOfMarkdown) {
  PlanRounds(3);
  WriteRounds(0, {100, 101, 99});
  WriteRounds(1, {80, 79, 81});
  WriteRounds(2, {90, 91, 92});
  const std::string text = FindingsMarkdown(Results());
  EXPECT_THAT(text, HasSubstr("3 rounds, 9 of 9 cells"));
  EXPECT_THAT(text, HasSubstr("### Z1: reproduced\n\ndirect is faster\n"));
  EXPECT_THAT(text, HasSubstr("\nSystem: a server; btree\n"));
  EXPECT_THAT(text, HasSubstr("| direct is faster than buffered | 7 against 5 | 91.0 against 80.0 "
                              "| 9"));
  EXPECT_THAT(text, HasSubstr("% | holds |\n"));
  EXPECT_THAT(text, HasSubstr("*False if the larger page saves a read.*"));
  EXPECT_THAT(text, HasSubstr("| *stand-in btree, not counted:* another one is slower |  |  "
                              "| 0.0 % | does not hold |"));
}

TEST_F(ResultsTest, RunsBesideOtherProgramsAreCountedInEachHeader) {
  PlanRounds(3);
  WriteRounds(0, {100, 101, 99});
  EXPECT_THAT(ExperimentText(Results()), testing::Not(HasSubstr("other programs"))) << "not known";
  const auto write = [this](size_t cell, const json& share) {
    json run = Run(90);
    run["phases"][0]["foreign_cpu_share"] = share;
    dir_.WriteCell(cells_[cell], {{"runs", {run}}});
  };
  write(0, 0.05);
  write(1, 0.426);
  write(2, 0.04);
  write(3, nullptr);
  const char* sentence =
      "other programs used 5 % or more of the processors in 2 of 3 runs, 43 % at most";
  const ResultSet results = Results();
  EXPECT_THAT(ExperimentText(results), HasSubstr(std::string("\n") + sentence + "\n"));
  EXPECT_THAT(FindingsMarkdown(results), HasSubstr(std::string("\nOn the machine, ") + sentence));
  const json header = FindingsJson(results)[0]["foreign_cpu"];
  EXPECT_EQ(header, (json{{"runs_known", 3}, {"runs_notable", 2}, {"most", 0.426}}));
}

TEST_F(ResultsTest, OneRoundHasNoVerdict) {
  Write(0, {100, 102});  // repeats are no rounds
  Write(1, {80, 81});
  Write(2, {110, 111});
  const Verdict verdict = CheckFindings(Results())[0];
  EXPECT_EQ(verdict.parts[0].outcome, PartVerdict::kHoldsOnce);
  EXPECT_EQ(verdict.parts[1].outcome, PartVerdict::kFailsOnce);
  EXPECT_FALSE(verdict.parts[0].certainty.has_value());
  EXPECT_EQ(VerdictText(verdict), "no verdict from one round, in which 1 of 2 parts hold");
}

TEST_F(ResultsTest, APartNeedsEveryPlannedCellThatItNames) {
  const auto part = [&](size_t i) { return CheckFindings(Results())[0].parts[i]; };
  EXPECT_EQ(part(0).outcome, PartVerdict::kNotMeasured);
  Write(0, {100});
  Write(1, {80});
  EXPECT_EQ(part(0).outcome, PartVerdict::kNotMeasured);
  EXPECT_EQ(part(0).because, "no result of io=direct page-size=big");
  EXPECT_EQ(VerdictText(CheckFindings(Results())[0]), "not measured yet");
  Write(2, {90});
  EXPECT_EQ(part(0).outcome, PartVerdict::kHoldsOnce) << "the skipped cell is not planned";
  // What is named and not planned is missed, whatever else is there.
  EXPECT_EQ(CheckFindings(Results())[1].parts[0].outcome, PartVerdict::kNotAtScale);
  EXPECT_THAT(CheckFindings(Results())[1].parts[0].because, HasSubstr("io=buffered"));
}

TEST_F(ResultsTest, TablesHaveRowsColumnsAndThePublishedFigures) {
  Write(0, {100});
  Write(1, {10, 20, 30});
  Write(2, {90});
  const std::string text = ExperimentText(Results());
  EXPECT_THAT(text, HasSubstr("page-size=4k  page-size=big"));
  EXPECT_THAT(text, testing::ContainsRegex("direct +100 +90"));
  EXPECT_THAT(text, testing::ContainsRegex("buffered +20.0 ±24.8"));
  EXPECT_THAT(text, testing::ContainsRegex("me +7"));
  EXPECT_THAT(text, HasSubstr("3 of 3 cells; 5 runs of grade A"));
  EXPECT_THAT(text, HasSubstr("not run: 1 cells: for the test"));
  EXPECT_THAT(ResultSet::Read(directory_).experiment().name, "small");
}

TEST_F(ResultsTest, ADirectoryOfAnotherExperimentIsRefused) {
  dir_.Create(Small(), {"full", {}, {}, {}});
  EXPECT_THAT(ErrorOf([&] { dir_.Create(Small(), {"tiny", {}, {}, {}}); }), HasSubstr("--scale"));
  Experiment other = Small();
  other.text += "#";
  EXPECT_THAT(ErrorOf([&] {
                dir_.Create(other, {"full", {}, {}, {}});
              }),
              HasSubstr("another experiment"));
  std::filesystem::create_directories(directory_ + "/x");
  std::ofstream(directory_ + "/x/file") << "mine";
  ResultsDir foreign(directory_ + "/x");
  EXPECT_THAT(ErrorOf([&] {
                foreign.Create(Small(), {"full", {}, {}, {}});
              }),
              HasSubstr("not empty"));
}

}  // namespace
}  // namespace testbed

// Tests that results are read as they were measured, wherever and by whatever version they are
// read: the names of their figures, their loads and memory, their engines and hosts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engines/registry.h"
#include "tests/unit/tools/experiment/small_results.h"
#include "tools/experiment/expression.h"
#include "tools/experiment/figures.h"
#include "tools/experiment/report.h"
#include "tools/experiment/results.h"
#include "tools/experiment/tables.h"
#include "tools/experiment/verdict/mixed_texts.h"
#include "tools/experiment/verdict/verdict.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

using KeptResultsTest = ResultsTest;

// A name means the same phase whether the cell loads its own database or shares one.
TEST_F(KeptResultsTest, ThePhasesOfASharedLoadComeFirst) {
  json of_load = Run(3);
  of_load["phases"] = {{{"name", "insert"}, {"kind", "load"}, {"rows_inserted", 10}, {"rate", 5}},
                       {{"name", "settle"}, {"seconds", 9}}};
  of_load["database"] = {{"bytes", 77}, {"files", 2}};
  json run = Run(7);
  run["database"] = {{"bytes", 88}};
  const json load = {{"options", {{"page_size", 1}, {"ram", 4}}}, {"runs", {of_load}}};
  const Figures shared = FiguresOf({{"options", {{"page_size", 4096}}}}, run, load);
  EXPECT_EQ(shared.at("settle.seconds"), 9);
  EXPECT_EQ(shared.at("settle_2.seconds"), 1);
  EXPECT_EQ(shared.at("settle_3.seconds"), 2);
  EXPECT_EQ(shared.at("measured.rate"), 7);
  EXPECT_EQ(shared.at("loaded.rows"), 10);
  EXPECT_EQ(shared.at("options.page_size"), 4096) << "the run's own";
  EXPECT_EQ(shared.at("options.ram"), 4);
  EXPECT_EQ(shared.at("database.bytes"), 88);
  EXPECT_EQ(shared.at("database.files"), 2);
  json own = run;
  own["phases"].insert(own["phases"].begin(), of_load["phases"].begin(), of_load["phases"].end());
  for (const auto& [name, value] : FiguresOf({}, own)) EXPECT_EQ(shared.at(name), value) << name;
}

// A settle counts against the phase before it, also where a shared load has settled. An LSM-tree
// leaves most of its compactions to it.
TEST_F(KeptResultsTest, WhatASettleWroteIsOfThePhaseBeforeIt) {
  const auto phase = [](const char* name, const char* kind, double written) {
    nlohmann::json made = {{"name", name}, {"kind", kind}};
    made["account"]["own"]["write_bytes"] = written;
    return made;
  };
  json of_load = {{"threads", 1}}, run = {{"threads", 1}};
  of_load["phases"] = json::array({phase("insert", "load", 100), phase("settle", "settle", 30)});
  run["phases"] = json::array({phase("ycsb-c", "measure", 1), phase("ycsb-a", "measure", 7),
                               phase("settle", "settle", 5), phase("settle", "settle", 2)});
  json load;
  load["runs"] = json::array({of_load});
  const Figures figures = FiguresOf(json::object(), run, load);
  EXPECT_EQ(figures.at("insert.write_bytes_with_settle"), 130);
  EXPECT_EQ(figures.at("ycsb_c.write_bytes_with_settle"), 1);
  EXPECT_EQ(figures.at("ycsb_a.write_bytes_with_settle"), 14);
  EXPECT_EQ(figures.at("measured.write_bytes_with_settle"), 14);
  EXPECT_FALSE(figures.contains("settle.write_bytes_with_settle"));
  run["phases"][2]["account"].erase("own");
  EXPECT_FALSE(FiguresOf(json::object(), run, load).contains("measured.write_bytes_with_settle"))
      << "what a settle wrote is not known";
}

// Once, tables of a tiny scale had the 99th percentile of a hundred operations.
TEST_F(KeptResultsTest, APercentileOfTooFewOperationsIsNoFigure) {
  json run = Run(7);
  json& operations = run["phases"][0]["operations"];
  operations[0]["count"] = 990;
  operations[1]["count"] = 2000;
  operations[1]["latency_us"].update({{"p50", 5}, {"p999", 40}, {"max", 60}});
  operations[1]["latency_from_intended_us"] = {{"count", 500}, {"p50", 6}, {"p99", 13}};
  const Figures figures = FiguresOf(json::object(), run);
  EXPECT_FALSE(figures.contains("point_read.operations.a.latency_us.p99"));
  for (const std::string at : {"point_read.operations.b.", "measured.operation."}) {
    EXPECT_EQ(figures.at(at + "latency_us.p99"), 12);
    EXPECT_EQ(figures.at(at + "latency_us.p50"), 5);
    EXPECT_EQ(figures.at(at + "latency_us.max"), 60);
    EXPECT_FALSE(figures.contains(at + "latency_us.p999"));
    EXPECT_EQ(figures.at(at + "latency_from_intended_us.p50"), 6);
    EXPECT_FALSE(figures.contains(at + "latency_from_intended_us.p99")) << "they have their count";
  }
}

// Chance decides which kind of a mix with equal shares is done more often. Once, cells had the
// latency of different kinds.
TEST_F(KeptResultsTest, OfAboutEquallyFrequentOperationsTheFirstOneCounts) {
  const auto slowest = [](int first, int second) {
    nlohmann::json run = Run(7);
    nlohmann::json& operations = run["phases"][0]["operations"];
    operations[0]["count"] = first;
    operations[0]["latency_us"]["max"] = 99;
    operations[1]["count"] = second;
    operations[1]["latency_us"]["max"] = 12;
    return FiguresOf({}, run).at("measured.operation.latency_us.max");
  };
  EXPECT_EQ(slowest(50000, 49000), 99);
  EXPECT_EQ(slowest(49000, 50000), 99) << "2 % is no difference of a mix";
  EXPECT_EQ(slowest(470, 530), 99) << "chance makes as much of a thousand";
  EXPECT_EQ(slowest(45000, 55000), 12);
  EXPECT_EQ(slowest(55000, 45000), 99);
}

// Engines that copy no load, such as servers, load in the cell itself.
TEST_F(KeptResultsTest, YcsbCountsWhatTheWorkLeftToSettleAndNotWhatTheLoadDid) {
  const Figures figures = {{"measured.account.own.write_bytes", 100},
                           {"measured.count", 20},
                           {"measured.operations.update.count", 10},
                           {"measured.operations.insert.count", 0},
                           {"measured.operations.read_modify_write.count", 0},
                           {"settle.account.own.write_bytes", 1e6},
                           {"settle_2.account.own.write_bytes", 40}};
  const Experiment ycsb = LoadExperiment("ycsb");
  EXPECT_EQ(EvaluateFigures(ycsb.FindMetric("write_bytes")->expression, figures), 7);
}

// Once, rounds that were added after the update of a library were averaged with those before it
// without a word.
TEST_F(KeptResultsTest, SeveralVersionsOfAnEngineAreNamed) {
  PlanRounds(2);
  const auto write = [this](size_t cell, const char* version) {
    json run = Run(90);
    run["engine"] = {{"name", "rocksdb"}, {"version", version}};
    dir_.WriteCell(cells_[cell], {{"runs", {run}}});
  };
  for (size_t cell : {0, 1, 4}) write(cell, "7.8.3");
  EXPECT_THAT(MixedTexts(Results()), testing::IsEmpty());
  write(4, "7.9.2");  // the second round of the first cell
  EXPECT_THAT(MixedTexts(Results()),
              ElementsAre("the runs are of 2 versions of rocksdb, whose differences are in the "
                          "figures: rocksdb 7.8.3; rocksdb 7.9.2"));
  write(4, "7.8.3");
  write(1, "7.9.2");
  EXPECT_EQ(MixedTexts(Results()).size(), 1u) << "a cell that is compared with the others";
  const OptionMap options = cells_[1].options;
  for (const auto& [name, value] : OptionMap{{"engine", "rocksdb@7.9.2"},
                                             {"server", "mariadb@10.1"},
                                             {"engine-option.program", "/opt/mariadbd"}}) {
    cells_[1].options = options;
    cells_[1].options[name] = value;
    EXPECT_THAT(MixedTexts(Results()), testing::IsEmpty()) << name << " chooses the version";
  }
}

// A sweep showed the rate of a phase that had no rows left after a second among those of others.
TEST_F(KeptResultsTest, CellsInWhichAPhaseEndedEarlyAreNamedUnderTheTable) {
  for (size_t cell : {0, 1, 2}) Write(cell, {90});
  EXPECT_THAT(TablesText(Results()), testing::Not(HasSubstr("ended early")));
  json run = Run(90);
  run["phases"][0]["ended_because"] = "no row is left to erase";
  dir_.WriteCell(cells_[1], {{"runs", {run}}});
  EXPECT_THAT(TablesText(Results()),
              HasSubstr("! phases ended early, because no row was left for an operation: " +
                        cells_[1].name + "\n"));
  run["phases"][0]["kind"] = "tune";
  dir_.WriteCell(cells_[1], {{"runs", {run}}});
  EXPECT_THAT(TablesText(Results()), testing::Not(HasSubstr("ended early")));
}

TEST_F(KeptResultsTest, RunsOfSeveralNumbersOfThreadsAreNoRepeats) {
  json four = Run(400);
  four["threads"] = 4;
  dir_.WriteCell(cells_[0], {{"runs", {Run(100), four}}});
  EXPECT_THAT(ErrorOf([this] { Results(); }), HasSubstr("have 1 and 4 threads, of which one"));
  four["threads"] = 1;
  dir_.WriteCell(cells_[0], {{"runs", {Run(100), four}}});
  EXPECT_EQ(Results().Mean(0, "qps"), 250);
}

// The machine that reads results may lack the engine, and plan other keys of loads.
TEST_F(KeptResultsTest, WhatWasMeasuredIsNotPlannedAgain) {
  json of_load = Run(3);
  of_load["phases"] = {{{"name", "insert"}, {"kind", "load"}, {"rate", 5}}};
  std::string text = kSmall;
  text.replace(text.find("reads = \""), 0, "load_rate = \"insert.rate\"\n");
  const Experiment e = ParseExperiment(text, "small.toml");
  for (size_t cell : {0, 1, 2}) {
    Write(cell, {100});
    dir_.WriteLoad(cells_[cell].load_key, {{"runs", {of_load}}});
  }
  std::vector<Cell> here = cells_;
  here[0].skipped = "no library of this engine here";
  here[1].waits_for = "nosuch";
  here[1].options["engine"] = "nosuch:fast";
  for (Cell& cell : here) cell.load_key = "0123456789abcdef-1";
  const ResultSet results(e, here, dir_);
  EXPECT_EQ(results.planned_runs(), 3u);
  EXPECT_EQ(results.finished_runs(), 3u);
  EXPECT_EQ(results.Mean(0, "load_rate"), 5);
  EXPECT_EQ(CheckFindings(results)[0].parts[0].outcome, PartVerdict::kFailsOnce);
  EXPECT_NE(CheckFindings(results)[1].kind, Verdict::kWaits) << "it has results of that engine";
  // A document of an earlier version has no key; what is no key of a load is none.
  json document = dir_.ReadCell(cells_[0]);
  EXPECT_EQ(LoadKeyOf(here[0], document), cells_[0].load_key);
  document["cell"]["load"] = "../cells/x";
  EXPECT_EQ(LoadKeyOf(here[0], document), "");
  document["cell"].erase("load");
  EXPECT_EQ(LoadKeyOf(here[0], document), here[0].load_key);
}

// Figures of a load of grade B were in a table whose head said that all runs had grade A.
TEST_F(KeptResultsTest, TheGradeOfARunIsNoBetterThanThatOfItsLoad) {
  json of_load = Run(3);
  of_load["accounting"]["grade"] = "B";
  for (size_t cell : {0, 1, 2}) {
    Write(cell, {100});
    dir_.WriteLoad(cells_[cell].load_key, {{"runs", {of_load}}});
  }
  EXPECT_THAT(Results().Grades(), ElementsAre(testing::Pair("B", 3)));
  json run = Run(100);
  run["accounting"]["grade"] = "C";
  dir_.WriteCell(cells_[0], {{"runs", {run}}});
  EXPECT_THAT(Results().Grades(), ElementsAre(testing::Pair("B", 2), testing::Pair("C", 1)));
}

TEST_F(KeptResultsTest, TheMemoryThatAutoStoodForStays) {
  std::filesystem::remove_all(directory_);
  std::string text = kSmall;
  text.replace(text.find("\"1G\""), 4, "\"auto\"");
  text.replace(text.find("rows = 1000"), 11, "db-ratio = 2");
  const Experiment e = ParseExperiment(text, "small.toml");
  PlanOptions there{"full", {}, {}, {}, {}};
  there.auto_ram = 40 << 20;
  dir_.Create(e, there);
  const std::vector<Cell> planned = PlanCells(e, there);
  const std::vector<Cell> read = ReadKept(dir_, {}, true).cells;
  EXPECT_EQ(read[0].options.at("ram"), "41943040");
  EXPECT_EQ(read[0].load_key, planned[0].load_key);
  EXPECT_NE(read[0].load_key, PlanCells(e, {"full", {}, {}, {}, {}})[0].load_key)
      << "of this machine";
  json header = dir_.ReadHeader();
  header.erase("auto_ram");
  std::ofstream(directory_ + "/experiment.json") << header;
  EXPECT_EQ(ReadKept(dir_, {}, true).cells[0].options.at("ram"), std::to_string(AutoRam({})))
      << "of an earlier version";
}

// Plans an engine whose library this machine lacks.
TEST_F(KeptResultsTest, AnotherMachineMayHaveTheLibrary) {
  EngineInfo absent = FindEngine("null");
  absent.name = "absent";
  absent.missing = [] { return std::string("absent needs its library"); };
  AddEngine(absent);
  std::string text = kSmall;
  text.replace(text.find("engine = \"btree\""), 16, "engine = \"absent\"");
  const Experiment e = ParseExperiment(text, "small.toml");
  PlanOptions options{"tiny", {}, {}, {}, {}};
  EXPECT_THAT(ErrorOf([&] { PlanCells(e, options); }), HasSubstr("absent needs its library"));
  std::filesystem::remove_all(directory_);
  dir_.Create(e, options);
  EXPECT_EQ(ResultSet::Read(directory_).planned_runs(), 0u);
  EXPECT_THAT(ExperimentText(ResultSet::Read(directory_)), HasSubstr("absent needs its library"));
  // The scale has these cells, which another machine may measure.
  const PartVerdict part = CheckFindings(ResultSet::Read(directory_))[0].parts[1];
  EXPECT_EQ(part.outcome, PartVerdict::kNotMeasured);
  EXPECT_THAT(part.because, HasSubstr("which does not run here: absent needs its library"));
  options.any_machine = true;
  cells_ = PlanCells(e, options);
  ASSERT_TRUE(cells_[0].runs());
  Write(0, {100});
  const ResultSet results = ResultSet::Read(directory_);
  EXPECT_EQ(results.planned_runs(), 1u);
  EXPECT_EQ(results.finished_runs(), 1u);
}

TEST_F(KeptResultsTest, AVerdictOnCellsOfSeveralHostsSaysSo) {
  const auto write = [this](size_t cell, const char* host) {
    Write(cell, {100});
    json document = dir_.ReadCell(cells_[cell]);
    document["cell"]["host"] = host;
    std::ofstream(dir_.CellFile(cells_[cell])) << document;
  };
  const std::string line = "! cells of round 1 ran on n1, n2: the differences between the cells";
  write(0, "n1");
  write(1, "n2");
  write(2, "n1");
  const std::vector<PartVerdict> parts = CheckFindings(Results())[0].parts;
  EXPECT_THAT(parts[0].hosts, ElementsAre(testing::StartsWith(line)));
  EXPECT_THAT(parts[1].hosts, testing::IsEmpty()) << "both of its cells ran on n1";
  EXPECT_THAT(FindingsText(Results()), HasSubstr("         " + line));
  EXPECT_THAT(FindingsMarkdown(Results()), HasSubstr("\n" + line));
  EXPECT_EQ(FindingsJson(Results())[0]["parts"][0]["hosts"].size(), 1u);
  write(1, "n1");
  EXPECT_THAT(ExperimentText(Results()), testing::Not(HasSubstr("ran on")));
}

}  // namespace
}  // namespace testbed

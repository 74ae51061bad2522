#include "tools/experiment/results.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "device/error.h"
#include "engines/registry.h"
#include "tests/unit/tools/experiment/small_experiment.h"
#include "tests/unit/tools/experiment/small_results.h"
#include "tools/experiment/expression.h"
#include "tools/experiment/figures.h"
#include "tools/experiment/plan/plan.h"
#include "tools/experiment/report.h"
#include "tools/experiment/sweep/explain.h"
#include "tools/experiment/tables.h"
#include "tools/experiment/verdict/mixed_texts.h"
#include "tools/experiment/verdict/verdict.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

// A run that failed does not finish its cell. What it had finished is kept until the cell is.
TEST_F(ResultsTest, ARunThatFailedIsNamedUntilItsCellIsFinished) {
  json run = Run(100);
  run["error"] = {{"sentence", "killed by SIGKILL in round 9"}, {"exit_code", 1}};
  const json failed = {{"schema", "testbed-results/1"}, {"runs", {run}}};
  const std::string file = dir_.WriteFailure(cells_[0], failed);
  EXPECT_FALSE(dir_.HasCell(cells_[0]));
  EXPECT_EQ(dir_.ReadFailure(cells_[0])["runs"][0]["phases"].size(), 3u);
  const auto failures = [this] { return Results().failures(); };
  EXPECT_THAT(failures(), ElementsAre(cells_[0].name + ": killed by SIGKILL in round 9"));
  run.erase("error");
  dir_.WriteCell(cells_[0], {{"schema", "testbed-results/1"}, {"runs", {run}}});
  EXPECT_THAT(failures(), testing::IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(file));
}

// A settling that --workload names has a place in the list of phases' seconds, and one that follows
// a load by itself has none.
TEST_F(ResultsTest, FiguresSayHowLongThePhasesWerePlanned) {
  const json run = {{"phases",
                     {{{"name", "insert"}, {"kind", "load"}},
                      {{"name", "settle"}, {"kind", "settle"}},
                      {{"name", "point-read"}, {"kind", "measure"}},
                      {{"name", "settle"}, {"kind", "settle"}},
                      {{"name", "mixed"}, {"kind", "measure"}},
                      {{"name", "scan"}, {"kind", "measure"}}}}};
  json options = {{"seconds", 20},
                  {"workload", {"insert", "point-read", "settle", "mixed", "scan"}},
                  {"phase_seconds", {10, 0, 30, 0}},
                  {"find_rate", ""}};
  const Figures figures = FiguresOf({{"options", options}}, run);
  EXPECT_EQ(figures.at("planned.phases"), 3);
  EXPECT_EQ(figures.at("planned.seconds_1"), 10);
  EXPECT_EQ(figures.at("planned.seconds_2"), 30);
  EXPECT_EQ(figures.at("planned.seconds_3"), 20);
  options["find_rate"] = "p99 < 1ms";
  EXPECT_FALSE(FiguresOf({{"options", options}}, run).contains("planned.phases"))
      << "a search measures as many phases as it needs";
}

TEST_F(ResultsTest, FiguresHaveTheirPathsAsNames) {
  const Figures figures = FiguresOf({{"options", {{"page_size", 4096}}}}, Run(7));
  EXPECT_EQ(figures.at("point_read.rate"), 7);
  EXPECT_EQ(figures.at("point_read.account.device.reads"), 50);
  EXPECT_EQ(figures.at("point_read.thread_seconds.max"), 3);
  EXPECT_EQ(figures.at("measured.rate"), 7);
  EXPECT_EQ(figures.at("measured.operation.latency_us.p99"), 12) << "of what was done most often";
  EXPECT_EQ(figures.at("measured.operations.a.latency_us.p99"), 99);
  EXPECT_EQ(figures.at("settle.seconds"), 1);
  EXPECT_EQ(figures.at("settle_2.seconds"), 2);
  EXPECT_EQ(figures.at("options.page_size"), 4096);
}

TEST_F(ResultsTest, OnlyFiguresThatAreAskedForAreKept) {
  Write(0, {100});
  const ResultSet results = Results();
  EXPECT_EQ(results.Mean(0, "qps"), 100);
  EXPECT_TRUE(std::isnan(results.Figure(0, "held.bytes"))) << "the document has no memory";
  try {
    (void)results.Figure(0, "point_read.thread_seconds.max");
    ADD_FAILURE() << "a figure that no metric computes with is kept";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("point_read.thread_seconds.max is not among those"));
  }
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
  const std::string csv = CellsCsv(results);
  EXPECT_THAT(csv, testing::StartsWith(
                       "experiment,scale,round,io,page-size,qps,reads,not_in_force\nsmall,"));
  EXPECT_THAT(csv, HasSubstr(",1,direct,4k,100,")) << csv;
  EXPECT_THAT(csv, HasSubstr(",2,direct,4k,110,"));
  EXPECT_THAT(csv, HasSubstr(",2,buffered,4k,80,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 5) << "a row for each cell and round";
}

// Runs on one load agree with each other better than loads do, and cells that a table puts into one
// figure may differ by design: neither is a spread of the figure.
TEST_F(ResultsTest, OneRoundHasNoInterval) {
  Write(0, {100, 140});  // io=direct page-size=4k: two runs on one load
  Write(2, {60});        // io=direct page-size=big
  Experiment e = Small();
  TableSpec table;
  table.title = "One figure for each way of reading";
  table.rows = {"io"};
  table.metrics = {"qps"};
  e.tables = {table};
  const std::string text = ExperimentText(ResultSet(e, cells_, dir_));
  EXPECT_THAT(text, testing::ContainsRegex("direct +90\\.0\n")) << text;
  EXPECT_THAT(text, testing::Not(HasSubstr("±")));
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
  EXPECT_THAT(CellsCsv(Results()),
              testing::ContainsRegex("direct,big,90,[^,]*,\"?--ram: only root may"));
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

// The parts that are asked at this scale get a verdict, which must say that there are others.
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
    const std::string text = std::string(kSmall) + "\n[[finding]]\nid = \"Z\"\nclaim = \"z\"\n" +
                             part(first, "min(qps[io=direct]) > 50") +
                             part(second, "min(qps[io=direct]) > 150");
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

// When the published system cannot be asked, the verdict says of which systems it is.
TEST_F(ResultsTest, AVerdictOnStandInsAloneSaysSo) {
  PlanRounds(3);
  for (size_t cell : {0, 1, 2}) WriteRounds(cell, {100, 101, 99});
  const auto finding = [&](const std::string& second) {
    const auto part = [](const std::string& stand_in) {
      return "  [[finding.part]]\n  says = \"x\"\n" + stand_in +
             "  holds = \"min(qps[io=direct]) > 50\"\n";
    };
    return ResultSet(
        ParseExperiment(std::string(kSmall) + "\n[[finding]]\nid = \"Z\"\nclaim = \"z\"\n" +
                            part("  stand_in = \"a prototype\"\n") + part(second),
                        "small.toml"),
        cells_, dir_);
  };
  const ResultSet alone = finding("  stand_in = \"btree\"\n");
  const Verdict verdict = CheckFindings(alone).back();
  EXPECT_EQ(VerdictText(verdict), "reproduced, on a stand-in alone (a prototype; btree)");
  EXPECT_EQ(verdict.counted, 2u);
  EXPECT_EQ(FindingsJson(alone).back()["on_stand_in"], "a prototype; btree");
  EXPECT_THAT(FindingsMarkdown(alone), HasSubstr("| *stand-in a prototype:* x |"));
  const ResultSet beside = finding("");
  EXPECT_EQ(VerdictText(CheckFindings(beside).back()), "reproduced");
  EXPECT_EQ(CheckFindings(beside).back().counted, 1u);
  EXPECT_THAT(FindingsMarkdown(beside), HasSubstr("| *stand-in a prototype, not counted:* x |"));
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
  WriteRounds(1, {96, 97, 97});
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
  // With one part that fails and one that cannot be told, the finding may still be reproduced in
  // part.
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
      "other programs used 5 % or more of the processors, in user mode, in 2 of 3 runs, 43 % at "
      "most";
  const ResultSet results = Results();
  EXPECT_THAT(ExperimentText(results), HasSubstr(std::string("\n") + sentence + "\n"));
  EXPECT_THAT(FindingsMarkdown(results), HasSubstr(std::string("\nOn the machine, ") + sentence));
  const json header = FindingsJson(results)[0]["foreign_cpu"];
  EXPECT_EQ(header, (json{{"runs_known", 3}, {"runs_notable", 2}, {"most", 0.426}}));
  json run = Run(90);
  run["phases"][0]["foreign_cpu_share"] = 0.3;
  const json engine = {{"connect", "mysql://me@localhost/"}};
  dir_.WriteCell(cells_[2], {{"runs", {run}}, {"options", {{"engine_options", engine}}}});
  EXPECT_THAT(ExperimentText(Results()), HasSubstr("\nother programs, the server of --connect "
                                                   "included where it is on this host, used 5 %"));
}

// The commits between two releases have one version, and hosts may have different ones installed.
TEST_F(ResultsTest, RunsOfSeveralBuildsOfAVersionAreNamed) {
  const auto write = [this](size_t cell, const char* commit) {
    const json build = {{"commit", commit}, {"type", "Release"}};
    dir_.WriteCell(cells_[cell], {{"runs", {Run(90)}}, {"testbed", "1.0"}, {"build", build}});
  };
  for (size_t cell : {0, 1}) write(cell, "abc");
  EXPECT_THAT(MixedTexts(Results()), testing::IsEmpty());
  write(2, "def");
  EXPECT_THAT(MixedTexts(Results()),
              ElementsAre("the runs are of 2 builds of testbed, whose differences are in the "
                          "figures: 1.0, abc, Release; 1.0, def, Release"));
}

// Once, rounds of two machines were averaged without a word.
TEST_F(ResultsTest, RunsOfSeveralMachinesOrVersionsAreNamed) {
  PlanRounds(3);
  const auto write = [this](size_t cell, const char* processor, const char* version, uint64_t ram) {
    dir_.WriteCell(cells_[cell],
                   {{"runs", {Run(90)}},
                    {"testbed", version},
                    {"options", {{"ram", ram}, {"rows", 1000}}},
                    {"machine", {{"cpu_model", processor}, {"kernel", "6.1"}, {"cpus", "2"}}}});
  };
  write(0, "EPYC", "1.0", 1 << 20);
  write(1, "EPYC", "1.0", 2 << 20);  // another cell may have other memory
  EXPECT_THAT(MixedTexts(Results()), testing::IsEmpty());
  write(4, "Xeon", "1.1", 3 << 20);  // the second round of the first cell
  const ResultSet results = Results();
  const std::string machines = "the runs are of 2 machines, whose differences are in the figures: ";
  EXPECT_THAT(MixedTexts(results),
              ElementsAre(testing::StartsWith(machines + "EPYC, 2 processors"),
                          "the runs are of 2 builds of testbed, whose differences are in the "
                          "figures: 1.0; 1.1",
                          "the rounds of " + cells_[0].name +
                              " had different --ram: 1048576, "
                              "3145728"));
  EXPECT_THAT(ExperimentText(results), HasSubstr("\n! " + machines));
  EXPECT_THAT(FindingsMarkdown(results), HasSubstr("\n! " + machines));
  const json finding = FindingsJson(results)[0];
  EXPECT_EQ(finding["machines"].size(), 2u);
  EXPECT_EQ(finding["versions"], (json{"1.0", "1.1"}));
  EXPECT_EQ(finding["mixed"].size(), 3u);
}

// Assertions cost an engine time, which a comparison with others must not hide.
TEST_F(ResultsTest, AnEngineWhoseLibraryHasAssertionsIsNamedBesideOthers) {
  const auto write = [this](size_t cell, const char* engine, const char* assertions) {
    json run = Run(90);
    run["engine"] = {{"name", engine}, {"version", "7.8.3"}, {"effective", json::object()}};
    if (assertions != nullptr) run["engine"]["effective"]["assertions"] = assertions;
    dir_.WriteCell(cells_[cell], {{"runs", {run}}});
  };
  write(0, "rocksdb", "on");
  write(1, "rocksdb", "on");
  EXPECT_THAT(MixedTexts(Results()), testing::IsEmpty()) << "it is compared with itself alone";
  write(1, "btree", nullptr);
  const std::string sentence = "the library of rocksdb 7.8.3 has assertions, which cost it time";
  EXPECT_THAT(MixedTexts(Results()), ElementsAre(testing::StartsWith(sentence)));
  EXPECT_THAT(ExperimentText(Results()), HasSubstr("\n! " + sentence));
  EXPECT_THAT(FindingsMarkdown(Results()), HasSubstr("\n! " + sentence));
  write(0, "rocksdb", "off");
  EXPECT_THAT(MixedTexts(Results()), testing::IsEmpty());
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
  // A cell that a part names, but that was not planned, is missing, whatever other cells exist.
  EXPECT_EQ(CheckFindings(Results())[1].parts[0].outcome, PartVerdict::kNotAtScale);
  EXPECT_THAT(CheckFindings(Results())[1].parts[0].because, HasSubstr("io=buffered"));
}

TEST_F(ResultsTest, APartThatForgetsAnAxisIsRefusedAndNeverTrue) {
  const std::string text = std::string(kSmall) +
                           "[[finding]]\nid = \"Z4\"\nclaim = \"c\"\n  [[finding.part]]\n  says = "
                           "\"x\"\n  holds = \"qps[io=direct] > 1e6 * qps[io=buffered]\"\n";
  const Experiment e = ParseExperiment(text, "small.toml");
  const char* why =
      "finding Z4: the expression qps[io=direct] > 1e6 * qps[io=buffered]: "
      "qps[io=direct] names 2 cells, which differ in page-size; ";
  EXPECT_THAT(ErrorOf([&] { CheckSelections(e, "full", cells_); }), testing::StartsWith(why));
  for (size_t cell : {0, 1, 2}) Write(cell, {100});
  const Verdict verdict = CheckFindings(ResultSet(e, cells_, dir_)).back();
  EXPECT_EQ(verdict.parts[0].outcome, PartVerdict::kAmbiguous);
  EXPECT_THAT(verdict.parts[0].because, HasSubstr("which differ in page-size"));
  EXPECT_EQ(VerdictText(verdict), "ambiguous");
  const std::vector<Cell> tiny = PlanCells(e, {"tiny", {}, {}, {}});
  EXPECT_THAT(ErrorOf([&] { CheckSelections(e, "tiny", tiny); }), HasSubstr("page-size"));
  CheckSelections(Small(), "full", cells_);
}

TEST_F(ResultsTest, WhatWasMeasuredIsNotSaidToBeUnmeasured) {
  Write(0, {100});
  Write(1, {80});
  json run = Run(90);
  run["phases"][0]["rate"] = nullptr;
  dir_.WriteCell(cells_[2], {{"runs", {run}}});
  Verdict verdict = CheckFindings(Results())[0];
  EXPECT_EQ(verdict.parts[0].outcome, PartVerdict::kFigureUnknown);
  EXPECT_EQ(OutcomeText(verdict.parts[0]),
            "figure not known (qps of io=direct page-size=big is not known)");
  EXPECT_EQ(VerdictText(verdict), "figure not known");
  Write(2, {90});
  std::string text = kSmall;
  const std::string waits = "waits_for = [\"nosuch\"]\n";
  text.erase(text.find(waits), waits.size());
  verdict = CheckFindings(ResultSet(ParseExperiment(text, "small.toml"), cells_, dir_))[1];
  EXPECT_EQ(verdict.parts[0].outcome, PartVerdict::kNotAtScale);
  EXPECT_EQ(VerdictText(verdict), "not judged at this scale");
}

// The results of an experiment may come from anybody, with the experiment in them.
TEST_F(ResultsTest, TitlesAndClaimsAreNoCommandsAndNoMarkup) {
  Experiment e = Small();
  e.title = "A\x1b[2J <script>alert(1)</script> < 5 and 1 <2";
  e.about = e.tables[0].note = e.findings[0].claim = e.findings[0].parts[0].says = e.title;
  Write(0, {100});
  const ResultSet results(e, cells_, dir_);
  const std::string shown = ShowText(e), text = ExperimentText(results);
  const std::string page = FindingsMarkdown(results);
  for (const std::string& one : {shown, text, page}) {
    EXPECT_EQ(one.find('\x1b'), std::string::npos) << one;
  }
  EXPECT_THAT(text, HasSubstr("A [2J <script>alert(1)</script> < 5 and 1 <2"));
  EXPECT_THAT(page, HasSubstr("A [2J &lt;script>alert(1)&lt;/script> < 5 and 1 <2"));
  EXPECT_THAT(page, testing::Not(HasSubstr("<script")));
}

TEST_F(ResultsTest, TablesHaveRowsColumnsAndThePublishedFigures) {
  Write(0, {100});
  Write(1, {10, 20, 30});
  Write(2, {90});
  const std::string text = ExperimentText(Results());
  EXPECT_THAT(text, HasSubstr("page-size=4k  page-size=big"));
  EXPECT_THAT(text, testing::ContainsRegex("direct +100 +90"));
  EXPECT_THAT(text, testing::ContainsRegex("buffered +20.0\n"));
  EXPECT_THAT(text, testing::ContainsRegex("me +7"));
  EXPECT_THAT(text, HasSubstr("3 of 3 cells; 5 runs of grade A"));
  EXPECT_THAT(text, HasSubstr("not run: 1 cell: for the test"));
  EXPECT_THAT(ResultSet::Read(directory_).experiment().name, "small");
}

TEST_F(ResultsTest, RelativeFiguresAreRatiosWithinTheRounds) {
  PlanRounds(3);
  WriteRounds(0, {100, 110, 90});
  WriteRounds(1, {50, 55, 45});
  WriteRounds(2, {210, 209});  // its third round is not finished
  const auto text = [&](const std::string& relative) {
    const std::string table =
        "[[table]]\ntitle = \"Steps\"\nrows = [\"io\", \"page-size\"]\n"
        "metrics = [\"qps\"]\nrelative-to = " +
        relative + "\n";
    return TablesText(ResultSet(ParseExperiment(kSmall + table, "small.toml"), cells_, dir_));
  };
  const std::string to_direct = text("{ io = \"direct\" }");
  EXPECT_THAT(to_direct, HasSubstr("Steps, relative to io=direct"));
  EXPECT_THAT(to_direct, testing::ContainsRegex("buffered 4k +0.500 ±0")) << to_direct;
  const std::string to_previous = text("{ page-size = \"previous\" }");
  EXPECT_THAT(to_previous, HasSubstr("relative to the page-size before"));
  EXPECT_THAT(to_previous, testing::ContainsRegex("direct 4k +-")) << "the first has none before";
  EXPECT_THAT(to_previous, testing::ContainsRegex("direct big +2.00 ±1.27")) << to_previous;
  EXPECT_THAT(ErrorOf([&] { text("{ io = \"mmap\" }"); }), HasSubstr("io = mmap"));
  EXPECT_THAT(ErrorOf([&] { text("{ engine = \"previous\" }"); }), HasSubstr("axis engine"));
  EXPECT_THAT(ErrorOf([&] { text("\"direct\""); }), HasSubstr("relative-to"));
}

TEST_F(ResultsTest, AStepFromAValueThatWasNotMeasuredIsNoFigure) {
  std::string toml = kSmall;
  const std::string sizes = "values = [\"4k\", {";
  toml.replace(toml.find(sizes), sizes.size(), "values = [\"4k\", \"8k\", {");
  const auto text = [&](const std::string& where) {
    const std::string table =
        "[[table]]\ntitle = \"Steps\"\nrows = [\"io\", \"page-size\"]\n"
        "metrics = [\"qps\"]\nrelative-to = { page-size = \"previous\" }\n" +
        where;
    return TablesText(ResultSet(ParseExperiment(toml + table, "small.toml"), cells_, dir_));
  };
  Write(0, {100});
  Write(2, {210});
  EXPECT_THAT(text(""), testing::ContainsRegex("direct big +-")) << "8k is before it";
  EXPECT_THAT(text("where = { page-size = [\"4k\", \"big\"] }\n"),
              testing::ContainsRegex("direct big +2.10"));
}

TEST_F(ResultsTest, ARatioIsMarkedWhenItsReferenceWasRefused) {
  Write(0, {100}, json::parse(R"([{"option": "io", "why": "no direct IO here"}])"));
  Write(1, {50});
  const std::string table =
      "[[table]]\ntitle = \"To direct\"\nrows = [\"io\"]\nmetrics = [\"qps\"]\n"
      "relative-to = { io = \"direct\" }\nwhere = { io = [\"buffered\"], page-size = [\"4k\"] }\n";
  const std::string all =
      TablesText(ResultSet(ParseExperiment(kSmall + table, "small.toml"), cells_, dir_));
  const std::string text = all.substr(all.find("To direct"));
  EXPECT_THAT(text, testing::ContainsRegex("buffered +0.500\\*"));
  EXPECT_THAT(text, HasSubstr("* not in force: "));
  EXPECT_THAT(text, HasSubstr("no direct IO here"));
}

TEST_F(ResultsTest, ARelationNeedsItsAxisInTheTable) {
  const std::string table = "[[table]]\ntitle = \"Steps\"\nrows = [\"io\"]\nmetrics = [\"qps\"]\n";
  const std::string of_size = table + "relative-to = { page-size = \"4k\" }\n";
  EXPECT_THAT(ErrorOf([&] { ParseExperiment(kSmall + of_size, "small.toml"); }),
              HasSubstr("the axis page-size, which is neither in its rows nor its columns"));
  ParseExperiment(kSmall + of_size + "columns = \"page-size\"\n", "small.toml");
}

TEST_F(ResultsTest, ADirectoryOfAnotherExperimentIsRefused) {
  dir_.Create(Small(), {"full", {}, {}, {}});
  EXPECT_THAT(ErrorOf([&] { dir_.Create(Small(), {"tiny", {}, {}, {}}); }), HasSubstr("--scale"));
  Experiment other = Small();
  other.text.replace(other.text.find("rounds = 1\n"), 11, "rounds = 12\n");
  EXPECT_NO_THROW(dir_.Create(other, {"full", {}, {}, {}})) << "rounds may be added";
  other.text += "#";
  EXPECT_THAT(ErrorOf([&] { dir_.Create(other, {"full", {}, {}, {}}); }),
              HasSubstr("another experiment"));
  std::filesystem::create_directories(directory_ + "/x");
  std::ofstream(directory_ + "/x/file") << "mine";
  ResultsDir foreign(directory_ + "/x");
  EXPECT_THAT(ErrorOf([&] { foreign.Create(Small(), {"full", {}, {}, {}}); }),
              HasSubstr("not empty"));
}

}  // namespace
}  // namespace testbed

// Tests the lines under a table whose engines were not compared on equal terms.
#include "tools/experiment/verdict/equal_terms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/experiment/plan/plan.h"
#include "tools/experiment/report.h"
#include "tools/experiment/results.h"
#include "tools/experiment/tables.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr char kText[] = R"toml(
name = "equal"
title = "Two engines, two sizes"
[options]
workload = "insert,point-read"
rows = 1000
ram = "64M"
[scale.full]
rounds = 1
[[axis]]
name = "engine"
values = ["btree", "null", "log"]
[[axis]]
name = "size"
values = [{ label = "small", rows = 1000 }, { label = "large", rows = 5000 }]
[metrics]
qps = "point_read.rate"
held = { value = "held.bytes / 1048576", unit = "MiB" }
[[table]]
title = "Rates"
rows = ["engine", "size"]
metrics = ["qps", "held"]
)toml";

// Returns the experiment with these lines among its options.
Experiment Equal(const std::string& options = "") {
  std::string text = kText;
  text.insert(text.find("[scale.full]"), options);
  return ParseExperiment(text, "equal.toml");
}

// The terms of a cell: the MiB that it held, and its planned rows, operations and seconds.
struct Terms {
  double held = 0;
  double rows = 1000, operations = 0, seconds = 20;
  double limit = 0;   // --ram in MiB; 0: not known
  double loaded = 0;  // rows that the load inserted; 0: not known
  double most = 0;    // MiB held at the moment that held most; 0: as on the mean
  // MiB in the engine's cache of 50 MiB in the last rehearsal, after one that filled its 10 MiB; 0:
  // not known
  double cached = 0;
  int phases = 2;                          // measured phases
  std::vector<double> phase_seconds = {};  // as --workload gives them to phases; empty: to none
  std::map<std::string, std::string> workload_options = {};
};

class EqualTermsTest : public testing::Test {
 protected:
  explicit EqualTermsTest(Experiment experiment = Equal())
      : experiment_(std::move(experiment)),
        directory_(testing::TempDir() + "equal_terms_" + std::to_string(::getpid())),
        dir_(directory_) {
    std::filesystem::remove_all(directory_);
    dir_.Create(experiment_, {"full", {}, {}, {}});
    // The engines null and log cannot be read from, so their cells would be skipped.
    cells_ = PlanCells(experiment_, {"full", {}, {}, {}});
    for (Cell& cell : cells_) cell.skipped.clear();
  }
  ~EqualTermsTest() override { std::filesystem::remove_all(directory_); }

  void Write(const std::string& name, const Terms& terms) {
    for (const Cell& cell : cells_) {
      if (cell.name != name) continue;
      const auto phase = [&](const char* kind, double held) {
        return json{{"name", kind == std::string("load") ? "insert" : "point-read"},
                    {"kind", kind},
                    {"rate", 5},
                    {"rows_inserted", kind == std::string("load") ? terms.loaded : 7},
                    {"memory",
                     {{"held_mean", held * (1 << 20)},
                      {"held_most", (terms.most > 0 ? terms.most : held) * (1 << 20)},
                      {"limit", terms.limit * (1 << 20)}}}};
      };
      json phases = {phase("load", terms.held * 2), phase("warm-up", terms.held * 3)};
      json workload = json::array({"insert"});
      for (int n = 1; n <= terms.phases; ++n) {
        phases.push_back(phase("measure", terms.held / n));
        workload.push_back("point-read");
      }
      dir_.WriteCell(
          cell,
          {{"options",
            {{"rows", terms.rows},
             {"operations", terms.operations},
             {"seconds", terms.seconds},
             {"workload", workload},
             {"phase_seconds", terms.phase_seconds},
             {"workload_options", terms.workload_options},
             {"ram", 100 << 20}}},
           {"cache_rehearsal",
            {{"rehearsals",
              json::array(
                  {json{{"cache_pct", 10}, {"engine_cache", terms.cached > 0 ? 10 << 20 : 0}},
                   json{{"cache_pct", 50}, {"engine_cache", terms.cached * (1 << 20)}}})}}},
           {"runs", {{{"accounting", {{"grade", "A"}}}, {"threads", 1}, {"phases", phases}}}}});
    }
  }
  // Returns the findings of an experiment whose part has the condition `holds`, as text or as
  // Markdown.
  std::string Findings(const std::string& holds, bool markdown = false) const {
    const std::string finding =
        "[[finding]]\nid = \"F1\"\nclaim = \"c\"\n  [[finding.part]]\n  says = \"x\"\n  holds = "
        "\"" +
        holds + "\"\n";
    const ResultSet results(ParseExperiment(kText + finding, "equal.toml"), cells_, dir_);
    return markdown ? FindingsMarkdown(results) : FindingsText(results);
  }
  std::string Lines() const {
    const ResultSet results(experiment_, cells_, dir_);
    std::vector<size_t> all;
    for (size_t i = 0; i < results.cells().size(); ++i) {
      if (results.measured(i)) all.push_back(i);
    }
    const std::string lines = UnequalTerms(results, all);
    EXPECT_THAT(TablesText(results), HasSubstr(lines)) << "the table has them below";
    return lines;
  }

  const Experiment experiment_;
  const std::string directory_;
  ResultsDir dir_;
  std::vector<Cell> cells_;
};

TEST_F(EqualTermsTest, MemoryThatIsMoreThanATenthApartIsNamed) {
  Write("engine=btree size=small", {100});
  Write("engine=null size=small", {90.5});
  EXPECT_EQ(Lines(), "");
  Write("engine=null size=small", {89.5});
  EXPECT_EQ(Lines(), "! engines held memory more than 10 % apart: btree 100 MiB, null 90 MiB\n");
}

TEST_F(EqualTermsTest, WhoLeftMemoryUnusedIsMarked) {
  Write("engine=btree size=small", {.held = 100, .limit = 100});
  Write("engine=null size=small", {.held = 80, .limit = 100});
  EXPECT_EQ(Lines(),
            "! engines held memory more than 10 % apart: btree 100 MiB, null (which never filled "
            "--ram) 80 MiB\n");
  Write("engine=null size=small", {.held = 80, .limit = 80});
  EXPECT_EQ(Lines(), "! engines held memory more than 10 % apart: btree 100 MiB, null 80 MiB\n")
      << "it was short of memory";
  Write("engine=null size=small", {.held = 80, .limit = 80, .cached = 10});
  EXPECT_EQ(Lines(), "! engines held memory more than 10 % apart: btree 100 MiB, null 80 MiB\n")
      << "the page cache held what its own cache did not";
}

// With direct IO an engine has no use for memory beyond its cache.
class DirectTermsTest : public EqualTermsTest {
 protected:
  DirectTermsTest() : EqualTermsTest(Equal("io = \"direct\"\n")) {}
};

TEST_F(DirectTermsTest, WhoLeftItsCacheEmptyIsMarked) {
  Write("engine=btree size=small", {.held = 60, .limit = 100, .cached = 37});
  Write("engine=null size=small", {.held = 48, .limit = 100, .cached = 38});
  EXPECT_EQ(Lines(),
            "! engines held memory more than 10 % apart: btree (which never filled its cache) 60 "
            "MiB, null 48 MiB\n");
}

// RocksDB's compactions write files, whose page cache goes with them when they are removed.
TEST_F(EqualTermsTest, WhoFilledTheMemoryForMomentsIsMarked) {
  Write("engine=btree size=small", {.held = 100, .limit = 100});
  Write("engine=null size=small", {.held = 80, .limit = 100, .most = 99});
  EXPECT_EQ(Lines(),
            "! engines held memory more than 10 % apart: btree 100 MiB, null (which filled --ram "
            "for moments only) 80 MiB\n");
}

TEST_F(EqualTermsTest, OnlyCellsThatDifferInTheEngineAloneAreCompared) {
  Write("engine=btree size=small", {50});
  Write("engine=btree size=large", {100, 5000});
  Write("engine=null size=small", {49});
  Write("engine=null size=large", {99, 5000});
  EXPECT_EQ(Lines(), "");
  Write("engine=null size=large", {60, 5000});
  Write("engine=log size=large", {80, 5000});
  EXPECT_EQ(Lines(),
            "! engines held memory more than 10 % apart: size=large: btree 100 MiB, log 80 MiB, "
            "null 60 MiB\n");
}

// Direct IO with half of the memory is not the same engine with another way of reading.
TEST_F(EqualTermsTest, WaysOfReadingThatHeldOtherMemoryAreNamed) {
  std::string text = kText;
  text.replace(text.find("rows = 1000 }"), 13, "io = \"direct\" }");
  text.replace(text.find("rows = 5000 }"), 13, "io = \"buffered\" }");
  const Experiment ways = ParseExperiment(text, "equal.toml");
  cells_ = PlanCells(ways, {"full", {}, {}, {}});
  for (Cell& cell : cells_) cell.skipped.clear();
  const auto lines = [&] {
    const ResultSet results(ways, cells_, dir_);
    return UnequalTerms(results, {0, 1});
  };
  Write("engine=btree size=small", {.held = 50, .limit = 100});
  Write("engine=btree size=large", {.held = 99, .limit = 100});
  EXPECT_EQ(lines(),
            "! ways of reading held memory more than 10 % apart: large 99 MiB, small 50 MiB\n");
  Write("engine=btree size=small", {.held = 95, .limit = 100});
  EXPECT_EQ(lines(), "");
}

TEST_F(EqualTermsTest, RoundsOfAnotherLengthAreNamed) {
  Write("engine=btree size=small", {100});
  Write("engine=null size=small", {100, 400});
  EXPECT_EQ(Lines(), "! engines ran rounds of different length, in rows: btree 1000, null 400\n");
  Write("engine=null size=small", {100, 1000, 30});
  EXPECT_THAT(Lines(), HasSubstr("in operations: null 30, btree 0\n"));
  Write("engine=null size=small", {100, 1000, 0, 10});
  EXPECT_EQ(Lines(), "! engines ran rounds of different length, in seconds: btree 20, null 10\n");
  Write("engine=null size=small", {100});
  EXPECT_EQ(Lines(), "");
}

// An example is rows_per_round of concurrent-inserts, which an experiment gives to one engine
// alone.
TEST_F(EqualTermsTest, RoundsThatAnOptionOfTheWorkloadMadeShorterAreNamed) {
  Write("engine=btree size=small", {.held = 100, .loaded = 1000});
  Write("engine=null size=small", {.held = 100, .loaded = 500});
  EXPECT_EQ(Lines(),
            "! engines ran rounds of different length, in rows that were loaded: btree 1000, null "
            "500\n");
  Write("engine=null size=small", {.held = 100, .loaded = 1000});
  EXPECT_EQ(Lines(), "");
}

// Steps of the insert benchmark that do not load are as long as these options say.
TEST_F(EqualTermsTest, AnOptionOfTheWorkloadThatPlansALengthIsNamed) {
  Write("engine=btree size=small", {.held = 100, .workload_options = {{"query_seconds", "5"}}});
  Write("engine=null size=small", {.held = 100, .workload_options = {{"query_seconds", "2.5"}}});
  EXPECT_EQ(Lines(),
            "! engines ran rounds of different length, in --workload-option query_seconds: btree "
            "5, null 2.5\n");
  Write("engine=null size=small",
        {.held = 100, .workload_options = {{"query_seconds", "5"}, {"nr2", "300"}}});
  EXPECT_EQ(Lines(),
            "! engines ran rounds of different length, in --workload-option nr2: null 300, btree "
            "by default\n");
  Write("engine=null size=small", {.held = 100, .workload_options = {{"query_seconds", "5"}}});
  EXPECT_EQ(Lines(), "");
}

// An engine may have "linkbench:2" where another has "linkbench:12".
TEST_F(EqualTermsTest, AnotherNumberOfMeasuredPhasesIsNamed) {
  Write("engine=btree size=small", {.held = 100, .phases = 12});
  Write("engine=null size=small", {.held = 100, .phases = 2});
  EXPECT_EQ(Lines(),
            "! engines ran rounds of different length, in measured phases: btree 12, null 2\n");
  Write("engine=null size=small", {.held = 100, .phases = 12});
  EXPECT_EQ(Lines(), "");
}

TEST_F(EqualTermsTest, AnotherLengthOfAPhaseIsNamed) {
  Write("engine=btree size=small", {.held = 100, .phase_seconds = {10, 30}});
  Write("engine=null size=small", {.held = 100, .phase_seconds = {10, 20}});
  EXPECT_EQ(Lines(),
            "! engines ran rounds of different length, in seconds of measured phase 2: btree 30, "
            "null 20\n");
  Write("engine=null size=small", {.held = 100, .seconds = 30, .phase_seconds = {10, 0}});
  EXPECT_EQ(Lines(), "") << "--seconds decides on a phase without a length of its own";
  Write("engine=null size=small", {.held = 100, .seconds = 10});
  EXPECT_EQ(Lines(),
            "! engines ran rounds of different length, in seconds of measured phase 2: btree 30, "
            "null 10\n")
      << "on all phases";
}

// In read-size one engine reads by mmap alone and another by direct IO alone: no cells of theirs
// differ in the engine only.
TEST_F(EqualTermsTest, APartThatComparesOtherWaysOfReadingSaysWhatTheyHeld) {
  Write("engine=btree size=small", {100});
  Write("engine=null size=large", {60, 5000});
  const char* line =
      "! engines held memory more than 10 % apart: btree size=small 100 MiB, null size=large 60 "
      "MiB";
  const std::string holds = "qps[engine=btree, size=small] > qps[engine=null, size=large]";
  EXPECT_EQ(Lines(), "") << "a table says nothing of cells that differ in more";
  EXPECT_THAT(Findings(holds), HasSubstr(std::string("\n         ") + line + "\n"));
  EXPECT_THAT(Findings(holds), HasSubstr("\n     memory held: btree 100 MiB, null 60 MiB\n"));
  EXPECT_THAT(Findings(holds, true), HasSubstr(std::string("\n\n") + line + " (of \"x\")\n"));
  EXPECT_THAT(Findings(holds, true), HasSubstr("\nMemory held: btree 100 MiB, null 60 MiB.\n"));
  Write("engine=null size=large", {95, 5000});
  EXPECT_THAT(Findings(holds), Not(HasSubstr("apart")));
}

TEST_F(EqualTermsTest, APartIsComparedTermByTermAndLikeWithLike) {
  Write("engine=btree size=small", {50});
  Write("engine=btree size=large", {100, 5000});
  Write("engine=null size=small", {49});
  Write("engine=null size=large", {99, 5000});
  EXPECT_THAT(Findings("qps[engine=btree, size=large] / qps[engine=btree, size=small] > "
                       "qps[engine=null, size=large] / qps[engine=null, size=small]"),
              Not(HasSubstr("apart")));
  EXPECT_THAT(Findings("qps[engine=btree, size=large] > qps[engine=btree, size=small]"),
              Not(HasSubstr("apart")))
      << "one engine";
  EXPECT_THAT(Findings("qps[engine=btree, size=large] > 1 && qps[engine=null, size=small] > 1"),
              Not(HasSubstr("apart")))
      << "no term compares them";
  EXPECT_THAT(Findings("min(qps[engine=btree]) > qps[engine=null, size=small]"),
              HasSubstr("apart: btree size=large 100 MiB, null size=small 49 MiB\n"));
  EXPECT_THAT(Findings("qps[engine=btree, size=small] > 1"),
              HasSubstr("memory held: btree 50 MiB\n"));
}

TEST_F(EqualTermsTest, WhatOneEngineHeldAloneIsNotCompared) {
  Write("engine=btree size=small", {100});
  Write("engine=btree size=large", {10, 5000});
  EXPECT_EQ(Lines(), "");
  Write("engine=null size=small", {0});  // the memory held is not known without --ram
  EXPECT_THAT(Lines(), Not(HasSubstr("MiB")));
}

}  // namespace
}  // namespace testbed

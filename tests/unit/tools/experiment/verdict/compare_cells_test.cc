// Tests the comparison of two directories of experiments on results documents that are made up.
#include "tools/experiment/verdict/compare_cells.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "device/error.h"
#include "tests/paths.h"
#include "tests/unit/tools/experiment/small_experiment.h"
#include "tools/experiment/plan/plan.h"
#include "tools/experiment/results_dir.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char kPages[] = "[[axis]]\nname = \"page-size\"\nvalues = [\"4k\", \"8k\"]\n";

class CompareCellsTest : public testing::Test {
 protected:
  using Edit = std::function<void(const Cell& cell, json* document)>;

  CompareCellsTest() {
    std::string pattern = testing::TempDir() + "compare_cells_XXXXXX";
    root_ = ::mkdtemp(pattern.data());
  }
  ~CompareCellsTest() override { fs::remove_all(root_); }

  std::string At(const std::string& name) const { return root_ + "/" + name; }

  // Makes a directory with the finished cells of an experiment that has these axes and three
  // rounds, whose rates are 1000, 1010 and 990, but for what `edit` changes.
  void Make(const std::string& name, const std::string& axes, const Edit& edit = {}) {
    const Experiment e = ParseExperiment(
        "name = \"pair\"\ntitle = \"A pair\"\n[options]\nengine = \"btree\"\nworkload = "
        "\"insert,point-read\"\nrows = 1000\nram = \"64M\"\n[scale.full]\nrounds = 3\n" +
            axes,
        "pair.toml");
    ResultsDir dir(At(name));
    dir.Create(e, {"full", {}, {}, {}});
    for (const Cell& cell : PlanCells(e, {"full", {}, {}, {}})) {
      ASSERT_TRUE(cell.runs()) << cell.name << cell.skipped;
      json document = Document(cell, false);
      if (edit) edit(cell, &document);
      ASSERT_TRUE(dir.WriteCell(cell, document));
      dir.WriteLoad(cell.load_key, Document(cell, true));
    }
  }

  // Returns a whole document with the first or the last phase of a run of the null engine.
  static json Document(const Cell& cell, bool load) {
    std::ifstream file(SourceDir() + "/tests/fuzz/corpus/results/null.json");
    json document = json::parse(file);
    json run = load ? document["runs"].front() : document["runs"].back();
    run["load"] = 0;
    document["options"]["seed"] = run["seed"] = cell.seed;
    run["threads"] = 1;
    run["phases"] = json::array({load ? run["phases"].front() : run["phases"].back()});
    document["runs"] = json::array({run});
    SetRate(&document, 1000 + (cell.round == 2 ? 10 : cell.round == 3 ? -10 : 0));
    return document;
  }
  static void SetRate(json* document, double rate) {
    for (json& run : (*document)["runs"]) {
      run["phases"][0]["rate"] = rate;
      run["phases"][0]["operations"][0]["rate"] = rate;
    }
  }
  static void Scale(json* document, double factor) {
    SetRate(document, factor * (*document)["runs"][0]["phases"][0]["rate"].get<double>());
  }

  CellComparison Compare(const std::string& a, const std::string& b,
                         const std::vector<std::string>& ignored = {},
                         const std::vector<std::string>& metrics = {"rate"}) {
    return CompareDirectories(
        At(a), At(b), {ignored},
        {.metrics = metrics, .fail_if = {ParseCondition("--fail-if", "rate < -3%")}});
  }
  std::string ErrorOfCompare(const std::string& a, const std::string& b,
                             const std::vector<std::string>& ignored = {}) {
    return ErrorOf([&] { (void)Compare(a, b, ignored); });
  }
  static const ComparedRow& RowOf(const CellComparison& comparison, const std::string& cell) {
    for (const ComparedRow& row : comparison.rows) {
      if (row.cell == cell) return row;
    }
    ADD_FAILURE() << cell;
    return comparison.rows.at(0);
  }

  std::string root_;
};

// A condition such as "update.p99 > 10%" is judged in directories as in files.
TEST_F(CompareCellsTest, AConditionOnOneKindIsJudgedInItsCellsAlone) {
  const auto mixed = [](double update_p99) {
    return [update_p99](const Cell&, json* document) {
      json& operations = document->at("runs")[0]["phases"][0]["operations"];
      operations.push_back(operations[0]);
      operations[1]["name"] = "update";
      operations[1]["latency_us"]["p99"] = update_p99;
    };
  };
  Make("a", kPages, mixed(30));
  Make("b", kPages, mixed(60));
  const CellComparison comparison = CompareDirectories(
      At("a"), At("b"), {}, {.fail_if = {ParseCondition("--fail-if", "update.p99 > 10%")}});
  ASSERT_EQ(comparison.conditions.size(), 1u);
  EXPECT_EQ(comparison.conditions[0].judgement, Judgement::kHolds);
  EXPECT_THAT(comparison.conditions[0].cells,
              ElementsAre("page-size=4k: point-read update, 1 thr",
                          "page-size=8k: point-read update, 1 thr"));
}

// In an interrupted experiment one of two cells with a common load lacks rounds.
TEST_F(CompareCellsTest, ALoadOfCellsWithOtherRoundsIsComparedOnce) {
  const std::string axes =
      "[[axis]]\nname = \"clients\"\nvalues = [{ label = \"1\", threads = 1 }, { label = \"2\", "
      "threads = 2 }]\n";
  for (const char* name : {"a", "b"}) Make(name, axes);
  for (const char* name : {"a", "b"}) {
    for (const auto& file : fs::directory_iterator(At(name) + "/cells")) {
      const std::string cell = file.path().filename();
      if (cell.starts_with("clients=1-") && !cell.ends_with("round-1.json")) fs::remove(file);
    }
  }
  const CellComparison comparison = Compare("a", "b");
  EXPECT_EQ(comparison.cells, 3u) << "a phase of each cell, and one load";
  int loads = 0;
  for (const ComparedRow& row : comparison.rows) {
    if (row.cell.find(": insert") == std::string::npos) continue;
    ++loads;
    EXPECT_EQ(row.answer.loads_a, 3);
  }
  EXPECT_EQ(loads, 1);
}

// Two runs of a round are two runs of one load.
TEST_F(CompareCellsTest, RoundsAreLoadsAndTheCellThatDiffersIsTold) {
  const auto twice = [](json* document) {
    document->at("runs").push_back(document->at("runs")[0]);
    document->at("runs")[1]["repeat"] = 1;
  };
  Make("a", kPages, [&](const Cell&, json* document) { twice(document); });
  Make("b", kPages, [&](const Cell& cell, json* document) {
    twice(document);
    if (cell.labels.at("page-size") == "8k") Scale(document, 0.9);
  });
  const CellComparison comparison = Compare("a", "b");
  EXPECT_EQ(comparison.cells, 4U) << "a phase of each cell, and the load that each has";
  const Answer& told = RowOf(comparison, "page-size=8k: point-read, 1 thr").answer;
  EXPECT_EQ(told.outcome, Outcome::kLess);
  EXPECT_EQ(told.loads_a, 3);
  EXPECT_NEAR(told.effect, 0.9, 1e-9);
  for (const ComparedRow& row : comparison.rows) {
    if (row.cell == "page-size=8k: point-read, 1 thr") continue;
    EXPECT_NE(row.answer.outcome, Outcome::kLess) << row.cell;
    EXPECT_NE(row.answer.outcome, Outcome::kMore) << row.cell;
  }
  EXPECT_EQ(CompareExitCode(comparison), kCompareConditionHolds);
  EXPECT_THAT(comparison.conditions.at(0).cells, ElementsAre("page-size=8k: point-read, 1 thr"));
}

// Rounds of the same seed ask a cache for the same blocks.
TEST_F(CompareCellsTest, CountsOfRoundsWithTheSameSeedsArePairs) {
  const auto asks = [](double factor, int other_seed) {
    return [=](const Cell& cell, json* document) {
      json& run = document->at("runs")[0];
      run["phases"][0]["account"]["engine"] = {{"block_requests", (300 + 6 * cell.round) * factor},
                                               {"block_hits", 100}};
      run["seed"] = cell.seed + static_cast<uint64_t>(other_seed);
    };
  };
  Make("a", kPages, asks(1000, 0));
  Make("b", kPages, asks(1001, 0));
  Make("c", kPages, asks(1001, 5));
  const std::string cell = "page-size=4k: point-read, 1 thr";
  EXPECT_EQ(RowOf(Compare("a", "b", {}, {"engine_asks"}), cell).answer.outcome, Outcome::kMore);
  EXPECT_EQ(RowOf(Compare("a", "c", {}, {"engine_asks"}), cell).answer.outcome, Outcome::kUnknown);
}

TEST_F(CompareCellsTest, ALoadThatCellsShareIsComparedOnce) {
  Make("a", "[[axis]]\nname = \"threads\"\nvalues = [1, 2]\n");
  const CellComparison comparison = Compare("a", "a");
  std::vector<std::string> cells;
  for (const ComparedRow& row : comparison.rows) cells.push_back(row.cell);
  EXPECT_THAT(cells, ElementsAre("threads=1: point-read, 1 thr", "threads=1: insert, 1 thr",
                                 "threads=2: point-read, 1 thr"));
}

TEST_F(CompareCellsTest, CellsAreMatchedByTheirLabels) {
  const std::string io = "[[axis]]\nname = \"io\"\nvalues = [\"buffered\", \"direct\"]\n";
  Make("a", kPages + io);
  Make("b", io + "[[axis]]\nname = \"page-size\"\nvalues = [\"16k\", \"8k\"]\n");
  const CellComparison comparison = Compare("a", "b");
  EXPECT_EQ(RowOf(comparison, "page-size=8k io=direct: point-read, 1 thr").answer.loads_b, 3);
  EXPECT_THAT(comparison.only_first,
              ElementsAre("page-size=4k io=buffered", "page-size=4k io=direct"));
  EXPECT_THAT(comparison.only_second,
              ElementsAre("io=buffered page-size=16k", "io=direct page-size=16k"));
  EXPECT_THAT(ComparisonText(comparison),
              HasSubstr("only in the first: page-size=4k io=buffered; page-size=4k io=direct\n"));
  Make("c", "[[axis]]\nname = \"page-size\"\nvalues = [\"32k\"]\n");
  EXPECT_THAT(ErrorOfCompare("b", "c"), HasSubstr("have no cell in common: the first has "));
}

TEST_F(CompareCellsTest, AnIgnoredAxisMatchesWhatIsLeft) {
  const auto engines = [](const std::string& first, const std::string& second) {
    std::string text = std::string(kPages) + "[[axis]]\nname = \"engine\"\nvalues = [";
    for (const std::string& label : {first, second}) {
      text += fmt::format("{{ label = \"{}\", engine = \"null\" }},", label);
    }
    return text + "]\n";
  };
  Make("a", engines("x@1", "y"));
  Make("b", engines("x@2", "y"));
  const CellComparison without = Compare("a", "b");
  EXPECT_THAT(without.only_first,
              ElementsAre("page-size=4k engine=x@1", "page-size=8k engine=x@1"));
  const CellComparison comparison = Compare("a", "b", {"engine"});
  EXPECT_THAT(comparison.only_first, ElementsAre());
  (void)RowOf(comparison, "page-size=4k engine=x@1 against x@2: point-read, 1 thr");
  (void)RowOf(comparison, "page-size=4k engine=y: point-read, 1 thr");
  EXPECT_EQ(ErrorOfCompare("a", "b", {"engine", "io"}),
            fmt::format("--ignore io names no axis of {} or {}; their axes are page-size, engine",
                        At("a"), At("b")));
  Make("c", engines("x@2", "x@3"));
  EXPECT_EQ(
      ErrorOfCompare("a", "c", {"engine"}),
      fmt::format("--ignore engine leaves 2 cells of {} that differ in nothing else, so it is "
                  "not known which of them to compare: page-size=4k engine=x@1, "
                  "page-size=4k engine=y",
                  At("a")));
}

// A difference of terms in any cell is reported, with the number of such cells, and makes the
// directories as little comparable as it makes two documents.
TEST_F(CompareCellsTest, TheTermsAreThoseOfAllCells) {
  const auto of_8k = [](const std::function<void(json*)>& change) {
    return [=](const Cell& cell, json* document) {
      if (cell.labels.at("page-size") == "8k") change(document);
    };
  };
  Make("a", kPages);
  Make("b", kPages, of_8k([](json* d) { (*d)["options"]["cache_pct"] = 7; }));
  CellComparison comparison = Compare("a", "b");
  EXPECT_THAT(ComparisonText(comparison),
              HasSubstr("setting differs: cache_pct: 50.0 against 7 (in 1 of 2 cells)\n"));
  EXPECT_TRUE(comparison.terms.comparable());
  Make("c", kPages, of_8k([](json* d) {
         Scale(d, 0.5);
         (*d)["machine"]["kernel"] = "7.0";
       }));
  comparison = Compare("a", "c");
  EXPECT_FALSE(comparison.terms.same_machine());
  EXPECT_EQ(CompareExitCode(comparison), kCompareConditionUnknown);
  EXPECT_THAT(ComparisonText(comparison), Not(HasSubstr("slower")));
}

TEST_F(CompareCellsTest, EachPairMustBeComparable) {
  const auto rows = [](int of_8k) {
    return [=](const Cell& cell, json* document) {
      (*document)["data"]["rows"] = cell.labels.at("page-size") == "8k" ? of_8k : 1000;
    };
  };
  Make("a", kPages, rows(2000));
  Make("b", kPages, rows(2000));
  Make("c", kPages, rows(3000));
  EXPECT_EQ(ErrorOfCompare("a", "b"), "no error");
  EXPECT_EQ(
      ErrorOfCompare("a", "c"),
      fmt::format("page-size=8k of {} and page-size=8k of {} cannot be compared, because their "
                  "data differ: rows 2000 against 3000",
                  At("a"), At("c")));
}

TEST_F(CompareCellsTest, FewerRoundsAreComparedWithWhatTheyAre) {
  Make("a", kPages);
  Make("b", kPages);
  for (const auto& file : fs::directory_iterator(At("b") + "/cells")) {
    if (file.path().string().find("round-1") == std::string::npos) fs::remove(file);
  }
  const CellComparison comparison = Compare("a", "b");
  const Answer& answer = RowOf(comparison, "page-size=4k: point-read, 1 thr").answer;
  EXPECT_EQ(answer.loads_a, 3);
  EXPECT_EQ(answer.loads_b, 1);
  const std::string text = ComparisonText(comparison);
  EXPECT_THAT(text, HasSubstr("  second: the same command with --rounds 5, which adds rounds to " +
                              At("b") + "\n"));
  EXPECT_THAT(text, Not(HasSubstr("setting differs: seed")));
}

TEST_F(CompareCellsTest, WhatHoldsNoFinishedCellsIsRefused) {
  Make("a", kPages);
  fs::create_directories(At("empty"));
  EXPECT_EQ(ErrorOfCompare("a", "empty"), At("empty") + " holds no results of an experiment");
  Make("none", kPages);
  fs::remove_all(At("none") + "/cells");
  EXPECT_EQ(ErrorOfCompare("none", "a"),
            At("none") + " has no finished cell; run its experiment or sweep first");
  Make("cut", kPages);
  const fs::path file = fs::directory_iterator(At("cut") + "/cells")->path();
  fs::resize_file(file, 100);
  EXPECT_THAT(ErrorOfCompare("a", "cut"), HasSubstr(file.string() + " is not a results file"));
  std::ofstream(file) << "{\"schema\": \"testbed-results/1\", \"runs\": 7}";
  EXPECT_THAT(ErrorOfCompare("a", "cut"), HasSubstr(file.string() + " is damaged"));
}

}  // namespace
}  // namespace testbed

// Tests values of an axis that run only when they are asked for, and findings that are judged again
// on such values.
#include "tools/experiment/verdict/again.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/tools/experiment/small_results.h"
#include "tools/experiment/plan/plan.h"
#include "tools/experiment/report.h"
#include "tools/experiment/results.h"
#include "tools/experiment/sweep/explain.h"
#include "tools/experiment/verdict/verdict.h"

namespace testbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// The small experiment with a further way of reading, which runs only when it is asked for.
std::string WithAsked() {
  std::string text = kSmall;
  const std::string values = "values = [\"direct\", \"buffered\"]";
  text.replace(text.find(values), values.size(),
               "values = [\"direct\", \"buffered\", { label = \"mapped\", io = \"mmap\", asked = "
               "true }]");
  return text;
}

std::string WithAgain(const std::string& findings = "\"Z1\"",
                      const std::string& instead = "io = { direct = \"mapped\" }") {
  return WithAsked() + "[[again]]\nname = \"mapped\"\non = \"btree by mmap\"\nfindings = [" +
         findings + "]\ninstead = { " + instead + " }\n";
}

// Returns the labels of the axis io that the cells have.
std::vector<std::string> WaysOf(const std::vector<Cell>& cells) {
  std::vector<std::string> ways;
  for (const Cell& cell : cells) {
    const std::string& way = cell.labels.at("io");
    if (std::find(ways.begin(), ways.end(), way) == ways.end()) ways.push_back(way);
  }
  std::sort(ways.begin(), ways.end());
  return ways;
}

TEST(AskedTest, AValueRunsOnlyWhenAScaleOrTheUserNamesIt) {
  const Experiment e = ParseExperiment(WithAsked(), "x.toml");
  PlanOptions options;
  options.scale = "full";
  EXPECT_THAT(WaysOf(PlanCells(e, options)), ElementsAre("buffered", "direct"));
  options.only["page-size"] = {"4k"};
  EXPECT_THAT(WaysOf(PlanCells(e, options)), ElementsAre("buffered", "direct"));
  options.only["io"] = {"mapped", "direct"};
  EXPECT_THAT(WaysOf(PlanCells(e, options)), ElementsAre("direct", "mapped"));
  std::string text = WithAsked();
  const std::string scale = "axes = { io = [\"direct\"] }";
  text.replace(text.find(scale), scale.size(), "axes = { io = [\"mapped\"] }");
  options.only.clear();
  options.scale = "tiny";
  EXPECT_THAT(WaysOf(PlanCells(ParseExperiment(text, "x.toml"), options)), ElementsAre("mapped"));
  EXPECT_THAT(ShowText(e), HasSubstr("direct, buffered, mapped (with --only)"));
}

TEST(AskedTest, WhatCannotBeAskedIsRefusedWithItsLine) {
  const auto parse = [](const std::string& text) {
    return ErrorOf([&] { ParseExperiment(text, "x.toml"); });
  };
  std::string text = WithAsked();
  text.replace(text.find("asked = true"), 12, "asked = false");
  EXPECT_EQ(parse(text), "x.toml:19: asked takes true");
  text = kSmall;
  const std::string values = "values = [\"direct\", \"buffered\"]";
  text.replace(text.find(values), values.size(), "values = [{ label = \"direct\", asked = true }]");
  EXPECT_THAT(parse(text), HasSubstr("an axis needs a value that runs unasked"));
}

TEST(AgainTest, APartSelectsTheOtherLabels) {
  const Experiment e = ParseExperiment(WithAgain(), "x.toml");
  ASSERT_EQ(e.again.size(), 1u);
  const std::vector<Finding> findings = FindingsAgain(e, e.again[0], nullptr);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].id, "Z1.mapped");
  EXPECT_EQ(findings[0].claim, "direct is faster");
  EXPECT_EQ(findings[0].systems, "btree by mmap");
  EXPECT_TRUE(findings[0].mechanisms.empty()) << "it selects all ways";
  ASSERT_EQ(findings[0].parts.size(), 2u) << "of three, one selects no label";
  EXPECT_EQ(findings[0].parts[0].holds, "min(qps[io=mapped]) > max(qps[io=buffered])");
  EXPECT_EQ(findings[0].parts[0].ours, "{min(qps[io=mapped])} against {max(qps[io=buffered])}");
  EXPECT_EQ(findings[0].parts[0].published, "7 against 5");
  EXPECT_EQ(findings[0].parts[1].holds,
            "qps[io=mapped, page-size=4k] > qps[io=mapped, page-size=big]");
  EXPECT_THAT(e.findings[0].parts[0].holds, Not(HasSubstr("mapped"))) << "the first one stays";
}

TEST(AgainTest, TheSettingOfAPartIsThatOfTheOtherLabels) {
  std::string text = WithAgain();
  const std::string part = "published = \"7 against 5\"\n";
  text.insert(text.find(part), "needs = \"min(reads[io=direct]) > 0.1\"\n");
  const Experiment e = ParseExperiment(text, "x.toml");
  const std::vector<Finding> findings = FindingsAgain(e, e.again[0], nullptr);
  EXPECT_EQ(findings.at(0).parts.at(0).needs, "min(reads[io=mapped]) > 0.1");
}

// Once, verdicts on two findings had one name.
TEST(AgainTest, EachFindingHasANameOfItsOwn) {
  const auto parse = [](std::string text, const std::string& what, const std::string& by,
                        bool is_new = true) {
    text.replace(text.find(what), what.size(), by);
    return ErrorOf([&] { ParseExperiment(text, "x.toml", is_new); });
  };
  const std::string id = "id = \"Z2\"";
  EXPECT_THAT(parse(kSmall, id, "id = \"Z1\""),
              HasSubstr("finding Z1 is there twice; name one of them otherwise"));
  EXPECT_EQ(parse(kSmall, id, "id = \"Z1\"", false), "no error") << "of kept results";
  const std::string again = WithAgain().substr(WithAsked().size());
  EXPECT_THAT(parse(WithAgain(), again, again + again),
              HasSubstr("again mapped is there twice; name one of them otherwise"));
  EXPECT_THAT(parse(WithAgain(), id, "id = \"Z1.mapped\""),
              HasSubstr("again mapped makes the finding Z1.mapped, which is there already"));
}

// A selection may have white space around its names. Once, such a one kept its labels, so that a
// part compared cells of both kinds, or was left out.
TEST(AgainTest, WhiteSpaceInASelectionMakesNoDifference) {
  std::string text = WithAgain();
  const std::string holds = "holds = \"min(qps) > 1000000\"";
  text.replace(text.find(holds), holds.size(),
               "holds = \"max(qps[io = direct | buffered]) > max(qps[io= direct ])\"");
  const Experiment e = ParseExperiment(text, "x.toml");
  const std::vector<Finding> findings = FindingsAgain(e, e.again[0], nullptr);
  ASSERT_EQ(findings[0].parts.size(), 3u);
  EXPECT_EQ(findings[0].parts[2].holds, "max(qps[io =mapped|buffered]) > max(qps[io=mapped])");
}

TEST(AgainTest, LabelsOfAListAreReplacedAndOthersStay) {
  std::string text = WithAgain();
  const std::string holds = "holds = \"min(qps) > 1000000\"";
  text.replace(text.find(holds), holds.size(),
               "holds = \"min(qps[page-size=4k,io=buffered|direct]) > 3\"");
  const Experiment e = ParseExperiment(text, "x.toml");
  const std::vector<Finding> findings = FindingsAgain(e, e.again[0], nullptr);
  ASSERT_EQ(findings[0].parts.size(), 3u);
  EXPECT_EQ(findings[0].parts[2].holds, "min(qps[page-size=4k,io=buffered|mapped]) > 3");
}

TEST(AgainTest, APartWaitsForTheEngineOfTheOtherLabel) {
  std::string text = WithAgain();
  text.replace(text.find("io = \"mmap\""), 11, "io = \"mmap\", engine = \"nosuch:fast@1\"");
  const Experiment e = ParseExperiment(text, "x.toml", false);
  EXPECT_THAT(FindingsAgain(e, e.again[0], nullptr)[0].parts[0].waits_for, ElementsAre("nosuch"));
}

// Ways of reading are those of two engines here, and the finding waits for one of them and another.
Experiment WithEngines(const std::string& instead) {
  std::string text = WithAgain("\"Z1\"", instead);
  const auto replace = [&text](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("[\"direct\", \"buffered\", {",
          "[{ label = \"direct\", io = \"direct\", engine = \"first\" }, "
          "{ label = \"buffered\", io = \"buffered\", engine = \"first\" }, "
          "{ label = \"slow\", io = \"mmap\", engine = \"nosuch:slow\", asked = true }, {");
  replace("io = \"mmap\", asked", "io = \"mmap\", engine = \"nosuch:fast\", asked");
  replace("systems = \"a server; btree\"\n",
          "systems = \"a server; btree\"\nwaits_for = [\"first\", \"other\"]\n");
  return ParseExperiment(text, "x.toml", false);
}

TEST(AgainTest, APartStillWaitsForTheEnginesThatItHasNotReplaced) {
  const Experiment e = WithEngines("io = { direct = \"mapped\" }");
  const std::vector<Finding> findings = FindingsAgain(e, e.again[0], nullptr);
  EXPECT_THAT(findings[0].parts[0].waits_for, ElementsAre("first", "nosuch", "other"))
      << "it selects io=buffered, too";
  EXPECT_THAT(findings[0].parts[1].waits_for, ElementsAre("nosuch", "other"));
  EXPECT_TRUE(findings[0].waits_for.empty());
}

TEST(AgainTest, AnEngineOfSeveralLabelsIsNamedOnce) {
  const Experiment e = WithEngines("io = { direct = \"mapped\", buffered = \"slow\" }");
  EXPECT_THAT(FindingsAgain(e, e.again[0], nullptr)[0].parts[0].waits_for,
              ElementsAre("nosuch", "other"));
}

TEST(AgainTest, WhatIsNotThereIsRefusedWithItsLine) {
  const auto parse = [](const std::string& text) {
    return ErrorOf([&] { ParseExperiment(text, "x.toml"); });
  };
  EXPECT_EQ(parse(WithAgain()), "no error");
  EXPECT_THAT(parse(WithAgain("\"Z9\"")),
              HasSubstr("again mapped names the finding Z9, of which no part selects one of its"));
  EXPECT_THAT(parse(WithAgain("\"Z1\", \"Z3\"")), HasSubstr("names the finding Z3"));
  EXPECT_THAT(parse(WithAgain("\"Z1\"", "io = { direct = \"nosuch\" }")),
              HasSubstr("again mapped names io = nosuch, which is not there"));
  EXPECT_THAT(parse(WithAgain("\"Z1\"", "oi = { direct = \"mapped\" }")),
              HasSubstr("again mapped names the axis oi"));
  EXPECT_THAT(parse(WithAgain("\"Z1\"", "")), HasSubstr("instead names one axis"));
}

class AgainResultsTest : public ResultsTest {
 protected:
  // Makes the directory of an experiment whose cells of these ways are planned.
  void Plan(const std::vector<std::string>& ways) {
    std::filesystem::remove_all(directory_);
    const Experiment e = ParseExperiment(WithAgain(), "small.toml");
    PlanOptions options;
    options.scale = "full";
    if (!ways.empty()) options.only["io"] = ways;
    dir_.Create(e, options);
    cells_ = PlanCells(e, options);
  }
  void WriteCell(const std::string& way, const std::string& pages, double rate) {
    for (size_t i = 0; i < cells_.size(); ++i) {
      const std::map<std::string, std::string>& labels = cells_[i].labels;
      if (labels.at("io") == way && labels.at("page-size") == pages) return Write(i, {rate});
    }
    ADD_FAILURE() << "no cell " << way << " " << pages;
  }
  static std::vector<std::string> Ids(const std::vector<Verdict>& verdicts) {
    std::vector<std::string> ids;
    for (const Verdict& verdict : verdicts) ids.push_back(verdict.id);
    return ids;
  }
};

TEST_F(AgainResultsTest, AFindingIsJudgedAgainWhenThereAreCellsOfIt) {
  Plan({});
  EXPECT_THAT(Ids(CheckFindings(ResultSet::Read(directory_))), ElementsAre("Z1", "Z2", "Z3"));
  EXPECT_THAT(FindingsText(ResultSet::Read(directory_)), Not(HasSubstr("mapped")));
  Plan({"mapped", "buffered"});
  WriteCell("mapped", "4k", 300);
  WriteCell("mapped", "big", 400);
  WriteCell("buffered", "4k", 50);
  const ResultSet results = ResultSet::Read(directory_);
  const std::vector<Verdict> verdicts = CheckFindings(results);
  EXPECT_THAT(Ids(verdicts), ElementsAre("Z1", "Z2", "Z3", "Z1.mapped"));
  const Verdict& again = verdicts.back();
  ASSERT_EQ(again.parts.size(), 2u);
  EXPECT_EQ(again.parts[0].outcome, PartVerdict::kHoldsOnce);
  EXPECT_EQ(again.parts[0].ours, "300 against 50.0");
  EXPECT_EQ(again.parts[1].outcome, PartVerdict::kFailsOnce);
  EXPECT_EQ(again.counted, 2u);
  EXPECT_EQ(verdicts[0].parts[0].outcome, PartVerdict::kNotMeasured) << "on the first labels";
  EXPECT_THAT(FindingsText(results), HasSubstr("systems: btree by mmap"));
}

TEST_F(AgainResultsTest, WithoutAResultItIsNotMeasuredYet) {
  Plan({"mapped"});
  EXPECT_EQ(CheckFindings(ResultSet::Read(directory_)).back().parts[1].outcome,
            PartVerdict::kNotMeasured);
}

}  // namespace
}  // namespace testbed

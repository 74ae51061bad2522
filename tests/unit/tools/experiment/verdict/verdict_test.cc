// Tests what a part of a finding says when its figures do not decide it.
#include "tools/experiment/verdict/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/tools/experiment/small_results.h"
#include "tools/experiment/report.h"

namespace testbed {
namespace {

using testing::HasSubstr;
using testing::Not;

// The small experiment with one more finding of one part.
class VerdictTest : public ResultsTest {
 protected:
  ResultSet With(const std::string& part) const {
    const std::string finding =
        "[[finding]]\nid = \"Z4\"\nclaim = \"z\"\n  [[finding.part]]\n  says = \"x\"\n";
    return ResultSet(ParseExperiment(kSmall + finding + part, "small.toml"), cells_, dir_);
  }
  PartVerdict Part(const std::string& part) const {
    return CheckFindings(With(part)).back().parts[0];
  }
};

constexpr const char* kNeeds =
    "  needs = \"within(qps[io=direct, page-size=4k], 100, 0.1)\"\n"
    "  holds = \"qps[io=buffered, page-size=4k] > 50\"\n";

// Once, a claim whose figures were sure could not be told, because the size of the commits was not.
TEST_F(VerdictTest, APartIsWithheldWhereTheSettingIsNotThePublishedOneForSure) {
  PlanRounds(3);
  WriteRounds(0, {100, 101, 99});
  WriteRounds(1, {80, 79, 81});
  WriteRounds(2, {90, 91, 92});
  EXPECT_EQ(Part(kNeeds).outcome, PartVerdict::kHolds);
  WriteRounds(0, {80, 120, 95});
  const PartVerdict part = Part(kNeeds);
  EXPECT_EQ(part.outcome, PartVerdict::kWithheld);
  EXPECT_THAT(part.because, HasSubstr("not the published setting for sure, but in "));
  EXPECT_FALSE(part.certainty.has_value());
  EXPECT_EQ(VerdictText(CheckFindings(With(kNeeds)).back()), "withheld");
  WriteRounds(0, {60, 61, 59});
  EXPECT_EQ(Part(kNeeds).outcome, PartVerdict::kWithheld) << "for sure another setting";
}

TEST_F(VerdictTest, OneRoundHasThePublishedSettingOrNot) {
  Write(0, {60});
  EXPECT_EQ(Part(kNeeds).outcome, PartVerdict::kNotMeasured);
  Write(1, {80});
  EXPECT_EQ(Part(kNeeds).outcome, PartVerdict::kWithheld);
  EXPECT_EQ(Part(kNeeds).because, "not the published setting");
  Write(0, {105});
  EXPECT_EQ(Part(kNeeds).outcome, PartVerdict::kHoldsOnce);
  const std::string unknown =
      ErrorOf([&] { With("  needs = \"nosuch[io=direct] > 1\"\n  holds = \"min(qps) > 1\"\n"); });
  EXPECT_THAT(unknown, HasSubstr("the metric nosuch is not there"));
}

// Once, the last of the two conditions counted, without a word.
TEST_F(VerdictTest, ASelectionNamesAnAxisOnce) {
  const auto error = [this](const std::string& condition) {
    return ErrorOf([&] { With("  holds = \"min(qps[io=direct, " + condition + "]) > 1\"\n"); });
  };
  EXPECT_EQ(error("page-size=4k|big"), "no error");
  EXPECT_THAT(error("io = buffered"), HasSubstr("names the axis io twice; give its labels at"));
}

// A share of 96.7 % is expected of each of the three terms, which are asked at 100 % - 5 % / 3.
TEST_F(VerdictTest, ATermThatIsNotSureIsNamedWithTheShareThatIsAskedOfIt) {
  PlanRounds(3);
  WriteRounds(0, {99, 100, 101});
  const std::string term = "qps[io=direct, page-size=4k] > 97.9";
  const PartVerdict part = Part("  holds = \"" + term + " || " + term + " || " + term + "\"\n");
  EXPECT_EQ(part.outcome, PartVerdict::kCannotTell);
  EXPECT_THAT(part.because,
              testing::MatchesRegex("the term qps\\[io=direct page-size=4k\\] > 97.9 is true in "
                                    "9[5-8].[0-9] % of resampled rounds, and is asked at 98.5 %"));
}

// Once, 0 / 0 > 2 did not hold for sure, and 5 / 0 > 2 held for sure.
TEST_F(VerdictTest, AComparisonWithAValueThatIsNotFiniteTellsNothing) {
  PlanRounds(3);
  WriteRounds(2, {0, 0, 0});
  const std::string a = "qps[io=direct, page-size=4k]", b = "qps[io=direct, page-size=big]";
  const auto holds = [&](const std::string& statement) {
    return Part("  holds = \"" + statement + "\"\n");
  };
  const std::string ratio = a + " / " + b;
  for (const double rate : {0.0, 5.0}) {
    WriteRounds(0, {rate, rate, rate});
    for (const std::string& statement :
         {ratio + " > 2", "within(" + ratio + ", 2, 0.1)", a + " >= 0 && " + ratio + " > 2"}) {
      EXPECT_EQ(holds(statement).outcome, PartVerdict::kFigureUnknown) << statement << rate;
      EXPECT_EQ(holds(statement).because, "a value that it compares is not finite") << statement;
    }
    EXPECT_EQ(holds(b + " == 0 || " + ratio + " > 2").outcome, PartVerdict::kHolds)
        << "the divisor decides";
    EXPECT_EQ(holds(b + " > 0 && " + ratio + " > 2").outcome, PartVerdict::kDoesNotHold);
  }
  WriteRounds(2, {2, 2, 2});
  EXPECT_EQ(holds(ratio + " > 2").outcome, PartVerdict::kHolds);
}

// Once, only tables said it, and a claim rested on less work than it names.
TEST_F(VerdictTest, APartNamesItsCellsInWhichAPhaseEndedEarly) {
  for (size_t cell : {0, 1, 2}) Write(cell, {100});
  const std::string holds = "  holds = \"qps[io=direct, page-size=4k] > 50\"\n";
  EXPECT_EQ(Part(holds).ended_early, "");
  ASSERT_FALSE(Part(holds).cells.empty());
  const size_t compared = Part(holds).cells[0], other = compared == 0 ? 1 : 0;
  nlohmann::json run = Run(100);
  run["phases"][0]["ended_because"] = "no row is left to erase";
  dir_.WriteCell(cells_[other], {{"runs", {run}}});
  EXPECT_EQ(Part(holds).ended_early, "") << "the part does not name this cell";
  dir_.WriteCell(cells_[compared], {{"runs", {run}}});
  const std::string line =
      "! phases ended early, because no row was left for an operation: " + cells_[compared].name;
  EXPECT_EQ(Part(holds).ended_early, line);
  EXPECT_THAT(FindingsText(With(holds)), HasSubstr(line + "\n"));
  EXPECT_THAT(FindingsMarkdown(With(holds)), HasSubstr(line));
}

// Once, figures of databases that fit into memory stood beside those of databases much larger.
TEST_F(VerdictTest, NoFiguresAreShownOfAScaleThatDoesNotAskThePart) {
  for (size_t cell : {0, 1, 2}) Write(cell, {100});
  const auto part = [](const std::string& scale) {
    return "  scale = [\"" + scale +
           "\"]\n  ours = \"{max(qps)} a second\"\n  holds = \"min(qps) > "
           "50\"\n";
  };
  EXPECT_EQ(Part(part("full")).ours, "100 a second");
  EXPECT_EQ(Part(part("tiny")).outcome, PartVerdict::kAskedElsewhere);
  EXPECT_EQ(Part(part("tiny")).ours, "");
  EXPECT_THAT(FindingsMarkdown(With(part("tiny"))), Not(HasSubstr("100 a second")));
}

}  // namespace
}  // namespace testbed

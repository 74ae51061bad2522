// Tests the verdict on figures that are known no closer than their grain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/tools/experiment/small_experiment.h"
#include "tests/unit/tools/experiment/small_results.h"
#include "tools/experiment/experiment.h"
#include "tools/experiment/results.h"
#include "tools/experiment/verdict/verdict.h"

namespace testbed {
namespace {

using testing::HasSubstr;

// The small experiment, whose rates have a grain.
class GrainTest : public ResultsTest {
 protected:
  static Experiment WithGrain(const std::string& grain) {
    std::string text = kSmall;
    const std::string unit = "unit = \"/s\"";
    text.insert(text.find(unit), "grain = " + grain + ", ");
    return ParseExperiment(text, "small.toml");
  }
  Verdict VerdictOf(const std::string& grain) const {
    return CheckFindings(ResultSet(WithGrain(grain), cells_, dir_))[0];
  }
  // Returns the verdict on "small pages are faster".
  PartVerdict SmallPages(const std::string& grain) const { return VerdictOf(grain).parts[1]; }
};

// Once, finding B4 held when both of its figures were the time that two readings of the clock take.
TEST_F(GrainTest, WhatIsWithinTheGrainCannotBeTold) {
  PlanRounds(3);
  WriteRounds(0, {12, 12, 12});
  WriteRounds(1, {10, 10, 10});
  WriteRounds(2, {5, 5, 5});
  EXPECT_EQ(SmallPages("0").outcome, PartVerdict::kHolds);
  EXPECT_EQ(SmallPages("0.9").outcome, PartVerdict::kHolds);
  for (const char* grain : {"10", "\"10\"", "\"point_read.account.device.reads / 5\""}) {
    const PartVerdict part = SmallPages(grain);
    EXPECT_EQ(part.outcome, PartVerdict::kCannotTell) << grain;
    EXPECT_EQ(part.because, "qps is known no closer than 10.0 /s") << grain;
    EXPECT_TRUE(part.at_mean);
  }
  EXPECT_EQ(VerdictText(VerdictOf("10")), "cannot be told (0 of 2, 2 undecided)");
}

TEST_F(GrainTest, FiguresFarAboveTheirGrainAreJudgedAsBefore) {
  PlanRounds(3);
  WriteRounds(0, {1250, 1251, 1249});
  WriteRounds(1, {1000, 1001, 1002});
  WriteRounds(2, {1125, 1126, 1125});
  EXPECT_EQ(VerdictText(VerdictOf("10")), "reproduced");
  WriteRounds(2, {1400, 1200, 1000});
  EXPECT_EQ(SmallPages("1").outcome, PartVerdict::kCannotTell);
  EXPECT_THAT(SmallPages("1").because, testing::Not(HasSubstr("closer")))
      << "it is the rounds that differ";
}

TEST_F(GrainTest, ASingleRoundTellsNothingWithinTheGrain) {
  Write(0, {12});
  Write(1, {10});
  Write(2, {5});
  EXPECT_EQ(SmallPages("0.9").outcome, PartVerdict::kHoldsOnce);
  EXPECT_EQ(SmallPages("10").outcome, PartVerdict::kCannotTell);
  EXPECT_EQ(OutcomeText(SmallPages("10")),
            "cannot be told from these figures (qps is known no closer than 10.0 /s)");
  EXPECT_THAT(VerdictOf("10").mechanisms, testing::IsEmpty()) << "no part is false";
}

TEST_F(GrainTest, AGrainThatIsNotKnownIsNoGrainOfZero) {
  Write(0, {12});
  Write(1, {10});
  Write(2, {5});
  const PartVerdict part = SmallPages("\"point_read.clock_ns\"");
  EXPECT_EQ(part.outcome, PartVerdict::kFigureUnknown);
  EXPECT_THAT(part.because, testing::StartsWith("the grain of qps of "));
}

TEST_F(GrainTest, AGrainThatIsNoExpressionIsRefused) {
  EXPECT_THAT(ErrorOf([] { WithGrain("\"10 +\""); }), HasSubstr("metric qps: the expression 10 +"));
}

}  // namespace
}  // namespace testbed

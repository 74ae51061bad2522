#include "tools/statistics/condition.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device/error.h"
#include "tools/statistics/metrics.h"

namespace testbed {
namespace {

Answer Of(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<Sample> samples;
  for (size_t i = 0; i < a.size(); ++i) {
    samples.push_back({.side = kA, .load = static_cast<int>(i), .value = a[i]});
    samples.push_back({.side = kB, .load = static_cast<int>(i), .value = b[i]});
  }
  return Compare(samples, {});
}

TEST(ConditionTest, ParsesAMetricASignAndAChange) {
  const Condition slower = ParseCondition("--fail-if", "rate < -3%");
  EXPECT_EQ(slower.metric, "rate");
  EXPECT_TRUE(slower.less);
  EXPECT_DOUBLE_EQ(slower.change, -0.03);
  EXPECT_EQ(ConditionText(slower), "rate < -3 %");
  EXPECT_EQ(ConditionText(ParseCondition("--fail-if", "p99>+12.5 %")), "p99 > 12.5 %");
  EXPECT_EQ(ParseCondition("--fail-if", "read-modify-write.p99 > 3%").metric,
            "read-modify-write.p99");
  EXPECT_EQ(ConditionText(ParseCondition("--fail-if", "update.rate<-3%")), "update.rate < -3 %");
  for (const char* text :
       {"engine_asks > 0.00001 %", "rate < -0.000000001 %", "p99 > 123456789 %"}) {
    const Condition condition = ParseCondition("--fail-if", text);
    EXPECT_EQ(ConditionText(condition), text);
    EXPECT_EQ(ParseCondition("--fail-if", ConditionText(condition)).change, condition.change);
  }
  for (const char* wrong :
       {"update.size > 3%", ".p99 > 3%", "update. > 3%", "update.speed > 3%", "update > 3%", "",
        "rate", "rate < ", "rate < 3", "rate <= 3%", "rate < -3%%", "speed < -3%", "rate < -100%",
        "rate < nan%", "rate < 1e9%", "rate < 9999999999%", "rate < -3% p99 > 3%"}) {
    try {
      ParseCondition("--fail-if", wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      EXPECT_TRUE(std::string(e.what()).starts_with("--fail-if '" + std::string(wrong)))
          << e.what();
    }
  }
}

// Each value of a metric that is named twice would count as two that agree.
TEST(MetricNamesTest, AMetricIsNamedOnce) {
  EXPECT_EQ(ParseMetricNames("--metric", "rate, p99"), (std::vector<std::string>{"rate", "p99"}));
  EXPECT_EQ(ParseMetricNames("--metric", "all").size(), Metrics().size());
  EXPECT_TRUE(ParseMetricNames("--metric", "").empty());
  for (const std::string twice : {"rate,rate", "rate,p99, rate"}) {
    try {
      ParseMetricNames("--metric", twice);
      ADD_FAILURE() << twice;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::kUsage);
      EXPECT_EQ(std::string(e.what()),
                "--metric " + twice + ": rate is in the list twice; give it once");
    }
  }
}

TEST(ConditionTest, HoldsOnlyWhenItIsSure) {
  const Condition slower = ParseCondition("--fail-if", "rate < -3%");
  EXPECT_EQ(Judge(slower, Of({100, 101, 100}, {90, 91, 90})), Judgement::kHolds);
  EXPECT_EQ(Judge(slower, Of({100, 101, 100}, {99, 100, 99})), Judgement::kDoesNotHold);
  EXPECT_EQ(Judge(slower, Of({100, 101, 100}, {95, 100, 97})), Judgement::kUnknown);
  EXPECT_EQ(Judge(slower, Of({100}, {50})), Judgement::kUnknown);
  const Condition more = ParseCondition("--fail-if", "p99 > 5%");
  EXPECT_EQ(Judge(more, Of({100, 101, 100}, {120, 121, 120})), Judgement::kHolds);
  EXPECT_EQ(Judge(more, Of({100, 101, 100}, {101, 102, 101})), Judgement::kDoesNotHold);
  EXPECT_EQ(Judge(more, Of({0, 0, 0}, {0, 0, 0})), Judgement::kDoesNotHold);
  EXPECT_EQ(Judge(more, Of({0, 0, 0}, {0, 1, 2})), Judgement::kUnknown);
  EXPECT_EQ(Judge(more, Of({0, 1, 0}, {101, 102, 101})), Judgement::kUnknown);
}

// Three loads that agree by chance, beside thirty that do not, judge no condition.
TEST(ConditionTest, FewLoadsAgainstManyAreJudgedByTheSpreadOfTheMany) {
  std::vector<Sample> samples;
  for (int load = 0; load < 30; ++load) {
    samples.push_back({.side = kA, .load = load, .value = load % 2 == 0 ? 103.0 : 97.0});
    if (load < 3) samples.push_back({.side = kB, .load = load, .value = 96.0 + 0.1 * load});
  }
  const Answer answer = Compare(samples, {.pairing = Pairing::kNone});
  const Condition slower = ParseCondition("--fail-if", "rate < -2%");
  EXPECT_EQ(Judge(slower, answer), Judgement::kUnknown);
  EXPECT_EQ(Judge(ParseCondition("--fail-if", "rate < 5%"), answer), Judgement::kHolds);
}

// What was nothing has grown by more than any share of it, and what is gone has fallen by all.
TEST(ConditionTest, IsJudgedWithoutARatioWhereOneSideIsZero) {
  const Condition more = ParseCondition("--fail-if", "device_reads > 10%");
  const Condition less = ParseCondition("--fail-if", "device_reads < -10%");
  const Answer grown = Of({0, 0, 0}, {10, 11, 10}), gone = Of({10, 11, 10}, {0, 0, 0});
  EXPECT_EQ(grown.scale, Scale::kDifference);
  EXPECT_EQ(Judge(more, grown), Judgement::kHolds);
  EXPECT_EQ(Judge(less, grown), Judgement::kDoesNotHold);
  EXPECT_EQ(Judge(more, gone), Judgement::kDoesNotHold);
  EXPECT_EQ(Judge(less, gone), Judgement::kHolds);
  EXPECT_EQ(Judge(more, Of({0, 0}, {10, 10})), Judgement::kUnknown) << "two loads tell nothing";
}

// Counts that depend on the work alone are equal in all loads. They have not grown by more than
// 0 %, and no further load would tell more.
TEST(ConditionTest, AChangeThatIsExactlyTheConditionsDoesNotHold) {
  const std::vector<double> a = {3.03, 3.15, 3.08};
  std::vector<double> more = a;
  for (double& value : more) value *= 1.02;
  for (const char* text : {"engine_asks > 0%", "engine_asks < 0%"}) {
    const Condition condition = ParseCondition("--fail-if", text);
    EXPECT_EQ(Judge(condition, Of(a, a)), Judgement::kDoesNotHold) << text;
    EXPECT_EQ(JudgeOneOf(6, condition, Of(a, a)), Judgement::kDoesNotHold) << text;
    // Equal means are not equal loads.
    EXPECT_EQ(Judge(condition, Of(a, {3.15, 3.08, 3.03})), Judgement::kUnknown) << text;
    EXPECT_EQ(Judge(condition, Of({3, 3}, {3, 3})), Judgement::kUnknown) << text;
  }
  const Condition grown = ParseCondition("--fail-if", "engine_asks > 2%");
  EXPECT_EQ(Judge(grown, Of(a, more)), Judgement::kDoesNotHold);
  for (double& value : more) value *= 1.000001;
  EXPECT_EQ(Judge(grown, Of(a, more)), Judgement::kHolds);
  EXPECT_EQ(Judge(ParseCondition("--fail-if", "engine_asks > 0%"), Of(a, more)), Judgement::kHolds);
}

// All loads are rounded alike, so the true change is anything from 0 to two steps of 1.6 %.
TEST(ConditionTest, ACoarseValueHoldsNothingWithinAStep) {
  std::vector<Sample> samples;
  for (int load = 0; load < 50; ++load) {
    samples.push_back({.side = kA, .load = load, .value = 64});
    samples.push_back({.side = kB, .load = load, .value = 65});
  }
  const Answer answer = Compare(samples, {.resolution = 1.0 / 64});
  for (const auto& [text, judgement] :
       {std::pair("p99 > 0.5%", Judgement::kUnknown), std::pair("p99 < 3%", Judgement::kUnknown),
        std::pair("p99 > 5%", Judgement::kDoesNotHold),
        std::pair("p99 > 1.5625%", Judgement::kUnknown),  // exactly a step
        std::pair("p99 > -1%", Judgement::kHolds)}) {
    EXPECT_EQ(Judge(ParseCondition("--fail-if", text), answer), judgement) << text;
  }
}

}  // namespace
}  // namespace testbed

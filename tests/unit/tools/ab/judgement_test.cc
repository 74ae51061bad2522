// Tests how the conditions of --fail-if are judged: the exit code, and what the document says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/unit/tools/ab/comparison_documents.h"
#include "tools/ab/ab_report.h"
#include "tools/ab/answers.h"
#include "tools/statistics/normal.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(JudgementTest, TheExitCodeTellsHoldsFromDoesNotFromUnknown) {
  const auto code = [](json document) {
    document["fail_if"] = {"rate < -3 %"};
    return AbExitCode(document);
  };
  EXPECT_EQ(code(Comparison(8, 0.9, 0.002)), 3);
  EXPECT_EQ(code(Comparison(8, 1, 0.002)), 0);
  EXPECT_EQ(code(Comparison(8, 1.2, 0.002)), 0);
  EXPECT_EQ(code(Comparison(1, 0.5, 0.002)), 125);
  EXPECT_EQ(code(LoadsApart(8, 0.97, 0.05)), 125);
  json failed = Comparison(8, 1, 0.05);
  failed["errors"] = {{{"side", "b"}, {"sentence", "it died"}}};
  EXPECT_EQ(code(failed), 125);
  EXPECT_EQ(AbExitCode(failed), 1);
  EXPECT_THAT(AbReportText(failed), HasSubstr("side b failed: it died"));
  failed["partial"] = true;
  EXPECT_EQ(AbExitCode(failed), 130);
}

// A program that reads the document has what the exit code was decided by. The intervals are wider:
// they are corrected for both directions.
TEST(JudgementTest, TheDocumentHasWhatWasJudged) {
  const auto judged = [](json document) {
    document["fail_if"] = {"rate < -3 %"};
    return JudgementsJson(document);
  };
  const auto only = [](const std::string& judgement) {
    return json::array({{{"side", "b"}, {"condition", "rate < -3 %"}, {"judgement", judgement}}});
  };
  EXPECT_EQ(judged(Comparison(8, 0.9, 0.002)), only("holds"));
  EXPECT_EQ(judged(Comparison(8, 1, 0.002)), only("does not hold"));
  EXPECT_EQ(judged(LoadsApart(8, 0.97, 0.05)), only("cannot be told"));
  EXPECT_EQ(JudgementsJson(Comparison(8, 1, 0.002)), json::array()) << "nothing was asked for";
}

// Returns a comparison of noisy loads. The rate of each other side is 1 + `change` times that of a,
// and its requests to the cache per operation are divided by the same factor.
json NoisySides(int sides, int loads, double change, Normal* normal) {
  json document = Comparison(1, 1, 0);
  document["samples"] = json::array();
  document["loads"] = loads;
  for (int side = 2; side < sides; ++side) {
    json another = document["sides"][1];
    another["label"] = std::string(1, static_cast<char>('a' + side));
    document["sides"].push_back(another);
  }
  for (int load = 0; load < loads; ++load) {
    for (int side = 0; side < sides; ++side) {
      const double factor = side == 0 ? 1 : 1 + change;
      document["samples"].push_back({{"side", std::string(1, static_cast<char>('a' + side))},
                                     {"load", load},
                                     {"block", 0},
                                     {"seconds", 1},
                                     {"count", 100},
                                     {"metrics",
                                      {{"rate", 1000 * factor * std::exp(0.02 * (*normal)())},
                                       {"engine_asks", 3 / factor * std::exp(0.02 * (*normal)())}}},
                                     {"counters", json::object()}});
    }
  }
  return document;
}

// Returns the share of sessions of NoisySides, of up to 12 loads, that end with this exit code.
double ShareOfCode(int code, int sides, double change, const std::vector<std::string>& fail_if) {
  constexpr int kSessions = 400, kMost = 12;
  Normal normal(9);
  int found = 0;
  for (int n = 0; n < kSessions; ++n) {
    const json whole = NoisySides(sides, kMost, change, &normal);
    json document = whole;
    document["fail_if"] = fail_if;
    document.erase("seconds");
    for (int loads = 3; loads <= kMost; ++loads) {
      document["loads"] = loads;
      if (IsAnswered(document)) break;
    }
    document["seconds"] = 10;
    found += AbExitCode(document) == code;
  }
  return found / double(kSessions);
}

// Each of six conditions is at its border. At 5 % each, one of them would hold in a quarter of
// sessions.
TEST(JudgementTest, ManySidesAndConditionsMakeNoFalseAlarms) {
  constexpr double kThreeErrors = 0.033;
  const std::vector<std::string> two = {"rate < -3 %", "engine_asks > 3.0927835 %"};
  EXPECT_LE(ShareOfCode(3, 4, -0.03, two), 0.05 + kThreeErrors);
  EXPECT_LE(ShareOfCode(3, 2, -0.03, {"rate < -3 %"}), 0.05 + kThreeErrors);
  // The answer that no condition holds must be wrong no more often than for the one condition that
  // does hold.
  EXPECT_LE(ShareOfCode(0, 2, -0.03, {"rate < -3 %"}), 0.05 + kThreeErrors);
  EXPECT_LE(ShareOfCode(0, 4, -0.03, two), 0.05);
  // A condition that is far from its border must still be decided.
  EXPECT_GE(ShareOfCode(3, 4, -0.15, {"rate < -3 %", "engine_asks > 3 %"}), 0.95);
  EXPECT_GE(ShareOfCode(0, 4, 0, {"rate < -10 %", "engine_asks > 10 %"}), 0.95);
}

}  // namespace
}  // namespace testbed

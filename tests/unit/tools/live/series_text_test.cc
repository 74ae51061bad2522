// Tests that a stall is found at its second, in short and in long phases, and that documents
// without seconds are no trouble.
#include "tools/live/series_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/live/seconds.h"
#include "tools/live/sparkline.h"

namespace testbed {
namespace {

using nlohmann::json;

json Second(double end, int operations, double max_us) {
  return {{"end_seconds", end},
          {"operations", operations},
          {"p50_us", 10.0},
          {"p99_us", max_us / 2},
          {"max_us", max_us},
          {"device_read_bytes", 8192},
          {"device_write_bytes", 0},
          {"background", {{{"name", "checkpoint"}, {"read_bytes", 0}, {"write_bytes", 4096}}}}};
}

// Returns a phase of `length` seconds in which nothing ends from second `from` to `to`; the second
// after it has the operations that waited.
json PhaseWithStall(int length, int from, int to) {
  json series = json::array();
  for (int i = 0; i < length; ++i) {
    const bool frozen = i >= from && i < to;
    series.push_back(Second(i + 1.0005, frozen ? 0 : 1000, i == to ? (to - from) * 1e6 : 200));
  }
  series.push_back(Second(length + 0.01, 3, 100));  // the rest of the last second
  return {{"name", "mixed"}, {"kind", "measure"}, {"series", series}};
}

json DocumentOf(const json& phase) {
  return {{"runs", {{{"threads", 8}, {"repeat", 0}, {"phases", {phase}}}}}};
}

TEST(SecondsTest, AStallIsASecondBelowATenthOrWithAnOperationOfASecond) {
  const json phase = PhaseWithStall(20, 12, 15);
  const std::vector<PhaseSecond> seconds = SecondsOf(phase);
  ASSERT_EQ(seconds.size(), 21u);
  EXPECT_TRUE(std::isnan(seconds.back().rate)) << "a hundredth of a second is no rate";
  EXPECT_NEAR(MedianRate(seconds), 1000, 1);
  const std::vector<Stall> stalls = StallsOf(seconds);
  ASSERT_EQ(stalls.size(), 1u);
  EXPECT_NEAR(stalls[0].from, 12, 0.01);
  EXPECT_NEAR(stalls[0].to, 16, 0.01) << "the second in which the operations ended that waited";
  EXPECT_EQ(stalls[0].rate, 0);
  EXPECT_EQ(stalls[0].max_us, 3e6);
}

TEST(SecondsTest, APercentileThatTooFewOperationsTellIsNotKnown) {
  const json series = json::array({Second(1, 1000, 200), Second(2, 999, 200)});
  const json phase = {{"name", "mixed"}, {"kind", "measure"}, {"series", series}};
  const std::vector<PhaseSecond> seconds = SecondsOf(phase);
  ASSERT_EQ(seconds.size(), 2u);
  EXPECT_EQ(seconds[0].p99_us, 100);
  EXPECT_TRUE(std::isnan(seconds[1].p99_us));
  EXPECT_EQ(seconds[1].max_us, 200) << "one operation tells the slowest";
}

// Once, a latency of 999.7 us was printed as 1e+03 us.
TEST(SecondsTest, ALatencyHasThreeDigitsAndNoExponent) {
  EXPECT_EQ(LatencyText(NAN), "-");
  EXPECT_EQ(LatencyText(0.948), "0.948 us");
  EXPECT_EQ(LatencyText(999.4), "999 us");
  EXPECT_EQ(LatencyText(999.7), "1 ms");
  EXPECT_EQ(LatencyText(3160), "3.16 ms");
  EXPECT_EQ(LatencyText(999400), "999 ms");
  EXPECT_EQ(LatencyText(999700), "1 s");
  EXPECT_EQ(LatencyText(3.02e6), "3.02 s");
  EXPECT_EQ(LatencyText(1.2341e9), "1234 s");
}

TEST(SeriesTextTest, AnOperationThatEndsInTheRestOfAPhaseIsAStall) {
  json series = json::array();
  for (int i = 1; i <= 5; ++i) series.push_back(Second(i, 1000, 200));
  series.push_back(Second(5.2, 1, 1.5e6));
  const json phase = {{"name", "mixed"}, {"kind", "measure"}, {"series", series}};
  const std::vector<Stall> stalls = StallsOf(SecondsOf(phase));
  ASSERT_EQ(stalls.size(), 1u);
  EXPECT_EQ(stalls[0].from, 5);
  EXPECT_TRUE(std::isnan(stalls[0].rate)) << "a fifth of a second is no rate";
  const std::string text = SeriesText(DocumentOf(phase));
  EXPECT_NE(text.find("stall from second 5.0 to 5.2: slowest operation 1.5 s\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("  stalled     !\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\n  5.0-5.2"), std::string::npos) << "among the worst seconds\n" << text;
}

// The last operations end a little after the time is over, which made two seconds of each column.
TEST(SeriesTextTest, APhaseOf64SecondsHasAColumnForEach) {
  const std::string whole = SeriesText(DocumentOf(PhaseWithStall(64, 20, 22)));
  EXPECT_EQ(whole.find("each column"), std::string::npos) << whole;
  EXPECT_NE(whole.find("\n  stalled" + std::string(21, ' ') + "!!!\n"), std::string::npos) << whole;
  const std::string longer = SeriesText(DocumentOf(PhaseWithStall(65, 20, 22)));
  EXPECT_NE(longer.find("; each column is the worst of 2 s"), std::string::npos) << longer;
}

TEST(SeriesTextTest, TheCurveMarksTheStallAtItsSecond) {
  const std::string text = SeriesText(DocumentOf(PhaseWithStall(20, 12, 15)));
  EXPECT_NE(text.find("mixed, 8 thr: 20.0 s, median 1,000 ops/s; stalls: 1\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("  ops/s   ████████████▁▁▁█████  0 to 1,000\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  p99     ▁▁▁▁▁▁▁▁▁▁▁▁   █▁▁▁▁  100 us to 1.5 s\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("  stalled             !!!!\n"), std::string::npos) << text;
  EXPECT_NE(text.find("stall from second 12.0 to 16.0: down to 0 ops/s, slowest operation 3 s\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("15.0-16.0"), std::string::npos) << "among the worst seconds\n" << text;
  EXPECT_NE(text.find("checkpoint 4k"), std::string::npos) << text;
}

TEST(SeriesTextTest, AStallOfALongPhaseDoesNotVanish) {
  const std::string text = SeriesText(DocumentOf(PhaseWithStall(1000, 612, 615)));
  EXPECT_NE(text.find("; each column is the worst of 16 s; stalls: 1\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("  stalled " + std::string(612 / 16, ' ') + "!\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("stall from second 612.0 to 616.0"), std::string::npos) << text;
}

TEST(SeriesTextTest, AStallInTheLastSecondsOfALongPhaseIsMarked) {
  // Seven seconds are left for the last column of 16 s.
  const std::string text = SeriesText(DocumentOf(PhaseWithStall(999, 996, 998)));
  EXPECT_NE(text.find("  stalled " + std::string(996 / 16, ' ') + "!\n"), std::string::npos)
      << text;
}

TEST(SeriesTextTest, APhaseThatStoodStillHasOneLongSecond) {
  // The process was stopped in its fourth second, for three seconds, between two operations.
  json series = json::array();
  for (const double end : {1, 2, 3, 7, 8, 9}) {
    series.push_back(Second(end, 1000, 100));
  }
  const json phase = {{"name", "mixed"}, {"kind", "measure"}, {"series", series}};
  const std::string text = SeriesText(DocumentOf(phase));
  EXPECT_NE(text.find("  ops/s   ███▃▃▃▃██  0 to 1,000\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  stalled    !!!!\n"), std::string::npos) << text;
  EXPECT_NE(text.find("stall from second 3.0 to 7.0: down to 250 ops/s"), std::string::npos)
      << text;
}

TEST(SeriesTextTest, APhaseWithoutStallsSaysSo) {
  const std::string text = SeriesText(DocumentOf(PhaseWithStall(5, 5, 5)));
  EXPECT_NE(text.find("; no stalls\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("stalled"), std::string::npos) << text;
}

TEST(SeriesTextTest, DamagedSeriesAreNotKnown) {
  for (const json& series : {json(), json("text"), json::array(), json::array({1, nullptr}),
                             json::array({{{"end_seconds", "x"}}, {{"end_seconds", 1}}})}) {
    const json phase = {{"name", "a\nb"}, {"kind", "measure"}, {"series", series}};
    const std::string text = SeriesText(DocumentOf(phase));
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(text.find("a\nb"), std::string::npos) << text;
  }
}

TEST(SparklineTest, ValuesBecomeHeights) {
  EXPECT_EQ(Sparkline({0, 5, 10, NAN, 20, -1}, 0, 10), "▁▅█ █▁");
  EXPECT_EQ(Sparkline({1, 10, 100}, 1, 100, SparkScale::kLog), "▁▅█");
  EXPECT_EQ(Sparkline({0, 0}, 0, 0), "▁▁");
  EXPECT_EQ(Sparkline({}, 0, 1), "");
}

}  // namespace
}  // namespace testbed

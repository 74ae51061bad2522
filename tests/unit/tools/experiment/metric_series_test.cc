// Tests which metrics of an experiment are a series, and how its file names their numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/tools/experiment/small_experiment.h"
#include "tools/experiment/experiment.h"

namespace testbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// Returns the small experiment with this line at its top and with these metrics.
std::string WithMetrics(const std::string& line, const std::vector<std::string>& names) {
  std::string text = line + kSmall;
  const std::string table = "[metrics]\n";
  size_t at = text.find(table) + table.size();
  for (const std::string& name : names) {
    const std::string metric = name + " = \"point_read.rate\"\n";
    text.insert(at, metric);
    at += metric.size();
  }
  return text;
}

// Returns each series as its stem, the name of its numbers and its metrics.
std::vector<std::string> SeriesIn(const std::string& text) {
  const Experiment e = ParseExperiment(text, "x.toml");
  std::vector<std::string> all;
  for (const MetricSeries& series : MetricSeriesOf(e)) {
    all.push_back(series.stem + " over " + e.series.at(series.letters) + ":");
    for (const auto& [number, place] : series.places) {
      all.back() += " " + std::to_string(number) + "=" + e.metrics[place].name;
    }
  }
  return all;
}

TEST(MetricSeriesTest, ThreeNumbersOfAStemAreASeries) {
  EXPECT_THAT(SeriesIn(WithMetrics("", {"rows_1", "rows_2"})), IsEmpty());
  EXPECT_THAT(SeriesIn(WithMetrics("", {"rows_10", "rows_1", "rows_2", "rows", "rows_all"})),
              ElementsAre("rows over number: 1=rows_1 2=rows_2 10=rows_10"));
  EXPECT_THAT(SeriesIn(WithMetrics("", {"a_b_0", "a_b_5", "a_b_90", "a_1", "a_2", "p1", "p2"})),
              ElementsAre("a_b over number: 0=a_b_0 5=a_b_5 90=a_b_90"));
  EXPECT_THAT(SeriesIn(WithMetrics("", {"p50", "p90", "p99", "x_p50", "x_p90", "x_p99"})),
              IsEmpty())
      << "letters stand before the numbers, which the file does not name";
}

TEST(MetricSeriesTest, MetricsOfSeveralUnitsAreNoSeries) {
  std::string text = WithMetrics("", {"rows_1", "rows_2", "rows_3"});
  const std::string third = "rows_3 = \"point_read.rate\"";
  text.replace(text.find(third), third.size(),
               "rows_3 = { value = \"point_read.rate\", unit = \"/s\" }");
  EXPECT_THAT(SeriesIn(text), IsEmpty());
}

TEST(MetricSeriesTest, TheFileNamesTheNumbers) {
  const std::vector<std::string> rounds = {"rows_1", "rows_2", "rows_3"};
  EXPECT_THAT(SeriesIn(WithMetrics("series = \"round\"", rounds)),
              ElementsAre("rows over round: 1=rows_1 2=rows_2 3=rows_3"));
  std::vector<std::string> steps = rounds;
  for (const char* step : {"qr100", "qr500", "qr1000", "i0", "i1", "i2"}) {
    steps.push_back(std::string("qps_") + step);
  }
  EXPECT_THAT(SeriesIn(WithMetrics("series = { qr = \"inserts/s\" }", steps)),
              ElementsAre("qps_qr over inserts/s: 100=qps_qr100 500=qps_qr500 1000=qps_qr1000",
                          "rows over number: 1=rows_1 2=rows_2 3=rows_3"));
}

TEST(MetricSeriesTest, ANameThatCannotBeIsRefused) {
  const std::vector<std::string> rounds = {"rows_1", "rows_2", "rows_3"};
  const auto refused = [&](const std::string& line) {
    return ErrorOf([&] { ParseExperiment(WithMetrics(line, rounds), "x.toml"); });
  };
  EXPECT_EQ(refused("series = \"round\""), "no error");
  const std::string wanted = "x.toml:1: series takes a name of at most 40 bytes, such as \"round\"";
  for (const char* value : {"\"\"", "5", "true", "[\"round\"]", "\"two\\nlines\"",
                            "\"a name that is longer than an axis of a plot\"", "{ qr = 5 }"}) {
    EXPECT_THAT(refused(std::string("series = ") + value), StartsWith(wanted)) << value;
  }
  EXPECT_EQ(refused("series = { q1 = \"round\" }"),
            "x.toml:1: series has the key q1, and its keys are letters alone");
  EXPECT_EQ(refused("series = { qr = \"rate\" }"),
            "x.toml:1: series names the number rate, but no three metrics of one stem and unit "
            "end in _qr and a number");
  const std::string none = WithMetrics("series = \"round\"", {});
  EXPECT_THAT(ErrorOf([&] { ParseExperiment(none, "x.toml"); }),
              HasSubstr("end in _ and a number"));
  EXPECT_EQ(ErrorOf([&] { ParseExperiment(none, "x.toml", false); }), "no error")
      << "of kept results";
}

TEST(MetricSeriesTest, ShippedExperimentsNameTheirNumbers) {
  const auto over = [](const std::string& name) {
    // The text is parsed as that of a new experiment, which refuses a name that nothing has.
    const Experiment e = ParseExperiment(LoadExperiment(name).text, name, true);
    std::vector<std::string> all;
    for (const MetricSeries& series : MetricSeriesOf(e)) {
      all.push_back(series.stem + "/" + e.series.at(series.letters));
    }
    return all;
  };
  EXPECT_THAT(over("concurrent-inserts"), testing::Contains("rows/round"));
  EXPECT_THAT(over("insert-benchmark"),
              testing::IsSupersetOf(
                  {"qps_qr/inserts a second and client", "qps_qp/inserts a second and client"}));
  EXPECT_THAT(over("cache-split"), testing::Contains("predicted/share"));
  EXPECT_THAT(over("linkbench"), testing::IsSupersetOf({"qps/period", "size/period"}));
}

}  // namespace
}  // namespace testbed

// Tests that what --metrics serves is OpenMetrics to the letter, that counters only grow, and that
// the shipped dashboard asks for nothing else.
#include "tools/live/open_metrics.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "tests/paths.h"
#include "tools/live/live_state.h"

namespace testbed {
namespace {

using nlohmann::json;

// A StrictParser has the samples of a text, by name and labels. Every rule of the format that the
// text breaks is a failure of the test (OpenMetrics 1.0, "ABNF" and "Overall Structure").
class StrictParser {
 public:
  explicit StrictParser(const std::string& text) {
    EXPECT_TRUE(text.ends_with("# EOF\n")) << text;
    std::istringstream in(text);
    std::string line;
    while (std::getline(in, line)) {
      EXPECT_FALSE(ended_) << "a line after # EOF: " << line;
      if (line == "# EOF") {
        ended_ = true;
      } else if (line.starts_with("# ")) {
        TakeMetadata(line);
      } else {
        TakeSample(line);
      }
    }
    EXPECT_TRUE(ended_);
  }
  double Value(const std::string& sample) const {
    const auto found = samples_.find(sample);
    if (found == samples_.end()) ADD_FAILURE() << "no sample " << sample;
    return found == samples_.end() ? -1 : found->second;
  }
  bool Has(const std::string& name) const {
    const auto from = samples_.lower_bound(name);
    return from != samples_.end() && from->first.starts_with(name);
  }
  const std::map<std::string, double>& samples() const { return samples_; }

 private:
  void TakeMetadata(const std::string& line) {
    static const std::regex form("# (TYPE|UNIT|HELP) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)");
    std::smatch parts;
    ASSERT_TRUE(std::regex_match(line, parts, form)) << line;
    const std::string what = parts[1], name = parts[2], value = parts[3];
    if (name != family_) {
      EXPECT_TRUE(families_.insert(name).second) << "families are interleaved: " << name;
      family_ = name;
      type_.clear();
      seen_.clear();
    }
    EXPECT_TRUE(seen_.insert(what).second) << line;
    EXPECT_FALSE(seen_.contains("sample")) << "metadata after a sample: " << line;
    if (what == "TYPE") type_ = value;
    if (what == "TYPE") {
      EXPECT_TRUE(value == "counter" || value == "gauge" || value == "info") << line;
    }
    if (what == "UNIT") {
      EXPECT_TRUE(name.ends_with("_" + value)) << "the name must end with its unit: " << line;
    }
    if (what == "HELP") {
      EXPECT_EQ(value.find('"'), std::string::npos) << line;
    }
  }

  void TakeSample(const std::string& line) {
    static const std::regex form(
        R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-zA-Z_][a-zA-Z0-9_]*="([^"\\\n]|\\["\\n])*"(,[a-zA-Z_][a-zA-Z0-9_]*="([^"\\\n]|\\["\\n])*")*)?\})? (NaN|[-+]?[0-9.]+(e[-+]?[0-9]+)?))re");
    std::smatch parts;
    ASSERT_TRUE(std::regex_match(line, parts, form)) << line;
    const std::string suffix = type_ == "counter" ? "_total" : type_ == "info" ? "_info" : "";
    EXPECT_EQ(parts[1], family_ + suffix) << line;
    seen_.insert("sample");
    std::set<std::string> labels;
    const std::string all = parts[2];
    static const std::regex label(R"re(([a-zA-Z_]\w*)="([^"\\]|\\.)*")re");
    for (std::sregex_iterator at(all.begin(), all.end(), label), end; at != end; ++at) {
      EXPECT_TRUE(labels.insert((*at)[1]).second) << "a label twice: " << line;
    }
    const double value = std::stod(parts[7]);
    if (type_ == "counter") {
      EXPECT_GE(value, 0) << line;  // fails for NaN, too
    }
    EXPECT_TRUE(samples_.emplace(parts[1].str() + all, value).second) << "twice: " << line;
  }

  bool ended_ = false;
  std::string family_, type_;
  std::set<std::string> families_, seen_;
  std::map<std::string, double> samples_;
};

SecondReport ASecond(double end, uint64_t operations) {
  SecondReport second{.phase = "mixed"};
  second.seconds = end;
  second.length = 1;
  second.fraction = end / 10;
  second.operations = operations;
  second.p50_us = 10;
  second.p99_us = 500;
  second.p999_us = 700;
  second.max_us = 1500;
  second.by_operation = {{"point-read", operations - 3, 1500}, {"update", 3, 20}};
  FileCounts file{.reads = 7, .read_bytes = 7 << 12, .writes = 2, .write_bytes = 8192, .syncs = 1};
  BlockCounts kernel{.reads = 6, .read_bytes = 6 << 12, .writes = 1, .write_bytes = 4096};
  second.causes = {{"point-read", "foreground", file, kernel},
                   {"checkpoint", "background", file, kernel},
                   {"other threads", "other", {}, kernel}};
  second.counts_files = second.counts_in_kernel = true;
  second.device = kernel;
  second.memory = {64 << 20, 30 << 20, 20 << 20, 1 << 20, 4, 5};
  second.resident_bytes = 31 << 20;
  return second;
}

constexpr char kRun[] = R"(engine="btree",threads="8",phase="mixed")";

std::string Sample(const std::string& name, const std::string& more = "") {
  return name + "{" + kRun + (more.empty() ? "" : "," + more) + "}";
}

TEST(OpenMetricsTest, TheTextIsOpenMetricsFromTheFirstLineOn) {
  OpenMetrics metrics("0.1.0");
  EXPECT_EQ(StrictParser(metrics.Text(1)).Value(R"(testbed_build_info{version="0.1.0"})"), 1);
  metrics.Begin({"btree", 8}, "mixed", 10);
  StrictParser begun(metrics.Text(10.5));
  metrics.Add(ASecond(1, 100), 11);
  const StrictParser text(metrics.Text(11.25));
  EXPECT_EQ(text.Value(Sample("testbed_operations_total", R"(operation="point-read")")), 97);
  EXPECT_EQ(text.Value(Sample("testbed_operations_per_second")), 100);
  EXPECT_EQ(text.Value(Sample("testbed_latency_seconds", R"(percentile="99")")), 0.0005);
  EXPECT_EQ(text.Value(Sample("testbed_report_age_seconds")), 0.25);
  EXPECT_EQ(text.Value(Sample("testbed_phase_done_ratio")), 0.1);
  EXPECT_EQ(text.Value(Sample("testbed_file_calls_total",
                              R"(cause="checkpoint",ground="background",call="sync")")),
            1);
  EXPECT_EQ(text.Value(Sample("testbed_kernel_bytes_total",
                              R"(cause="other threads",ground="other",direction="write")")),
            4096);
  EXPECT_EQ(text.Value(Sample("testbed_device_requests_total", R"(direction="read")")), 6);
  EXPECT_EQ(text.Value(Sample("testbed_memory_bytes", R"(part="page_cache")")), 20 << 20);
  for (const std::string& name : OpenMetrics::SampleNames()) {
    EXPECT_TRUE(text.Has(name)) << name;
  }
}

TEST(OpenMetricsTest, CountersGrowOverPhasesAndGaugesAreOfTheOneUnderWay) {
  OpenMetrics metrics("0.1.0");
  metrics.Begin({"btree", 8}, "mixed", 0);
  metrics.Add(ASecond(1, 100), 1);
  metrics.Add(ASecond(2, 50), 2);
  metrics.Begin({"btree", 8}, "settle", 3);
  const StrictParser between(metrics.Text(4));
  EXPECT_EQ(between.Value(Sample("testbed_operations_total", R"(operation="point-read")")), 144);
  EXPECT_FALSE(between.Has("testbed_operations_per_second"));
  EXPECT_FALSE(between.Has("testbed_report_age_seconds"));
  metrics.Begin({"btree", 8}, "mixed", 5);  // a phase of the next run
  metrics.Add(ASecond(1, 10), 6);
  EXPECT_EQ(StrictParser(metrics.Text(6))
                .Value(Sample("testbed_operations_total", R"(operation="point-read")")),
            151);
}

// Once, such a second added 2^64 - 2 to the counter.
TEST(OpenMetricsTest, FewerRequestsThanNoneAreTakenFromTheSecondsThatFollow) {
  OpenMetrics metrics("0.1.0");
  metrics.Begin({"btree", 8}, "mixed", 0);
  const std::string sample = Sample("testbed_kernel_requests_total",
                                    R"(cause="point-read",ground="foreground",direction="read")");
  double now = 0;
  const auto total_after = [&](uint64_t reads) {
    SecondReport second = ASecond(++now, 100);
    second.causes[0].kernel.reads = reads;
    metrics.Add(second, now);
    return StrictParser(metrics.Text(now)).Value(sample);
  };
  EXPECT_EQ(total_after(6), 6);
  EXPECT_EQ(total_after(uint64_t{0} - 2), 6) << "a counter does not fall";
  EXPECT_EQ(total_after(1), 6);
  EXPECT_EQ(total_after(5), 10);
}

TEST(OpenMetricsTest, StalledSecondsAreCounted) {
  OpenMetrics metrics("0.1.0");
  metrics.Begin({"btree", 8}, "mixed", 0);
  for (int i = 1; i <= 5; ++i) metrics.Add(ASecond(i, 100), i);
  EXPECT_EQ(StrictParser(metrics.Text(5)).Value(Sample("testbed_stalled_seconds_total")), 0);
  SecondReport frozen = ASecond(8, 3);
  frozen.length = 3;
  EXPECT_NEAR(StrictParser(metrics.Text(7.9)).Value(Sample("testbed_report_age_seconds")), 2.9,
              0.001);
  metrics.Add(frozen, 8);
  EXPECT_EQ(StrictParser(metrics.Text(8)).Value(Sample("testbed_stalled_seconds_total")), 3);
}

TEST(OpenMetricsTest, NamesOfAnyBytesAreLabelsAndNothingElse) {
  OpenMetrics metrics("a\"b\\c\ne\xff");
  metrics.Begin({"e\"} 1\n# EOF\n", 1}, "p", 0);
  metrics.Add(ASecond(1, 5), 1);
  const StrictParser text(metrics.Text(1));
  EXPECT_TRUE(text.Has(R"(testbed_operations_per_second{engine="e\"} 1\n# EOF\n")"));
}

// All operations of a second may have kept rows for their check, and are in no latency. Once, the
// latency was then 0.
TEST(OpenMetricsTest, ASecondWithoutALatencyHasNone) {
  for (const uint64_t operations : {0u, 1u}) {
    OpenMetrics metrics("0.1.0");
    metrics.Begin({"btree", 8}, "mixed", 0);
    SecondReport none{.phase = "mixed"};
    none.length = none.seconds = 1;
    none.operations = operations;
    metrics.Add(none, 1);
    const StrictParser text(metrics.Text(1));
    const std::string median = Sample("testbed_latency_seconds", R"(percentile="50")");
    EXPECT_NE(metrics.Text(1).find(median + " NaN"), std::string::npos) << operations;
    EXPECT_FALSE(text.Has("testbed_memory_bytes"));
    EXPECT_FALSE(text.Has("testbed_resident_memory_bytes")) << "it is not known";
  }
}

TEST(OpenMetricsTest, WhatTravelsArrivesAndAddsUp) {
  const SecondReport second = ASecond(1, 100);
  EXPECT_EQ(SecondJson(ParseSecond(SecondJson(second))), SecondJson(second));
  SecondReport both = second;
  both.Append(ASecond(2, 50));
  EXPECT_EQ(both.operations, 150u);
  EXPECT_EQ(both.length, 2);
  EXPECT_EQ(both.seconds, 2);
  EXPECT_EQ(both.by_operation[0].count, 144u);
  EXPECT_EQ(both.causes.size(), 3u);
  EXPECT_EQ(both.causes[1].file.write_bytes, 2 * 8192u);
  EXPECT_EQ(both.device->read_bytes, 12u << 12);
  EXPECT_EQ(both.memory->limit_hits, 8u);
}

// Adds all texts under the name "expr" or "query".
void Expressions(const json& j, std::vector<std::string>* found) {
  if (!j.is_structured()) return;
  for (const auto& [name, value] : j.items()) {
    if ((name == "expr" || name == "query") && value.is_string()) found->push_back(value);
    Expressions(value, found);
  }
}

TEST(OpenMetricsTest, TheDashboardAsksForWhatIsServed) {
  std::ifstream in(SourceDir() + "/docs/grafana/testbed.json");
  const json dashboard = json::parse(in);
  std::vector<std::string> expressions;
  Expressions(dashboard, &expressions);
  EXPECT_GT(expressions.size(), 15u);
  const std::vector<std::string> names = OpenMetrics::SampleNames();
  const std::set<std::string> served(names.begin(), names.end());
  const std::set<std::string> labels = {"engine",    "phase", "operation",  "cause",    "ground",
                                        "direction", "part",  "percentile", "instance", "call"};
  std::set<std::string> asked;
  static const std::regex metric("testbed_[a-z_]+"), label("([a-z_]+)(=~|!=|=)\""),
      by("by \\(([a-z_, ]+)\\)"), word("[a-z_]+");
  for (const std::string& text : expressions) {
    for (std::sregex_iterator at(text.begin(), text.end(), metric), end; at != end; ++at) {
      EXPECT_TRUE(served.contains(at->str())) << text;
      asked.insert(at->str());
    }
    for (std::sregex_iterator at(text.begin(), text.end(), label), end; at != end; ++at) {
      EXPECT_TRUE(labels.contains((*at)[1])) << text;
    }
    for (std::sregex_iterator at(text.begin(), text.end(), by), end; at != end; ++at) {
      const std::string list = (*at)[1];
      for (std::sregex_iterator w(list.begin(), list.end(), word), none; w != none; ++w) {
        EXPECT_TRUE(labels.contains(w->str())) << text;
      }
    }
  }
  EXPECT_GT(asked.size(), 12u);
}

// Once, --live said so after 1.7 seconds, and all others after 2.
TEST(OpenMetricsTest, AllSayAlikeWhenARunStandsStill) {
  const std::string seconds = fmt::format("{:g}", LiveState::kOverdue);
  const auto file = [](const std::string& name) {
    std::ifstream in(SourceDir() + name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  for (const auto& [text, says] :
       {std::pair(OpenMetrics("0.1.0").Text(1), "above " + seconds + " it stands still"),
        std::pair(file("/docs/live.md"), "above " + seconds + " the run stands still"),
        std::pair(file("/docs/grafana/testbed.json"), "} > bool " + seconds + ",")}) {
    EXPECT_NE(text.find(says), std::string::npos) << says;
  }
}

}  // namespace
}  // namespace testbed

// Tests what a page says of a run: the doubts of the report, latencies from the intended start, the
// run's own share of the device, and stalls of single seconds.
#include "tools/html/page_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/tools/results/small_document.h"
#include "tools/html/plot_files.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr size_t kMixed = 2;  // the phase of SmallDocument that measures

json& Mixed(json& document) { return document["runs"][0]["phases"][kMixed]; }

// Returns the document as the page has it.
json OnPage(const json& document) {
  PageData data;
  data.AddDocument("run.json", document);
  return data.Json()["documents"][0]["document"];
}

// Returns what a function of the page says of the phase that measures.
std::string Says(const json& document, const std::string& call) {
  return EvaluateOnPage(
      OnPage(document),
      "var run = data.runs[0], phase = run.phases[2]; JSON.stringify(" + call + ");");
}

std::string Answers(const json& document) { return Says(document, "testbed.answers(run, phase)"); }

json Confidence(const json& document) {
  return json::parse(Says(document, "testbed.confidence(data, run, phase)"));
}

// Returns a document of an open loop whose clients fell behind: each operation took a microsecond,
// and most of them had waited for a second.
json OpenLoop() {
  json document = SmallDocument();
  json& phase = Mixed(document);
  phase.update({{"target_rate", 3000},
                {"due_operations", 2000},
                {"undone_operations", 1900},
                {"backlog_seconds", 1}});
  json operation = SmallOperation("mixed", 100);
  operation["latency_ns_histogram"] = json::parse("[[1000, 100]]");
  operation["latency_from_intended_us"] = {{"mean", 9e5},  {"p50", 9.5e5}, {"p90", 9.6e5},
                                           {"p99", 9.9e5}, {"p999", 1e6},  {"p9999", 1e6},
                                           {"max", 1e6}};
  operation["latency_from_intended_ns_histogram"] = json::parse("[[1000, 100], [990000000, 1900]]");
  phase["operations"] = json::array({operation});
  return document;
}

TEST(PageDataTest, DoubtsOfTheReportAlarm) {
  json document = OpenLoop();
  Mixed(document)["steal_share"] = 0.3;
  document["not_in_force"] = json::parse(R"([{"option": "ram", "why": "not root"}])");
  EXPECT_THAT(OnPage(document)["doubts"],
              ElementsAre(HasSubstr("the hypervisor gave up to 30 % of the processors"),
                          HasSubstr("mixed, 8 thr fell behind: 1,900 of 2,000 operations due"),
                          "--ram is not in force: not root"));
  size_t alarms = 0;
  for (const json& says : Confidence(document)) alarms += says.value("alarm", false);
  EXPECT_EQ(alarms, 4u) << "the doubts, and the stall of SmallDocument";
}

TEST(PageDataTest, AClosedLoopIsCalledSo) {
  EXPECT_THAT(Confidence(SmallDocument()).dump(), HasSubstr("closed loop: each client begins"));
  EXPECT_THAT(Confidence(OpenLoop()).dump(), Not(HasSubstr("closed loop")));
}

TEST(PageDataTest, AnOpenLoopHasItsLatencyFromTheIntendedStart) {
  EXPECT_THAT(
      Answers(OpenLoop()),
      HasSubstr("operations a second, of 3,000 asked for; from the intended start half took "
                "up to 950 ms, the slowest 1 s."));
  EXPECT_THAT(Answers(SmallDocument()), Not(HasSubstr("intended")));
  const json operation = OnPage(OpenLoop())["runs"][0]["phases"][kMixed]["operations"][0];
  EXPECT_EQ(operation["latency_curve"], json::parse("[[0.05, 1.0], [1, 1e6]]"));
  // A document of an earlier version has percentiles alone.
  json earlier = OpenLoop();
  Mixed(earlier)["operations"][0].erase("latency_from_intended_ns_histogram");
  json page = OnPage(earlier);
  EXPECT_EQ(Mixed(page)["operations"][0]["latency_curve"],
            json::parse("[[0.5, 9.5e5], [0.9, 9.6e5], [0.99, 9.9e5], [1, 1e6]]"));
}

TEST(PageDataTest, APercentileIsToldByTenOperationsThatTookLonger) {
  json document = SmallDocument();
  Mixed(document)["operations"] = json::array({SmallOperation("mixed", 1000)});
  EXPECT_THAT(Answers(document), HasSubstr("half took up to 10 µs, 99 % up to 90 µs, the slowest"));
  Mixed(document)["operations"] = json::array({SmallOperation("mixed", 999)});
  EXPECT_THAT(Answers(document), HasSubstr("half took up to 10 µs, the slowest 100 µs."));
  Mixed(document)["operations"] = json::array({SmallOperation("mixed", 3)});
  EXPECT_THAT(Answers(document), HasSubstr("; the slowest took 100 µs."));
}

TEST(PageDataTest, FiguresPerOperationAreOfTheRunAlone) {
  json document = SmallDocument();
  Mixed(document)["rows_read"] = 60;
  EXPECT_THAT(Answers(document), HasSubstr("he device read 0.5 times")) << "rsync read 7 of 57";
  json& account = Mixed(document)["account"];
  account["own"] = {{"reads", 40}, {"read_bytes", 0}, {"writes", 0}, {"write_bytes", 500}};
  EXPECT_THAT(Answers(document), HasSubstr("he device read 0.4 times"));
  EXPECT_THAT(Answers(document), HasSubstr("the device wrote 0.5 bytes"));
  const std::string levels =
      Says(document,
           "testbed.levels(phase, 'read').map(function (l) { return l.name + ' ' + l.calls; })");
  EXPECT_THAT(levels, HasSubstr("device, of this run 40"));
  EXPECT_THAT(levels, HasSubstr("device, in all 57"));
  // Whose a request is tells its file, and not the name of the thread.
  account["other_threads"] = json::parse(R"([
      {"thread": "old", "kind": "data", "kernel": {"write_bytes": 300}},
      {"thread": "kworker/1:1", "kind": "other-file", "kernel": {"write_bytes": 20}}])");
  EXPECT_THAT(
      Says(document, "testbed.flows(phase.account, 'write')"),
      testing::AllOf(HasSubstr("\"writeback\":{\"data\":300}"), HasSubstr("\"foreign\":20")));
}

TEST(PageDataTest, ADataSetThatWasNotLoadedIsNotShown) {
  json document = SmallDocument();
  document["data"] = {{"rows", 100}, {"key_bytes", 1600}, {"value_bytes", 40000}};
  EXPECT_TRUE(OnPage(document).contains("data"));
  document["options"]["workload"] = {"linkbench-load", "linkbench"};
  EXPECT_FALSE(OnPage(document).contains("data"));
}

TEST(PageDataTest, AStallOfASecondStaysOneWhenSecondsAreJoined) {
  json document = SmallDocument(), series = json::array();
  constexpr int kSeconds = 3 * PageData::kMostSeconds;
  for (int i = 0; i < kSeconds; ++i) {
    series.push_back({{"end_seconds", i + 1}, {"operations", i == 1500 ? 1 : 100}, {"max_us", 90}});
  }
  Mixed(document)["series"] = series;
  json page = OnPage(document);
  const json& columns = Mixed(page)["series"];
  EXPECT_EQ(columns["joined"], 3);
  EXPECT_EQ(columns["operations"].size(), PageData::kMostSeconds);
  EXPECT_EQ(columns["stalls"],
            json::parse("[{\"from\": 1500, \"to\": 1501, \"rate\": 1, \"worst\": 90}]"));
  EXPECT_THAT(Confidence(document).dump(), HasSubstr("One stall, from second 1,500 to 1,501"));
}

}  // namespace
}  // namespace testbed

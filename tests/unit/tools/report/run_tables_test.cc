// Tests the tables of a run: which requests of the device are its own, and which percentiles are
// told.
#include "tools/report/run_tables.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/paths.h"
#include "tests/unit/tools/results/small_document.h"
#include "tools/report/report.h"
#include "tools/statistics/estimate.h"
#include "tools/statistics/metrics.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Returns SmallDocument with what the tables read besides.
json TablesDocument() {
  json document = SmallDocument();
  for (json& phase : document["runs"][0]["phases"]) {
    phase.update({{"verified", 0}, {"wrong", 0}, {"steady", {{"rate", nullptr}}}});
    for (json& cause : phase["account"]["causes"]) cause["ground"] = "foreground";
  }
  return document;
}

std::string TextOf(const json& document, const std::string& title) {
  for (const Table& table : RunTables(document)) {
    const std::string text = table.empty() ? "" : table.Text(SIZE_MAX);
    if (text.starts_with(title)) return text;
  }
  ADD_FAILURE() << "there is no table " << title;
  return "";
}

TEST(RunTablesTest, WritesOfOtherProgramsAreNoLogWrites) {
  json document = TablesDocument();
  json& account = document["runs"][0]["phases"][2]["account"];
  account["log"] = {{"bytes", 700}};
  EXPECT_THAT(TextOf(document, "Log writes"), HasSubstr(" 0.030 ")) << "of the device";
  account["other_threads"][0]["kernel"]["writes"] = 2;
  EXPECT_THAT(TextOf(document, "Log writes"),
              testing::AllOf(HasSubstr(" 0.010 "), Not(HasSubstr(" 0.030 "))));
}

// Returns the line of a table that begins with `name`, without the name.
std::string LineOf(const std::string& table, const std::string& name) {
  const size_t at = table.find("\n  " + name + " ");
  if (at == std::string::npos) return "there is no line " + name + " in:\n" + table;
  const size_t begin = at + 3 + name.size();
  return table.substr(begin, table.find('\n', begin) - begin);
}

// Once, the share was then 0.0 %, as if background work had caused all reads.
TEST(RunTablesTest, WithoutTheKernelAccountTheShareOfTheForegroundIsNotKnown) {
  json document = TablesDocument();
  const std::string name = "mixed all operations, 8 thr";
  EXPECT_THAT(LineOf(TextOf(document, "Reads"), name), HasSubstr(" 24.6 %"));
  for (json& phase : document["runs"][0]["phases"]) {
    phase["account"].erase("other_threads");
    for (json& cause : phase["account"]["causes"]) cause.erase("kernel");
  }
  const std::string line = LineOf(TextOf(document, "Reads"), name);
  EXPECT_THAT(line, HasSubstr(" 0.570 ")) << "the device was read";
  EXPECT_THAT(line, Not(HasSubstr("%")));
}

// bf-tree counts the pages that it reads, and not what it asks its cache for.
TEST(RunTablesTest, AnEngineThatCountsItsReadsAloneHasMisses) {
  json document = TablesDocument();
  json& account = document["runs"][0]["phases"][2]["account"];
  account["engine"] = {{"block_reads", 66}};
  const std::string name = "mixed all operations, 8 thr";
  EXPECT_THAT(LineOf(TextOf(document, "Reads"), name), testing::ContainsRegex("^ *- +0\\.660 "));
  account["engine"] = {{"block_requests", 50}, {"block_hits", 40}, {"block_reads", 66}};
  EXPECT_THAT(LineOf(TextOf(document, "Reads"), name),
              testing::ContainsRegex("^ *0\\.500 +0\\.100 "))
      << "reads ahead are no misses";
}

TEST(RunTablesTest, TheTimeThatClientsPreparedOperationsIsDividedByTheirNumber) {
  json document = TablesDocument();
  EXPECT_THAT(TextOf(document, "Operations"), Not(HasSubstr(" 2500 ")));
  document["runs"][0]["phases"][2]["preparing_seconds"] = 0.00025;
  const std::string text = TextOf(document, "Operations");
  EXPECT_THAT(LineOf(text, "mixed all operations, 8 thr"), HasSubstr(" 2500 ")) << text;
}

// Once, such a phase was in no table of operations, as if it had not run.
TEST(RunTablesTest, APhaseInWhichNoOperationEndedHasARow) {
  json document = TablesDocument();
  json& phase = document["runs"][0]["phases"][2];
  phase.update({{"operations", json::array()}, {"count", 0}, {"rate", 0.0}});
  EXPECT_THAT(LineOf(TextOf(document, "Operations"), "mixed, 8 thr"),
              testing::ContainsRegex("^ *0 +0 +- +- +- +- +- +- "));
}

// Once, the examples went on saying 5 when the table had a further column.
TEST(RunTablesTest, TheExamplesOfTheManualSayHowManyColumnsWideAdds) {
  const Table table = RunTables(TablesDocument()).front();
  ASSERT_EQ(table.title(), "Operations");
  const std::vector<std::string>& columns = table.columns();
  // The examples have the columns up to the longest latency, and the steadiness.
  const auto longest = std::find(columns.begin(), columns.end(), "max us");
  const auto more = std::ssize(columns) - (longest - columns.begin()) - 2;
  for (const char* page : {"/README.md", "/docs/rates.md"}) {
    std::ifstream in(SourceDir() + page);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    EXPECT_THAT(text, HasSubstr(fmt::format("({} more columns with --wide)", more))) << page;
  }
}

// A search for a median has steps of 200 operations, of which two are above the p99.
TEST(RunTablesTest, AStepOfASearchTellsThePercentilesThatItHasOperationsFor) {
  json document = TablesDocument();
  json& found = document["runs"][0]["find_rate"][0];
  found = {{"name", "mixed"}, {"outcome", "found"}, {"found_rate", 300.0}, {"limited_share", 0.5}};
  for (const double rate : {200.0, 300.0}) {
    found["steps"].push_back({{"target_rate", rate},
                              {"rate", rate},
                              {"seconds", 1.0},
                              {"count", rate == 200 ? 999 : 1000},
                              {"p50_us", 11.0},
                              {"p99_us", 77.0},
                              {"limited_us", 44.0},
                              {"max_us", 99.0},
                              {"slower_share", 0.25},
                              {"backlog_seconds", 0.0},
                              {"kept_up", true},
                              {"meets", true}});
  }
  json none = found["steps"][0];
  for (const char* figure : {"p50_us", "p99_us", "limited_us", "max_us", "slower_share"}) {
    none[figure] = nullptr;
  }
  none.update({{"target_rate", 400.0}, {"count", 0}, {"kept_up", false}, {"meets", false}});
  found["steps"].push_back(none);
  const std::string table = TextOf(document, "Rates that --find-rate tried");
  const size_t few = table.find(" 999 "), enough = table.find(" 1,000 ");
  ASSERT_NE(few, std::string::npos) << table;
  ASSERT_LT(few, enough) << table;
  EXPECT_THAT(table.substr(few, enough - few), Not(HasSubstr(" 77.0 ")));
  EXPECT_THAT(table.substr(few, enough - few), HasSubstr(" 11.0 "));
  EXPECT_THAT(table.substr(few, enough - few), HasSubstr(" 44.0 "));
  EXPECT_THAT(table.substr(enough), HasSubstr(" 77.0 "));
  EXPECT_THAT(LineOf(table, "mixed, 8 thr"), HasSubstr(" 25.0 %"));
  EXPECT_THAT(table.substr(table.find(" 400 ")), Not(HasSubstr("%"))) << "nothing was measured";
  document["runs"][0].update({{"load", 1}, {"repeat", 2}});
  EXPECT_THAT(TextOf(document, "Rates that --find-rate tried"),
              HasSubstr("\n  mixed, 8 thr load 2 #3 "));
  found["limited_share"] = 0.99;
  found["steps"].erase(size_t{0});
  EXPECT_THAT(TextOf(document, "Rates that --find-rate tried"), HasSubstr(" 44.0 "));
  found["steps"][0]["latency_count"] = 999;
  EXPECT_THAT(
      TextOf(document, "Rates that --find-rate tried"),
      testing::AllOf(HasSubstr(" 11.0 "), Not(HasSubstr(" 77.0 ")), Not(HasSubstr(" 44.0 "))))
      << "one of the thousand kept rows for its check";
}

TEST(RunTablesTest, OfATrialOfACacheAFigureThatWasNotCountedIsNotShown) {
  json document = TablesDocument();
  document["runs"][0]["cache_tuning"] = {{"chosen_pct", 40.0}};
  document["runs"][0]["cache_tuning"]["trials"].push_back({{"cache_pct", 40.0},
                                                           {"times", 1},
                                                           {"rate", 500.0},
                                                           {"engine_misses_per_operation", nullptr},
                                                           {"device_reads_per_operation", nullptr},
                                                           {"cpu_us_per_operation", 7.0},
                                                           {"device_us_per_operation", nullptr},
                                                           {"other_bytes", nullptr}});
  const std::string table = TextOf(document, "Shares of the memory that --cache-pct auto tried");
  EXPECT_THAT(LineOf(table, "40.0 %, 8 thr (chosen)"),
              testing::ContainsRegex(" 1 +500 +- +- +- +7.00 +-$"));
  document["runs"][0]["load"] = 1;
  EXPECT_THAT(TextOf(document, "Shares of the memory that --cache-pct auto tried"),
              HasSubstr("\n  40.0 %, 8 thr load 2 (chosen) "));
  json other = document["runs"][0]["cache_tuning"];
  other.update({{"name", "mixed"}, {"chosen_pct", 70.0}});
  document["runs"][0]["cache_tuning"]["name"] = "point-read";
  document["runs"][0]["earlier_cache_tunings"].push_back(other);
  const std::string both = TextOf(document, "Shares of the memory that --cache-pct auto tried");
  const size_t mixed = both.find("\n  40.0 %, 8 thr load 2, mixed ");
  ASSERT_NE(mixed, std::string::npos) << both;
  EXPECT_NE(both.find("\n  40.0 %, 8 thr load 2, point-read (chosen) ", mixed), std::string::npos)
      << both;
}

TEST(RunTablesTest, OfTheMemoryAFigureThatIsNotKnownIsNotShown) {
  constexpr uint64_t kMiB = 1 << 20;
  json document = TablesDocument();
  document["runs"][0]["phases"][2]["memory"] = {{"limit", 64 * kMiB},
                                                {"engine_cache", 20 * kMiB},
                                                {"process_other", 10 * kMiB},
                                                {"page_cache", 0},
                                                {"kernel", kMiB},
                                                {"unused", 33 * kMiB},
                                                {"unaccounted", 0},
                                                {"peak", 40 * kMiB}};
  const auto line = [&document] {
    return LineOf(TextOf(document, "Memory at the end of the phase"), "mixed, 8 thr");
  };
  EXPECT_THAT(line(), HasSubstr(" 40M "));
  document["runs"][0]["phases"][2]["memory"]["peak"] = nullptr;
  EXPECT_THAT(line(), testing::AllOf(HasSubstr(" 20M "), testing::ContainsRegex(" - +- +-$")));
  document["runs"][0]["phases"][2]["memory"]["engine_cache"] = nullptr;
  EXPECT_THAT(line(), testing::ContainsRegex("^ *64M +- +10M "));
}

// Once, what the engine and the device did for all operations was divided by the answered ones
// alone, here and in every comparison.
TEST(RunTablesTest, OperationsWithoutAnAnswerCausedTheirRequests) {
  json document = TablesDocument();
  json& phase = document["runs"][0]["phases"][2];
  EXPECT_THAT(LineOf(TextOf(document, "Reads per operation"), "mixed all operations, 8 thr"),
              HasSubstr(" 0.500 "));
  EXPECT_DOUBLE_EQ(MetricsOf(phase).at("").at("device_reads"), 0.5);
  phase["unanswered"] = json::array();
  phase["unanswered"].push_back({{"name", "point-read"}, {"count", 75}, {"max_us", 7}});
  phase["unanswered"].push_back({{"name", "update"}, {"count", 25}, {"max_us", 7}});
  EXPECT_THAT(LineOf(TextOf(document, "Reads per operation"), "mixed all operations, 8 thr"),
              HasSubstr(" 0.250 "));
  const auto metrics = MetricsOf(phase).at("");
  EXPECT_DOUBLE_EQ(metrics.at("device_reads"), 0.25);
  EXPECT_DOUBLE_EQ(metrics.at("cpu_us"), 3750);
  EXPECT_EQ(metrics.at("rate"), 40) << "of the answered ones";
}

TEST(RunTablesTest, EachAddressHasItsClientsAndWhatItsServerCounted) {
  json document = TablesDocument();
  json& phase = document["runs"][0]["phases"][2];
  const json us = {{"p50", 11.0}, {"p99", 22.0}, {"max", 33.0}};
  const json first = {{"address", "n1:1"}, {"threads", 2},    {"count", 5000},
                      {"rate", 2500.0},    {"unanswered", 0}, {"latency_us", us}};
  const json second = {{"address", "n2:1"}, {"threads", 1},    {"count", 4},
                       {"rate", 2.0},       {"unanswered", 3}, {"latency_us", us}};
  phase["addresses"] = json::array({first, second});
  const json counted = {{"block_reads", 700}, {"blocks_written", 800}, {"log_written_bytes", 900}};
  phase["account"]["addresses"] = json::array();
  phase["account"]["addresses"].push_back({{"address", "n1:1"}, {"engine", counted}});
  phase["account"]["addresses"].push_back({{"address", "n2:1"}, {"lost", "it is lost"}});
  const std::string table = TextOf(document, "Addresses of the server");
  const std::string whole = LineOf(table, "mixed, 8 thr: n1:1");
  for (const char* figure :
       {" 2 ", " 5,000 ", " 2500 ", " 11.0 ", " 22.0 ", " 33.0 ", " 700 ", " 800 ", " 900"}) {
    EXPECT_THAT(whole, HasSubstr(figure));
  }
  const std::string lost = LineOf(table, "mixed, 8 thr: n2:1 (lost)");
  EXPECT_THAT(lost, HasSubstr(" 3 "));
  EXPECT_THAT(lost, Not(HasSubstr("11.0"))) << "four operations tell no percentile";
  phase["addresses"][0]["latency_us"]["count"] = 999;
  EXPECT_THAT(LineOf(TextOf(document, "Addresses of the server"), "mixed, 8 thr: n1:1"),
              testing::AllOf(HasSubstr(" 11.0 "), Not(HasSubstr(" 22.0 "))))
      << "the other operations kept rows for their check";
}

TEST(RunTablesTest, EachTaskHasItsClientsAndItsClock) {
  json document = TablesDocument();
  json& phase = document["runs"][0]["phases"][2];
  const json us = {{"p50", 11.0}, {"p99", 22.0}, {"max", 33.0}};
  const json before = {{"offset_us", -1234.0}, {"error_us", 44.0}};
  const json after = {{"offset_us", 8'000'000.0}, {"error_us", 45.0}};
  phase["tasks"] = json::array();
  for (int i = 0; i < 2; ++i) {
    phase["tasks"].push_back({{"task", i},
                              {"host", "n" + std::to_string(i)},
                              {"threads", 2},
                              {"count", i == 0 ? 5000 : 4},
                              {"rate", 2500.0},
                              {"latency_us", us},
                              {"began_late_us", 66.0},
                              {"clock_before", before},
                              {"clock_after", after},
                              {"drift_us", 5.0}});
  }
  const std::string table = TextOf(document, "Tasks of the run");
  const std::string whole = LineOf(table, "mixed, 8 thr x 2 tasks: 0");
  for (const char* figure :
       {" n0 ", " 2 ", " 5,000 ", " 2500 ", " 11.0 ", " 22.0 ", " 33.0 ", " 66.0 ", " 44.0 "}) {
    EXPECT_THAT(whole, HasSubstr(figure));
  }
  EXPECT_TRUE(whole.ends_with(" 5.00")) << "the clocks drifted apart: " << whole;
  EXPECT_THAT(whole, HasSubstr("-1234"));
  EXPECT_THAT(LineOf(table, "mixed, 8 thr x 2 tasks: 1"), Not(HasSubstr("11.0")))
      << "four operations tell no percentile";
}

// Returns the doubts about a run of two tasks, each with the second of its begin and its length.
std::string DoubtsOfTasks(double begin_0, double length_0, double begin_1, double length_1) {
  json document = TablesDocument();
  document["runs"][0]["phases"][2]["tasks"] = {
      {{"task", 0}, {"host", "n0"}, {"seconds", length_0}, {"began_late_us", begin_0 * 1e6}},
      {{"task", 1}, {"host", "n1"}, {"seconds", length_1}, {"began_late_us", begin_1 * 1e6}}};
  return Doubts(document);
}

TEST(DoubtsTest, TasksThatDidNotWorkAtTheSameTimeAreNamed) {
  EXPECT_EQ(DoubtsOfTasks(0, 10, 0.1, 10), "");
  EXPECT_EQ(DoubtsOfTasks(5, 10, 5, 10), "") << "both began late, and together";
  EXPECT_EQ(DoubtsOfTasks(0, 10, 2.5, 7.5),
            "! mixed, 8 thr x 2 tasks: all tasks worked together for only 75.0 % of the time, so "
            "the rest has fewer clients: task 1 on n1 began 2.50 s after the first\n");
  EXPECT_THAT(DoubtsOfTasks(0, 5, 1, 9),
              HasSubstr("40.0 % of the time, so the rest has fewer clients: task 1 on n1 "
                        "began 1.00 s after the first, and task 0 on n0 ended 5.00 s before the "
                        "last\n"));
  EXPECT_THAT(DoubtsOfTasks(0, 1, 2, 1), HasSubstr(" 0.0 % of the time"));
}

TEST(DoubtsTest, AReplayWhoseWalksEndSoonerThanTheRecordedOnesIsNamed) {
  json document = TablesDocument();
  json& details = document["runs"][0]["phases"][2]["details"];
  details = {{"cursor_steps", 100}, {"cursor_steps_left_out", 5}};
  EXPECT_EQ(Doubts(document), "");
  details["cursor_steps_left_out"] = 6;
  EXPECT_THAT(Doubts(document), HasSubstr("! mixed, 8 thr: 6 of 100 steps of cursors were left"));
}

TEST(DoubtsTest, AClockThatMovedDuringThePhaseIsNamed) {
  json document = TablesDocument();
  json& phase = document["runs"][0]["phases"][2];
  phase["seconds"] = 10.0;
  const auto doubts = [&](double drift_us) {
    json tasks = json::array();
    for (const int task : {0, 1}) {
      tasks.push_back({{"task", task},
                       {"host", "n" + std::to_string(task)},
                       {"seconds", 10.0},
                       {"began_late_us", 0.0},
                       {"clock_before", {{"offset_us", 0.0}, {"error_us", 4.0}}},
                       {"clock_after", {{"offset_us", task * 8e6}, {"error_us", 4.0}}},
                       {"drift_us", task * drift_us}});
    }
    phase["tasks"] = tasks;
    return Doubts(document);
  };
  EXPECT_EQ(doubts(5000), "") << "as clocks that are slewed, though a time of day was set";
  EXPECT_THAT(doubts(-2'500'000), HasSubstr("8 thr x 2 tasks: the clock of task 1 on n1 moved by "
                                            "-2.50 s against that of task 0, so"));
}

// Once, the report named what the last run lacked, and nothing that the others did.
TEST(ReportTextTest, WhatIsNotKnownOfSomeRunIsNamedOnce) {
  json document = TablesDocument();
  json& runs = document["runs"];
  runs.push_back(runs[0]);
  runs.push_back(runs[0]);
  runs[0]["accounting"]["missing"] = {"this", "that"};
  runs[1]["accounting"]["missing"] = {"that", "another"};
  runs[2]["accounting"]["missing"] = json::array();
  EXPECT_THAT(ReportText(document, {.wide = true}),
              HasSubstr("grade B; not known: this; not known: that; not known: another\n"));
}

TEST(FailedRunLinesTest, NameTheTasksOfTheRun) {
  json document = TablesDocument();
  document["runs"][0]["error"] = {{"sentence", "task 1 of 3 has ended"}, {"exit_code", 1}};
  EXPECT_THAT(FailedRunLines(document),
              testing::ElementsAre("! the run of 8 thr failed: task 1 of 3 has ended\n"));
  document["options"]["tasks"] = 3;
  EXPECT_THAT(FailedRunLines(document),
              testing::ElementsAre(HasSubstr("! the run of 8 thr x 3 tasks failed: task 1 of 3")));
}

TEST(RunTablesTest, TheTargetAndTheLatenessAreThePhasesAndNotAnOperations) {
  json document = TablesDocument();
  json& phase = document["runs"][0]["phases"][2];
  phase.update({{"target_rate", 1000.0},
                {"clients_rate", 987.0},
                {"backlog_seconds", 0.5},
                {"lateness_us", {{"p50", 11.0}, {"p99", 222.0}}}});
  for (json& op : phase["operations"]) op["latency_from_intended_us"] = op["latency_us"];
  const std::string title = "Latency from the intended start";
  const std::string several = TextOf(document, title);
  const std::string all = LineOf(several, "mixed all operations, 8 thr");
  for (const char* figure : {" 1000 ", " 987 ", " 11.0 ", " 222 ", " 0.500"}) {
    EXPECT_THAT(all, HasSubstr(figure));
  }
  const std::string update = LineOf(several, "mixed update, 8 thr");
  EXPECT_THAT(update, HasSubstr(" 20.0 ")) << "its own rate";
  EXPECT_THAT(update, HasSubstr(" 20.5 ")) << "its own mean";
  for (const char* figure : {"1000", "987", "11.0", "222", "0.500"}) {
    EXPECT_THAT(update, Not(HasSubstr(figure)));
  }
  phase["operations"].erase(size_t{1});
  const std::string alone = LineOf(TextOf(document, title), "mixed point-read, 8 thr");
  for (const char* figure : {" 1000 ", " 987 ", " 20.5 ", " 11.0 ", " 222 ", " 0.500"}) {
    EXPECT_THAT(alone, HasSubstr(figure));
  }
}

TEST(RunTablesTest, BytesOfTheUserAreNotKnownAfterValuesOfOtherSizes) {
  json document = TablesDocument();
  document["data"] = {{"rows", 100}, {"key_bytes", 1600}, {"value_bytes", 8400}};
  json& phases = document["runs"][0]["phases"];
  for (json& phase : phases) phase["database_bytes"] = 20000;
  phases[0]["rows_inserted"] = 100;
  phases[2]["rows_inserted"] = 0;
  for (json& phase : phases) phase["rows_erased"] = 0;
  const auto per_user_byte = [&document](const std::string& phase) {
    const std::string line = LineOf(TextOf(document, "Database"), phase + ", 8 thr");
    return line.substr(line.find_last_of(' ') + 1);
  };
  EXPECT_EQ(per_user_byte("mixed"), "2.00");
  phases[2]["details"] = {{"mean_value_bytes", 36.0}};  // of mixgraph
  EXPECT_EQ(per_user_byte("mixed"), "-");
  EXPECT_EQ(per_user_byte("insert"), "2.00");
  phases[2]["details"] = {{"mean_value_bytes", nullptr}};  // it put nothing
  EXPECT_EQ(per_user_byte("mixed"), "2.00");
  phases[2]["details"] = {{"trace", {{"workload", "mixed"}}}};
  EXPECT_EQ(per_user_byte("mixed"), "-");
  phases[2]["user_bytes_written"] = 0;
  EXPECT_EQ(per_user_byte("mixed"), "2.00") << "a replay that only reads";
  phases[2]["rows_erased"] = 50;
  phases[2]["database_bytes"] = 10000;
  EXPECT_EQ(per_user_byte("mixed"), "2.00") << "the rows that are left have the same size";
  document["options"]["value_size"] = "column";
  EXPECT_EQ(per_user_byte("mixed"), "-") << "rows of any of several sizes are left";
  EXPECT_EQ(per_user_byte("insert"), "2.00");
  phases[2].erase("rows_erased");
  EXPECT_EQ(per_user_byte("mixed"), "-") << "it is not known how many it erased";
  document["runs"][0]["other_sizes"] = true;  // of a run before
  EXPECT_EQ(per_user_byte("insert"), "-");
}

// A run may begin with a count of the rows, to which the bytes of the run before it are nothing.
TEST(RunTablesTest, TheBytesOfTheUserAreThoseOfTheRun) {
  json document = TablesDocument();
  json run = document["runs"][0];
  run["repeat"] = 1;
  run["phases"] = json::array(
      {{{"name", "count-rows"},
        {"kind", "count"},
        {"seconds", 0.1},
        {"account",
         {{"causes", json::array()}, {"device", {{"writes", 1}, {"write_bytes", 2000}}}}}}});
  document["runs"].push_back(run);
  const std::string table = TextOf(document, "Bytes written, by cause");
  EXPECT_THAT(LineOf(table, "mixed, 8 thr: device"), HasSubstr(" 2.00"));
  const std::string counted = LineOf(table, "count-rows, 8 thr #2: device");
  EXPECT_THAT(counted, HasSubstr(" 2,000 "));
  EXPECT_THAT(counted, testing::EndsWith(" -"));
  // A replay that wrote makes the next phase count, too.
  json& phases = document["runs"][0]["phases"];
  phases.push_back(run["phases"][0]);
  phases.push_back(phases[1]);
  phases.back()["account"]["device"] = {{"writes", 1}, {"write_bytes", 3000}};
  const std::string behind = TextOf(document, "Bytes written, by cause");
  EXPECT_THAT(LineOf(behind, "count-rows, 8 thr: device"), testing::EndsWith(" -"));
  EXPECT_THAT(LineOf(behind, "settle, 8 thr: device"), testing::EndsWith(" 3.00"));
}

TEST(RunTablesTest, RepeatsTellAPercentileOfEnoughOperations) {
  const auto known = [](int least, int told) {
    json document = SmallDocument();
    document["runs"].push_back(document["runs"][0]);
    document["runs"][1]["load"] = 1;
    for (const auto& [run, count] : {std::pair(0, 5000), std::pair(1, least)}) {
      document["runs"][static_cast<size_t>(run)]["phases"][2]["operations"][0]["count"] = count;
    }
    document["runs"][1]["phases"][2]["operations"][0]["latency_us"]["count"] = told;
    for (const Repeated& repeated : Repeats(document)) {
      if (repeated.name == "mixed point-read, 8 thr") return repeated.p99_us.n;
    }
    return size_t{77};
  };
  EXPECT_EQ(known(1000, 1000), 2u);
  EXPECT_EQ(known(999, 999), 0u) << "a run of it tells none";
  EXPECT_EQ(known(2000, 999), 0u) << "the others kept rows for their check";
}

}  // namespace
}  // namespace testbed

// Each metric of the insert benchmark against a case computed by hand.
#include "tools/report/insert_benchmark_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>

namespace testbed {
namespace {

using nlohmann::json;

// A read step of 12.25 s with 2 clients: 12 whole seconds, second i (from 1) with i transactions of
// 50 rows and 100 x i queries, and a last moment of a quarter of a second with 2 and 10. In all 80
// transactions (4000 rows) and 7810 queries.
json ReadSeries() {
  json series = json::array();
  for (int i = 1; i <= 13; ++i) {
    const bool last = i == 13;
    series.push_back({{"end_seconds", last ? 12.25 : i},
                      {"operations", last ? 12 : 101 * i},
                      {"by_operation",
                       {{{"name", "insert"}, {"count", last ? 2 : i}},
                        {{"name", "range-query"}, {"count", last ? 10 : 100 * i}}}},
                      {"device_reads", last ? 5 : 100},                 // 1205
                      {"device_read_bytes", last ? 20480 : 409600},     // 4935680
                      {"device_writes", last ? 25 : 50},                // 625
                      {"device_write_bytes", last ? 204800 : 1024000},  // 12492800
                      {"host_context_switches", last ? 30 : 1950},      // 23430
                      {"host_user_seconds", last ? 0.22 : 1.0},         // 12.22
                      {"host_system_seconds", last ? 0.16 : 0.27},      // 3.4
                      {"resident_bytes", i == 7 ? 300000000 : 200000000}});
  }
  return series;
}

json ReadAccount() {
  const json insert_counts = {
      {"reads", 40}, {"read_bytes", 163840}, {"writes", 80}, {"write_bytes", 655360}};
  const json query_counts = {
      {"reads", 781}, {"read_bytes", 3198976}, {"writes", 0}, {"write_bytes", 0}};
  const json checkpoint_counts = {
      {"reads", 0}, {"read_bytes", 0}, {"writes", 500}, {"write_bytes", 8192000}};
  const json none = {{"reads", 0}, {"read_bytes", 0}, {"writes", 0}, {"write_bytes", 0}};
  const json journal = {{"reads", 1}, {"read_bytes", 4096}, {"writes", 19}, {"write_bytes", 77824}};
  return {
      {"device", {{"reads", 1300}, {"write_bytes", 24500000}}},
      {"cpu_user_seconds", 15.0},
      {"cpu_system_seconds", 0.62},
      {"causes",
       {{{"name", "insert"},
         {"ground", "foreground"},
         {"operations", 80},
         {"file", none},
         {"kernel", insert_counts}},
        {{"name", "range-query"},
         {"ground", "foreground"},
         {"operations", 7810},
         {"file", none},
         {"kernel", query_counts}},
        {{"name", "checkpoint"},
         {"ground", "background"},
         {"operations", 3},
         {"file", none},
         {"kernel", checkpoint_counts}},
        {{"name", "eviction"},
         {"ground", "background"},
         {"operations", 7},
         {"file", none},
         {"kernel", none}}}},
      {"other_threads",
       {{{"thread", "jbd2"}, {"kernel", journal}}, {{"thread", "kworker"}, {"kernel", journal}}}}};
}

json ReadStep() {
  return {{"name", "ib.qr500"},
          {"seconds", 12.25},
          {"thread_seconds", {12.0, 12.25, 11.5, 12.1}},
          {"host_cpus", 4},
          {"database_bytes", 2500000000},
          {"log_file_bytes", 300000000},
          {"details",
           {{"clients", 2},
            {"rows_per_commit", 50},
            {"rows_inserted", 4000},
            {"table_rows", 25000000},
            {"queries", 7810},
            {"query_rows", 78100},
            {"target_rows_per_second", 340}}},
          {"operations",
           {{{"name", "insert"}, {"count", 80}, {"latency_us", {{"max", 900000.0}}}},
            {{"name", "range-query"}, {"count", 7810}, {"latency_us", {{"max", 25000.0}}}}}},
          {"series", ReadSeries()},
          {"account", ReadAccount()}};
}

void ExpectNear(const json& m, const char* name, double expected) {
  ASSERT_TRUE(m.contains(name)) << name;
  EXPECT_NEAR(m[name].get<double>(), expected, 1e-9 * std::abs(expected)) << name;
}

TEST(InsertBenchmarkMetricsTest, OfAReadStepEachIsWhatTheHandFinds) {
  const json m = InsertBenchmarkMetrics(ReadStep());
  EXPECT_EQ(m["main_operation"], "range-query");
  ExpectNear(m, "ips", 4000 / 12.25);
  ExpectNear(m, "qps", 7810 / 12.25);
  ExpectNear(m, "rps", 1205 / 12.25);
  ExpectNear(m, "rmbps", 4935680 / 12.25 / 1048576);
  ExpectNear(m, "wps", 625 / 12.25);
  ExpectNear(m, "wmbps", 12492800 / 12.25 / 1048576);
  ExpectNear(m, "rpq", 1205.0 / 7810);  // by queries
  ExpectNear(m, "rkbpq", 4820.0 / 7810);
  ExpectNear(m, "wpi", 625.0 / 4000);  // by rows, always
  ExpectNear(m, "wkbpi", 12200.0 / 4000);
  ExpectNear(m, "process_cpupq", 2000);  // 15.62 s of 7810 queries
  ExpectNear(m, "csps", 23430 / 12.25);
  ExpectNear(m, "cspq", 3);
  ExpectNear(m, "cpups", 100 * 15.62 / 12.25 / 4);
  ExpectNear(m, "cpupq", 2000);
  ExpectNear(m, "dbgb1", 2.2);
  ExpectNear(m, "dbgb2", 2.5);
  ExpectNear(m, "rss", 0.3);
  ExpectNear(m, "bytes_per_row", 88);  // without the log
  ExpectNear(m, "maxop", 0.025);       // of the query, not of the insert
  // Rates 1200, 1100, ... 100: entry 6 of 12, and entry 11. The quarter of a second is left out.
  ExpectNear(m, "p50", 600);
  ExpectNear(m, "p99", 100);
  ExpectNear(m, "target_share", 4000 / 12.25 / 340);
  EXPECT_EQ(m["sla_met"], true);  // 96 %
  ExpectNear(m, "device_write_bytes", 24500000);
  ExpectNear(m, "device_write_mbps", 2);
  ExpectNear(m, "first_client_seconds", 11.5);
  ExpectNear(m, "last_client_seconds", 12.25);
}

TEST(InsertBenchmarkMetricsTest, BlocksAreEachOperationsOwn) {
  json step = ReadStep();
  // What another program did on the device is none of the benchmark's.
  step["account"]["other_threads"].push_back({{"thread", "rsync"},
                                              {"kind", "other-file"},
                                              {"kernel", {{"writes", 7}, {"write_bytes", 7}}}});
  const json blocks = InsertBenchmarkMetrics(step)["blocks"];
  ASSERT_EQ(blocks.size(), 4u);  // eviction cost nothing
  EXPECT_EQ(blocks[0]["name"], "insert");
  EXPECT_EQ(blocks[0]["per"], "operation");
  ExpectNear(blocks[0], "reads", 0.5);
  ExpectNear(blocks[0], "read_kb", 2);
  ExpectNear(blocks[0], "writes", 1);
  ExpectNear(blocks[0], "write_kb", 8);
  EXPECT_EQ(blocks[1]["name"], "range-query");
  ExpectNear(blocks[1], "reads", 0.1);
  ExpectNear(blocks[1], "read_kb", 0.4);
  EXPECT_EQ(blocks[2]["name"], "checkpoint");
  EXPECT_EQ(blocks[2]["per"], "row");
  ExpectNear(blocks[2], "writes", 500.0 / 4000);
  ExpectNear(blocks[2], "write_kb", 2);
  EXPECT_EQ(blocks[3]["name"], "other threads");
  ExpectNear(blocks[3], "writes", 38.0 / 4000);
  ExpectNear(blocks[3], "write_kb", 152.0 / 4000);
}

// A thread whose bios join requests that wait counts fewer requests than it made, and may have none
// or fewer.
TEST(InsertBenchmarkMetricsTest, BackgroundWorkWithoutRequestsOfItsOwnHasItsBytes) {
  json step = ReadStep();
  step["account"]["causes"][3]["kernel"] = {
      {"reads", 1}, {"read_bytes", 4096}, {"writes", -1}, {"write_bytes", 8192000}};
  json& others = step["account"]["other_threads"];
  others.erase(size_t{1});
  others[0]["kernel"] = {{"reads", 0}, {"read_bytes", 0}, {"writes", -2}, {"write_bytes", 8192}};
  const json blocks = InsertBenchmarkMetrics(step)["blocks"];
  ASSERT_EQ(blocks.size(), 5u);
  EXPECT_EQ(blocks[3]["name"], "eviction");
  ExpectNear(blocks[3], "write_kb", 2);
  EXPECT_EQ(blocks[4]["name"], "other threads");
  ExpectNear(blocks[4], "writes", -2.0 / 4000);
}

TEST(InsertBenchmarkMetricsTest, MemoryThatIsNeverKnownIsLeftOut) {
  json step = ReadStep();
  for (json& second : step["series"]) {
    if (second["resident_bytes"] == 300000000) second["resident_bytes"] = nullptr;
  }
  ExpectNear(InsertBenchmarkMetrics(step), "rss", 0.2);
  for (json& second : step["series"]) second["resident_bytes"] = nullptr;
  EXPECT_FALSE(InsertBenchmarkMetrics(step).contains("rss")) << "it was 0";
}

// Once, all that other programs did until the device came to rest was taken off, also what they did
// in the write-back and the wait behind the step.
TEST(InsertBenchmarkMetricsTest, OtherProgramsPartIsThatOfTheStep) {
  json step = ReadStep();
  step["account"]["other_threads"].push_back(
      {{"thread", "rsync"},
       {"kind", "other-file"},
       {"kernel", {{"reads", 900}, {"read_bytes", 3686400}, {"writes", 0}, {"write_bytes", 0}}}});
  ExpectNear(InsertBenchmarkMetrics(step), "rps", 1205 / 12.25);
  for (json& second : step["series"]) {
    second.update({{"other_reads", 15},
                   {"other_read_bytes", 61440},
                   {"other_writes", -1},
                   {"other_write_bytes", 1024}});
  }
  const json m = InsertBenchmarkMetrics(step);
  ExpectNear(m, "rps", 1010 / 12.25);  // 13 times 15 less
  ExpectNear(m, "rpq", 1010.0 / 7810);
  ExpectNear(m, "rkbpq", 4040.0 / 7810);
  ExpectNear(m, "wpi", 638.0 / 4000);
  ExpectNear(m, "wkbpi", 12187.0 / 4000);
}

TEST(InsertBenchmarkMetricsTest, OfALoadStepTheRateIsOfRows) {
  json step = ReadStep();
  for (const char* name : {"queries", "query_rows", "target_rows_per_second"}) {
    step["details"].erase(name);
  }
  step["operations"].erase(1);
  // One kind of operation: the series has no list by kind.
  for (json& second : step["series"]) {
    second["operations"] = second["by_operation"][0]["count"];
    second.erase("by_operation");
  }
  const json m = InsertBenchmarkMetrics(step);
  EXPECT_EQ(m["main_operation"], "insert");
  EXPECT_EQ(m["qps"], 0);
  ExpectNear(m, "rpq", 1205.0 / 4000);
  ExpectNear(m, "rkbpq", 4820.0 / 4000);
  ExpectNear(m, "wpi", 625.0 / 4000);
  ExpectNear(m, "cpupq", 15.62e6 / 4000);
  ExpectNear(m, "cspq", 23430.0 / 4000);
  ExpectNear(m, "maxop", 0.9);
  ExpectNear(m, "p50", 6 * 50);  // rows a second
  ExpectNear(m, "p99", 50);
  EXPECT_FALSE(m.contains("sla_met"));
}

TEST(InsertBenchmarkMetricsTest, OfTheIndexStepTheRateIsOfRowsIndexed) {
  json step = ReadStep();
  for (const char* name : {"queries", "query_rows", "target_rows_per_second"}) {
    step["details"].erase(name);
  }
  step["details"]["rows_indexed"] = 49000;
  step["operations"][1]["name"] = "index-write";
  const json m = InsertBenchmarkMetrics(step);
  EXPECT_EQ(m["main_operation"], "index-write");
  ExpectNear(m, "ips", 4000);
  ExpectNear(m, "wpi", 625.0 / 49000);
  EXPECT_FALSE(m.contains("p50"));
}

TEST(InsertBenchmarkMetricsTest, BelowNinetyFivePerCentOfTheTargetIsMissed) {
  json step = ReadStep();
  const double ips = 4000 / 12.25;
  step["details"]["target_rows_per_second"] = ips / 0.951;
  EXPECT_EQ(InsertBenchmarkMetrics(step)["sla_met"], true);
  step["details"]["target_rows_per_second"] = ips / 0.949;
  EXPECT_EQ(InsertBenchmarkMetrics(step)["sla_met"], false);
}

TEST(InsertBenchmarkMetricsTest, WhatCannotBeKnownIsLeftOut) {
  json step = ReadStep();
  step["account"].erase("device");
  step["account"].erase("other_threads");
  for (json& cause : step["account"]["causes"]) cause.erase("kernel");
  const json m = InsertBenchmarkMetrics(step);
  for (const char* name : {"rps", "wps", "rpq", "wpi", "device_write_bytes"}) {
    EXPECT_FALSE(m.contains(name)) << name;
  }
  EXPECT_EQ(m["blocks"][0]["level"], "file");
  EXPECT_TRUE(InsertBenchmarkMetrics({{"name", "insert"}, {"details", {{"x", 1}}}}).is_null());
  EXPECT_TRUE(InsertBenchmarkMetrics({{"name", "insert"}}).is_null());
}

TEST(InsertBenchmarkMetricsTest, PercentilesNeedTenSeconds) {
  std::vector<double> rates(9);
  std::iota(rates.begin(), rates.end(), 1);
  EXPECT_TRUE(std::isnan(RateExceededIn(rates, 0.99)));
  rates.push_back(10);
  EXPECT_EQ(RateExceededIn(rates, 0.5), 5);
  EXPECT_EQ(RateExceededIn(rates, 0.99), 1);
  EXPECT_EQ(RateExceededIn(rates, 0), 10);
  std::vector<double> many(200);
  std::iota(many.begin(), many.end(), 1);
  EXPECT_EQ(RateExceededIn(many, 0.99), 2);  // 198 of 200 are above it
}

TEST(InsertBenchmarkMetricsTest, TheTableHasARowForEachStep) {
  json step = ReadStep();
  step["details"]["metrics"] = InsertBenchmarkMetrics(step);
  json late = step;
  late["details"]["target_rows_per_second"] = 1000;
  late["details"]["metrics"] = InsertBenchmarkMetrics(late);
  const json document = {{"runs",
                          {{{"threads", 4},
                            {"repeat", 0},
                            {"load", 1},
                            {"phases", {step, late, {{"name", "settle"}, {"kind", "settle"}}}}}}}};
  const std::vector<Table> tables = InsertBenchmarkTables(document);
  const std::string text = tables[0].Text();
  EXPECT_NE(text.find("96.0 %"), std::string::npos) << text;
  EXPECT_NE(text.find("32.7 % MISSED"), std::string::npos) << text;
  for (const Table& table : tables) {
    EXPECT_NE(table.Text().find("ib.qr500, 4 thr load 2"), std::string::npos) << table.Text();
  }
  EXPECT_NE(tables[2].Text().find("load 2: checkpoint, per row"), std::string::npos);
}

}  // namespace
}  // namespace testbed

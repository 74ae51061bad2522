// Tests the records of a run as JSON: each field must have the value of its record, and
// docs/results.md must name each field.
#include "tools/run/run_json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/paths.h"
#include "tools/report/figures.h"

namespace testbed {
namespace {

using nlohmann::json;

PhaseAccount FullAccount(OpKind op) {
  PhaseAccount account;
  account.counts_files = account.counts_in_kernel = account.counts_wire = true;
  LedgerCounts::Op& counts = account.ledger.ops[op.id];
  counts.operations = 4;
  counts.file[static_cast<size_t>(FileKind::kData)] = {.reads = 8, .read_bytes = 800};
  counts.kernel[static_cast<size_t>(FileKind::kData)] = {.reads = 6, .read_bytes = 600};
  counts.file_reads[2] = counts.kernel_reads[1] = 4;
  counts.wire = {.round_trips = 5, .sent_bytes = 90, .received_bytes = 210};
  account.ledger.foreign.push_back({"jbd2", FileKind::kFsJournal, {.writes = 1}});
  account.engine.block_requests = 20;
  account.engine.block_hits = 12;
  account.engine.more = {{"its_own", 3}};
  account.addresses = {{.address = {"n1:1", ""}, .engine = account.engine},
                       {.address = {"n2:1", "it is lost"}, .engine = {}}};
  account.log = LogWrites{
      .bytes = 70, .calls = LogWrites::Calls{.writes = 2, .syncs = 1}, .device_bytes = 4096};
  account.device = DeviceStats{.reads = 6, .read_bytes = 600, .read_ms = 5};
  account.closure = Closure{.reads = 0, .write_bytes = -512};
  return account;
}

// Returns a record in which every part is set.
PhaseRecord FullPhase() {
  static const OpKind read = DefineOp("point-read", Ground::kForeground);
  static const OpKind write = DefineOp("insert", Ground::kForeground);
  PhaseRecord phase{.name = "mixed", .kind = PhaseKind::kMeasure, .seconds = 2};
  PhaseRecord::Work& work = phase.work.emplace();
  work.threads = 3;
  work.target_rate = 10;
  work.ops = {read, write};
  PhaseResult& result = work.result;
  result.seconds = 2;
  result.ops = {{.op = read, .count = 4, .latency = {}, .intended = {}},
                {.op = write, .count = 1, .latency = {}, .intended = {}}};
  result.preparing_seconds = 0.5;
  result.ops[1].unanswered = 2;
  result.ops[1].longest_unanswered_ns = 7000;
  result.addresses = {{.name = "n1:1", .threads = 2, .count = 4},
                      {.name = "n2:1", .threads = 1, .count = 1, .unanswered = 2}};
  result.ended_because = "no row is left";
  Interval second{};
  second.operations = 5;
  second.counts = {4, 1};
  second.max_latency_ns = {2000, 1000};
  result.series = {second};
  work.details = {{"of_the_workload", 1}};
  phase.readahead = Readahead2014{.reads_recorded = 9, .settings = {{.read_ahead_kb = 16}}};
  phase.held = PhaseRecord::Held{{.charged_mean = 50, .own_mean = 40}, true};
  phase.memory.emplace().parts = {.limit = 100, .engine_cache = 30, .page_cache = 25};
  phase.memory->parts.process_check = 7;
  phase.account = FullAccount(read);
  phase.grade = {'B', {"a reason"}};
  phase.steal_share = 0.25;
  phase.tasks.resize(2);
  phase.tasks[1].task = 1;
  phase.tasks[1].host = "n1";
  phase.tasks[1].seconds = 2;
  phase.tasks[1].count = 5;
  phase.tasks[1].clock_before = {.ns = -7000, .error_ns = 500, .wall_ns = 9000};
  phase.database_bytes = 5000;
  phase.log_file_bytes = 70;
  phase.cache_pct = 40;
  return phase;
}

RunRecord FullRun() {
  RunRecord run{.threads = 3, .repeat = 1};
  run.accounting = RunAccounting{.depth = "device", .grade = {'A', {}}, .in_kernel = true};
  run.engine = EngineInUse{"btree", "1", {{"page", "4096"}}};
  run.cache_tunings.push_back(CacheTuning{"mixed", 20, 30, {}, json()});
  const CacheTrial trial{.cache_pct = 20, .measured = {.rate = 5}};
  run.cache_tunings.push_back(CacheTuning{"point-read", 20, 40, {trial}, json{{"curve", {}}}});
  FoundRate& found = run.found_rates.emplace_back();
  found.limit = {.operation = "update", .share = 0.99, .limit_ns = 5'000'000};
  found.rate = 4;
  found.outcome = FoundRate::Outcome::kHighestMeets;
  found.steps = {{.seconds = 1, .all_operations = 9}, {.target = 4, .seconds = 1}};
  found.again = {found.steps[1]};
  run.database_size = DiskSize{.data_bytes = 4930, .log_bytes = 70};
  run.database_rows = 10;
  run.partial = false;
  run.error = RunError{"a sentence", 2};
  return run;
}

TEST(RunJsonTest, OfAPhaseEachFieldHasTheValueOfItsRecord) {
  const json phase = PhaseJson(FullPhase());
  EXPECT_EQ(phase["kind"], "measure");
  EXPECT_EQ(phase["threads"], 3);
  EXPECT_EQ(phase["count"], 5);
  EXPECT_EQ(phase["rate"], 2.5);
  EXPECT_EQ(phase["preparing_seconds"], 0.5);
  EXPECT_EQ(phase["operations"][0]["name"], "point-read");
  EXPECT_EQ(phase["operations"][0]["rate"], 2);
  EXPECT_EQ(phase["series"][0]["by_operation"][0]["max_us"], 2);
  EXPECT_EQ(phase["ended_because"], "no row is left");
  ASSERT_EQ(phase["unanswered"].size(), 1u);
  EXPECT_EQ(phase["unanswered"][0], json({{"name", "insert"}, {"count", 2}, {"max_us", 7}}));
  ASSERT_EQ(phase["addresses"].size(), 2u);
  EXPECT_EQ(phase["addresses"][0]["threads"], 2);
  EXPECT_EQ(phase["addresses"][0]["rate"], 2);
  EXPECT_EQ(phase["addresses"][1]["unanswered"], 2);
  ASSERT_EQ(phase["tasks"].size(), 2u);
  EXPECT_EQ(phase["tasks"][1]["rate"], 2.5);
  EXPECT_EQ(phase["tasks"][1]["clock_before"], json({{"offset_us", 9.0}, {"error_us", 0.5}}));
  EXPECT_EQ(phase["tasks"][1]["drift_us"], 7.0);
  EXPECT_EQ(phase["details"]["of_the_workload"], 1);
  EXPECT_EQ(phase["readahead_2014"]["settings"][0]["name"], "16k");
  EXPECT_EQ(phase["memory"]["held_mean"], 50);
  EXPECT_EQ(phase["memory"]["unaccounted"], 45);
  EXPECT_EQ(phase["cache_pct"], 40);
  EXPECT_EQ(phase["grade"], "B");
  EXPECT_TRUE(phase["foreign_cpu_share"].is_null());
  EXPECT_EQ(phase["steal_share"], 0.25);
  const json& account = phase["account"];
  ASSERT_EQ(account["causes"].size(), 1u) << "an operation that did nothing has no entry";
  EXPECT_EQ(account["causes"][0]["kernel_by_kind"],
            json({{"data", account["causes"][0]["kernel"]}}));
  EXPECT_EQ(account["causes"][0]["file"]["reads"], 8);
  EXPECT_EQ(account["causes"][0]["wire"],
            json({{"round_trips", 5}, {"sent_bytes", 90}, {"received_bytes", 210}}));
  EXPECT_EQ(account["other_threads"][0]["kind"], "fs-journal");
  EXPECT_EQ(account["engine"]["block_hits"], 12);
  EXPECT_FALSE(account["engine"].contains("block_reads")) << "the engine does not know it";
  EXPECT_EQ(account["addresses"][0], json({{"address", "n1:1"}, {"engine", account["engine"]}}));
  EXPECT_EQ(account["addresses"][1], json({{"address", "n2:1"}, {"lost", "it is lost"}}));
  EXPECT_EQ(account["closure"]["write_bytes"], -512);
  EXPECT_EQ(account["log"]["device_bytes"], 4096);
}

TEST(RunJsonTest, OperationsThatHadNotBegunAreInThePercentilesFromTheIntendedStart) {
  PhaseRecord phase = FullPhase();
  PhaseResult& result = phase.work->result;
  Histogram performed, waited;
  performed.Record(1'000'000);
  for (int i = 0; i < 9; ++i) waited.Record(2'000'000'000);
  result.ops[0].intended.Add(performed);
  result.lateness.Add(performed);
  result.ops[0].undone.Add(waited);
  result.undone.Add(waited);
  const json late = PhaseJson(phase);
  EXPECT_EQ(late["due_operations"], 10);
  EXPECT_EQ(late["undone_operations"], 9);
  EXPECT_EQ(late["count"], 5) << "what was performed";
  const json& us = late["operations"][0]["latency_from_intended_us"];
  EXPECT_NEAR(us["p50"].get<double>(), 2e6, 4e4);
  EXPECT_EQ(us["max"], 2e6);
  double counted = 0;
  for (const json& bucket : late["operations"][0]["latency_from_intended_ns_histogram"]) {
    counted += bucket[1].get<double>();
  }
  EXPECT_EQ(counted, 10) << "its histogram has them, too";
  EXPECT_FALSE(late["operations"][1].contains("latency_from_intended_us"));
  result.knows_undone = false;
  EXPECT_FALSE(PhaseJson(phase).contains("undone_operations"));
}

// A thread may join two waiting requests that others have made.
TEST(RunJsonTest, AThreadMayHaveFewerRequestsThanNone) {
  const OpKind read = DefineOp("point-read", Ground::kForeground);
  PhaseAccount account = FullAccount(read);
  const auto data = static_cast<size_t>(FileKind::kData);
  account.ledger.ops[read.id].kernel[data] = {.reads = ~uint64_t{0}, .writes = 2};
  account.ledger.foreign[0].counts = {.writes = ~uint64_t{0}};
  const json j = AccountJson(account);
  for (const json& cause : j["causes"]) {
    if (cause["name"] != "point-read") continue;
    EXPECT_EQ(cause["kernel"]["reads"].dump(), "-1");
    EXPECT_EQ(cause["kernel_by_kind"]["data"]["reads"].dump(), "-1");
    EXPECT_EQ(cause["kernel"]["writes"].dump(), "2");
  }
  EXPECT_EQ(j["other_threads"][0]["kernel"]["writes"].dump(), "-1");
}

TEST(RunJsonTest, WhatWasNotCountedHasNoField) {
  PhaseRecord phase = FullPhase();
  phase.account.counts_files = phase.account.counts_in_kernel = phase.account.counts_wire = false;
  phase.account.device.reset();
  phase.account.closure.reset();
  phase.account.log.reset();
  phase.work.reset();
  phase.held.reset();
  phase.memory.reset();
  phase.cache_pct.reset();
  phase.counted.emplace().stopped = true;
  const json j = PhaseJson(phase);
  for (const char* part : {"operations", "rate", "memory", "details", "rows", "cache_pct"}) {
    EXPECT_FALSE(j.contains(part)) << part;
  }
  EXPECT_EQ(j["partial"], true) << "the count was stopped";
  for (const char* part : {"device", "closure", "log", "other_threads"}) {
    EXPECT_FALSE(j["account"].contains(part)) << part;
  }
  for (const char* part : {"file", "file_by_kind", "kernel", "kernel_reads_histogram", "wire"}) {
    EXPECT_FALSE(j["account"]["causes"][0].contains(part)) << part;
  }
  PhaseRecord no_device = FullPhase();
  no_device.work->result.series.resize(20, no_device.work->result.series[0]);
  for (size_t i = 0; i < 20; ++i) {
    no_device.work->result.series[i].end_seconds = static_cast<double>(i + 1);
  }
  EXPECT_EQ(PhaseJson(no_device)["series"][0]["device_reads"], 0);
  EXPECT_EQ(PhaseJson(no_device)["steady"]["device_reads"], true);
  no_device.account.device.reset();
  const json second = PhaseJson(no_device)["series"][0];
  for (const auto& [figure, value] : second.items()) {
    EXPECT_FALSE(figure.starts_with("device_")) << figure;
  }
  EXPECT_TRUE(PhaseJson(no_device)["steady"]["device_reads"].is_null());
  PhaseRecord untold = FullPhase();
  untold.work->result.totals.rows_unknown = true;
  EXPECT_FALSE(PhaseJson(untold).contains("rows_inserted"));
  EXPECT_EQ(PhaseJson(FullPhase())["rows_erased"], 0);
  EXPECT_EQ(RunJson(RunRecord{}), json({{"threads", 1}, {"repeat", 0}}));
}

// Kernels before 5.19 tell no peak with cgroup v2. Once, the peak was then 0, less than the run
// held at the end.
TEST(RunJsonTest, APeakThatTheKernelDoesNotTellIsNull) {
  PhaseRecord phase = FullPhase();
  phase.memory->usage.peak = 90;
  EXPECT_EQ(PhaseJson(phase)["memory"]["peak"], 90);
  phase.memory->usage.peak = 0;
  EXPECT_TRUE(PhaseJson(phase)["memory"].at("peak").is_null());
}

// wiredtiger with statistics=none does not tell what its cache holds. Once, that was 0.
TEST(RunJsonTest, WhatAnEnginesCacheHoldsIsNullWhereItDoesNotTell) {
  PhaseRecord phase = FullPhase();
  EXPECT_EQ(PhaseJson(phase)["memory"]["engine_cache"], 30);
  phase.memory->knows_cache = false;
  EXPECT_TRUE(PhaseJson(phase)["memory"].at("engine_cache").is_null());
}

// A latency of 0 would be that of very fast operations, and lower every mean over the seconds.
TEST(RunJsonTest, WithoutAnOperationALatencyIsNotKnown) {
  PhaseRecord phase = FullPhase();
  std::vector<Interval>& series = phase.work->result.series;
  series[0].p50_ns = series[0].p99_ns = 1000;
  series[0].max_ns = 2000;
  series.push_back(series[0]);
  series[0].resident_bytes = 7;
  series[1].resident_bytes = 0;
  series[1].operations = series[1].p50_ns = series[1].p99_ns = series[1].max_ns = 0;
  series[1].counts = series[1].max_latency_ns = {0, 0};
  Histogram of_task;
  of_task.Record(3000);
  phase.tasks[1].latency.Add(of_task);
  const json j = PhaseJson(phase);
  EXPECT_EQ(j["series"][0]["max_us"], 2);
  EXPECT_EQ(j["series"][0]["resident_bytes"], 7);
  EXPECT_TRUE(j["series"][1]["resident_bytes"].is_null());
  EXPECT_EQ(j["tasks"][1]["latency_us"]["max"], 3);
  EXPECT_EQ(j["tasks"][1]["latency_us"]["count"], 1) << "four of its operations are in no latency";
  const json& stalled = j["series"][1];
  EXPECT_EQ(stalled["operations"], 0);
  for (const char* figure : {"p50_us", "p99_us", "max_us"}) {
    EXPECT_TRUE(stalled.at(figure).is_null()) << figure;
  }
  EXPECT_EQ(stalled["by_operation"][1]["count"], 0);
  EXPECT_TRUE(stalled["by_operation"][1].at("max_us").is_null());
  for (const json* idle : {&j["tasks"][0], &j["addresses"][1]}) {
    const json& latency = idle->at("latency_us");
    EXPECT_EQ(latency.size(), 7u);
    for (const auto& [figure, value] : latency.items()) EXPECT_TRUE(value.is_null()) << figure;
  }
}

// Once, such seconds counted as 0, so that a few stalls at the end made a steady state none.
TEST(RunJsonTest, ASecondWithoutAnOperationHasNoReadsPerOperation) {
  PhaseRecord phase = FullPhase();
  std::vector<Interval>& series = phase.work->result.series;
  series.resize(40, series[0]);
  for (size_t i = 0; i < series.size(); ++i) {
    const bool stalled = i >= 30 && i % 2 == 1;
    series[i].end_seconds = static_cast<double>(i + 1);
    series[i].operations = stalled ? 0 : 10;
    series[i].device_reads = stalled ? 0 : 20;
  }
  EXPECT_EQ(PhaseJson(phase)["steady"]["device_reads"], true);
}

// Once, a neighbour on the disk, which came and went, decided whether the run's reads were steady.
TEST(RunJsonTest, OfASecondTheReadsOfOtherProgramsAreKnown) {
  PhaseRecord phase = FullPhase();
  std::vector<Interval>& series = phase.work->result.series;
  series.resize(40, series[0]);
  for (size_t i = 0; i < series.size(); ++i) {
    const uint64_t others = i < 30 ? 0 : 100;
    series[i].end_seconds = static_cast<double>(i + 1);
    series[i].operations = 10;
    series[i].device_reads = 20 + others;
    series[i].other_programs = {.reads = others, .writes = ~uint64_t{0}, .write_bytes = 4096};
  }
  const json j = PhaseJson(phase);
  EXPECT_EQ(j["steady"]["device_reads"], true);
  EXPECT_EQ(j["series"][39]["device_reads"], 120);
  EXPECT_EQ(j["series"][39]["other_reads"], 100);
  EXPECT_EQ(j["series"][39]["other_writes"], -1) << "one joined a request that waited";
  EXPECT_EQ(j["series"][39]["other_write_bytes"], 4096);
  phase.account.counts_in_kernel = false;
  EXPECT_FALSE(PhaseJson(phase)["series"][39].contains("other_reads")) << "nothing tells them";
}

// Once, such figures were 0: sqlite counts no pages that it reads in place, and a container may
// show no device.
TEST(RunJsonTest, OfATrialAFigureThatWasNotCountedIsNull) {
  RunRecord run = FullRun();
  std::vector<CacheTrial>& trials = run.cache_tunings.back().trials;
  trials.push_back(trials[0]);
  trials[1].knows_misses = trials[1].knows_device = trials[1].knows_memory = false;
  const json j = RunJson(run)["cache_tuning"]["trials"];
  for (const char* figure : {"engine_misses_per_operation", "device_reads_per_operation",
                             "device_us_per_operation", "other_bytes"}) {
    EXPECT_EQ(j[0].at(figure), 0) << figure;
    EXPECT_TRUE(j[1].at(figure).is_null()) << figure;
  }
  EXPECT_EQ(j[1]["rate"], 5);
}

// Once, the searches of all workloads but the last were lost.
TEST(RunJsonTest, EachWorkloadHasTheSearchOfItsShare) {
  RunRecord run = FullRun();
  const json j = RunJson(run);
  EXPECT_EQ(j["cache_tuning"]["name"], "point-read");
  EXPECT_EQ(j["cache_tuning"]["chosen_pct"], 40);
  ASSERT_EQ(j["earlier_cache_tunings"].size(), 1u);
  EXPECT_EQ(j["earlier_cache_tunings"][0]["name"], "mixed");
  EXPECT_EQ(j["earlier_cache_tunings"][0]["chosen_pct"], 30);
  run.cache_tunings.pop_back();
  EXPECT_EQ(RunJson(run)["cache_tuning"]["name"], "mixed");
  EXPECT_FALSE(RunJson(run).contains("earlier_cache_tunings"));
}

// Once, they were in the figures, so that a neighbour on the disk decided which share --cache-pct
// auto chose.
TEST(RunJsonTest, ReadsOfOtherProgramsAreInNoFigureOfATrial) {
  PhaseRecord phase = FullPhase();
  ASSERT_EQ(phase.operations(), 5u);
  ASSERT_EQ(phase.charged_operations(), 7u) << "two got no answer";
  EXPECT_DOUBLE_EQ(phase.DeviceReadsPerOperation(), 6.0 / 7);
  EXPECT_DOUBLE_EQ(phase.DeviceReadSecondsPerOperation(), 0.005 / 7);
  phase.account.ledger.foreign.push_back({"kworker", FileKind::kData, {.reads = 1}});
  EXPECT_DOUBLE_EQ(phase.DeviceReadsPerOperation(), 6.0 / 7) << "these are of the run's files";
  phase.account.ledger.foreign.push_back({"cp", FileKind::kOtherFile, {.reads = 4}});
  EXPECT_DOUBLE_EQ(phase.DeviceReadsPerOperation(), 2.0 / 7);
  EXPECT_DOUBLE_EQ(phase.DeviceReadSecondsPerOperation(), 0.005 / 6 * 2 / 7);
  const json written = PhaseJson(phase);
  EXPECT_DOUBLE_EQ(OwnDeviceIo(written["account"]).reads / ChargedOperations(written), 2.0 / 7)
      << "the tables of the report have another figure";
  phase.account.ledger.foreign.push_back({"cp", FileKind::kOtherFile, {.reads = 9}});
  EXPECT_EQ(phase.DeviceReadsPerOperation(), 0);
  phase.account.device.reset();
  EXPECT_EQ(phase.DeviceReadsPerOperation(), 0);
}

TEST(RunJsonTest, OfTheDatabaseTheLogHasAFieldOfItsOwn) {
  EXPECT_EQ(RunJson(FullRun())["database"],
            json({{"bytes", 5000}, {"log_bytes", 70}, {"rows", 10}}));
}

TEST(RunJsonTest, ATrialHasNeitherOperationsNorSeries) {
  PhaseRecord phase = FullPhase();
  phase.kind = PhaseKind::kTune;
  EXPECT_EQ(PhaseJson(phase)["operations"], json::array());
  EXPECT_EQ(PhaseJson(phase)["series"], json::array());
  EXPECT_EQ(PhaseJson(phase)["count"], 5);
}

TEST(RunJsonTest, OfThePhaseNoFigureStandsUnderTheNameOfAnother) {
  PhaseRecord phase = FullPhase();
  PhaseResult& result = phase.work->result;
  result.totals.rows_read = 1;
  result.totals.rows_written = 2;
  result.totals.not_found = 3;
  result.totals.rows_inserted = 4;
  result.totals.rows_erased = 5;
  result.totals.user_bytes_written = 6;
  result.verified = 8;
  result.wrong = 7;
  result.thread_operations = {3, 2};
  result.thread_seconds = {1.5, 2};
  const json j = PhaseJson(phase);
  int expected = 0;
  for (const char* figure : {"rows_read", "rows_written", "not_found", "rows_inserted",
                             "rows_erased", "user_bytes_written", "wrong", "verified"}) {
    EXPECT_EQ(j.at(figure), ++expected) << figure;
  }
  EXPECT_EQ(j["thread_operations"], json({3, 2}));
  EXPECT_EQ(j["thread_seconds"], json({1.5, 2}));
}

TEST(RunJsonTest, OfASecondNoFigureStandsUnderTheNameOfAnother) {
  PhaseRecord phase = FullPhase();
  Interval& second = phase.work->result.series[0];
  second.device_reads = 1;
  second.device_read_bytes = 2;
  second.device_writes = 3;
  second.device_write_bytes = 4;
  second.host_context_switches = 5;
  second.host_user_seconds = 6;
  second.host_system_seconds = 7;
  const json j = PhaseJson(phase)["series"][0];
  int expected = 0;
  for (const char* figure :
       {"device_reads", "device_read_bytes", "device_writes", "device_write_bytes",
        "host_context_switches", "host_user_seconds", "host_system_seconds"}) {
    EXPECT_EQ(j.at(figure), ++expected) << figure;
  }
}

TEST(RunJsonTest, OfTheMemoryNoPartStandsUnderTheNameOfAnother) {
  PhaseRecord phase = FullPhase();
  phase.memory->parts = {.limit = 50, .engine_cache = 2, .process_other = 3, .page_cache = 4};
  phase.memory->parts.kernel = 5;
  phase.memory->parts.unused = 6;
  phase.memory->usage = {.peak = 7, .dirty = 8, .failcnt = 9};
  const json j = PhaseJson(phase)["memory"];
  EXPECT_EQ(j["limit"], 50);
  int expected = 1;
  for (const char* part : {"engine_cache", "process_other", "page_cache", "kernel", "unused",
                           "peak", "dirty", "limit_hits"}) {
    EXPECT_EQ(j.at(part), ++expected) << part;
  }
  EXPECT_EQ(j["unaccounted"], 30) << "of the limit";
}

// Each percentile of these 100,000 latencies lies at another power of ten.
TEST(RunJsonTest, EachPercentileIsThatOfItsName) {
  Histogram latencies;
  uint64_t us = 1;
  for (const uint64_t times : {60000u, 35000u, 4500u, 450u, 45u, 5u}) {
    us *= 10;
    latencies.Record(us * 1000, times);
  }
  PhaseRecord phase = FullPhase();
  phase.work->result.ops[0].latency.Add(latencies);
  const json figures = PhaseJson(phase)["operations"][0]["latency_us"];
  for (const auto& [figure, expected] :
       {std::pair("p50", 1e1), std::pair("p90", 1e2), std::pair("p99", 1e3), std::pair("p999", 1e4),
        std::pair("p9999", 1e5), std::pair("max", 1e6), std::pair("mean", 226.0)}) {
    EXPECT_NEAR(figures.at(figure).get<double>(), expected, 0.02 * expected) << figure;
  }
}

// Adds the names of all fields, except for those that an engine or a workload chooses.
void AddNames(const json& node, std::set<std::string>* names) {
  if (node.is_array()) {
    for (const json& item : node) AddNames(item, names);
  } else if (node.is_object()) {
    for (const auto& [name, value] : node.items()) {
      names->insert(name);
      if (name != "details" && name != "more" && name != "now" && name != "effective" &&
          name != "prediction") {
        AddNames(value, names);
      }
    }
  }
}

TEST(RunJsonTest, TheManualNamesEveryField) {
  std::ifstream in(SourceDir() + "/docs/results.md");
  const std::string manual(std::istreambuf_iterator<char>(in), {});
  std::set<std::string> names;
  AddNames(PhaseJson(FullPhase()), &names);
  AddNames(RunJson(FullRun()), &names);
  ASSERT_GT(names.size(), 100u);
  for (const std::string& name : names) {
    EXPECT_NE(manual.find('`' + name + '`'), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace testbed

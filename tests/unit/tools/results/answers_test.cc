// Tests the forms of an answer: table, CSV, JSON, and google-benchmark's document.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"
#include "tests/unit/tools/results/small_document.h"
#include "tools/results/benchmark_json.h"
#include "tools/results/query.h"
#include "tools/results/store.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

QueryAnswer SomeAnswer() {
  return {{"name", "count", "rate"},
          {{"a \"b\", c\nd", 12, 1234567.5}, {"<script>", nullptr, 0.000123456789}}};
}

TEST(AnswerTest, ATableAlignsTextsToTheLeftAndNumbersToTheRight) {
  QueryAnswer answer = SomeAnswer();
  answer.columns.push_back("word");
  answer.rows[0].push_back("x");
  answer.rows[1].push_back("longer");
  EXPECT_EQ(AnswerTable(answer, SIZE_MAX),
            "2 rows\n"
            "  name        count         rate  word\n"
            "  a \"b\", c d     12      1234568  x\n"
            "  <script>        -  0.000123457  longer\n\n");
  EXPECT_THAT(AnswerTable(answer, 30), HasSubstr("(2 more columns with --wide)"));
}

TEST(AnswerTest, NumbersOfTheFirstColumnAreToTheRight) {
  const QueryAnswer answer = {{"n", "name"}, {{5, "a"}, {1234, "b"}}};
  EXPECT_EQ(AnswerTable(answer, SIZE_MAX),
            "2 rows\n"
            "     n  name\n"
            "     5  a\n"
            "  1234  b\n\n");
}

// Once, a rate of 999,999.7 was "1e+06" between two rates of seven digits.
TEST(AnswerTest, ALargeNumberOfATableHasNoExponent) {
  const QueryAnswer answer = {{"phase", "rate"},
                              {{"a", 99999.7}, {"b", 123456.2}, {"c", 999999.7}, {"d", 1234567.2}}};
  EXPECT_EQ(AnswerTable(answer, SIZE_MAX),
            "4 rows\n"
            "  phase     rate\n"
            "  a      99999.7\n"
            "  b       123456\n"
            "  c      1000000\n"
            "  d      1234567\n\n");
}

TEST(AnswerTest, CsvAndJsonKeepEveryValue) {
  EXPECT_EQ(AnswerCsv(SomeAnswer()),
            "name,count,rate\n\"a \"\"b\"\", c\nd\",12,1234567.5\n<script>,,0.000123456789\n");
  EXPECT_EQ(AnswerJson(SomeAnswer()),
            "[\n {\"name\": \"a \\\"b\\\", c\\nd\", \"count\": 12, \"rate\": 1234567.5},\n"
            " {\"name\": \"<script>\", \"count\": null, \"rate\": 0.000123456789}\n]\n");
  EXPECT_EQ(AnswerJson({{"a"}, {}}), "[]\n");
  EXPECT_THROW(AnswerJson({{"a", "a"}, {{1, 2}}}), Error);
}

class BenchmarkTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasSqlite()) GTEST_SKIP() << "this build has no SQLite";
    std::string pattern = testing::TempDir() + "benchmark_test_XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    path_ = (directory_ / "store.db").string();
  }
  void TearDown() override {
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }
  void Add(const json& document) { ResultsStore(path_).Add({document, "run.json"}); }
  json Export(const std::string& where = "1") {
    return BenchmarkJson(
        AskStore(path_, "SELECT * FROM results WHERE " + where + " ORDER BY rowid"),
        AskStore(path_, kPhasesSql));
  }
  static std::vector<std::string> Names(const json& exported) {
    std::vector<std::string> names;
    for (const json& entry : exported.at("benchmarks")) names.push_back(entry.at("name"));
    return names;
  }

  std::filesystem::path directory_;
  std::string path_;
};

TEST_F(BenchmarkTest, AnOperationIsABenchmark) {
  Add(SmallDocument());
  const json exported = Export();
  EXPECT_EQ(exported["context"]["host_name"], "vm");
  EXPECT_EQ(exported["context"]["num_cpus"], 2);
  EXPECT_THAT(Names(exported),
              ElementsAre("btree/insert/threads:8", "btree/mixed/point-read/threads:8",
                          "btree/mixed/update/threads:8"));
  const json& read = exported["benchmarks"][1];
  EXPECT_EQ(read["run_type"], "iteration");
  EXPECT_EQ(read["iterations"], 60);
  EXPECT_EQ(read["real_time"], 20.5);
  EXPECT_EQ(read["time_unit"], "us");
  EXPECT_EQ(read["items_per_second"], 30.0);
  EXPECT_EQ(read["kernel_reads_per_op"], 0.5);
  EXPECT_EQ(read["label"], "before");
  EXPECT_FALSE(exported["benchmarks"][2].contains("kernel_reads_per_op")) << "it is not known";
}

// Once, a comparison of reads showed the processor time of reads and updates together as that of
// reads.
TEST_F(BenchmarkTest, ATotalOfSeveralKindsOfOperationsIsNotThatOfOneKind) {
  Add(SmallDocument());
  const json benchmarks = Export()["benchmarks"];
  const json &insert = benchmarks[0], &read = benchmarks[1];
  EXPECT_EQ(insert["cpu_time"], 7500.0);  // 0.75 s for 100 operations
  EXPECT_EQ(insert["device_reads_per_op"], 0.5);
  EXPECT_FALSE(insert.contains("phase_cpu_us_per_op"));
  EXPECT_FALSE(insert.contains("phase_device_reads_per_op"));
  EXPECT_EQ(read["cpu_time"], 0.0);
  EXPECT_FALSE(read.contains("device_reads_per_op"));
  EXPECT_FALSE(read.contains("written_per_user_byte"));
  EXPECT_EQ(read["phase_cpu_us_per_op"], 7500.0);
  EXPECT_EQ(read["phase_device_reads_per_op"], 0.5);
  EXPECT_EQ(read["phase_written_per_user_byte"], 2.0);
}

// Once, requests were divided by the operations that were answered, as no report does.
TEST_F(BenchmarkTest, RequestsAreDividedByAllOperationsThatCausedThem) {
  json document = SmallDocument();
  document["runs"][0]["phases"][2]["account"]["causes"][0]["operations"] = 75;
  Add(document);
  const json read = Export()["benchmarks"][1];
  EXPECT_EQ(read["iterations"], 60);
  EXPECT_EQ(read["kernel_reads_per_op"], 0.4);
}

TEST_F(BenchmarkTest, FiguresOfAPhaseAreDividedByOperationsWithoutAnAnswerToo) {
  json document = SmallDocument();
  document["runs"][0]["phases"][2]["unanswered"] =
      json::array({{{"name", "point-read"}, {"count", 25}}});
  Add(document);
  const json read = Export()["benchmarks"][1];
  EXPECT_EQ(read["iterations"], 60);
  EXPECT_EQ(read["phase_cpu_us_per_op"], 6000.0);  // 0.75 s for 125 operations
  EXPECT_EQ(read["phase_device_reads_per_op"], 0.4);
}

TEST_F(BenchmarkTest, RepetitionsShareANameAndOptionsThatVaryAreInIt) {
  Add(SmallDocument());
  json again = SmallDocument();
  again["runs"][0]["repeat"] = 1;
  again["options"]["seed"] = 43;
  Add(again);
  json exported = Export();
  ASSERT_EQ(exported["benchmarks"].size(), 6u);
  EXPECT_EQ(exported["benchmarks"][1]["name"], exported["benchmarks"][0]["name"]);
  EXPECT_EQ(exported["benchmarks"][1]["repetition_index"], 1);
  EXPECT_EQ(exported["benchmarks"][1]["repetitions"], 2);
  json other = SmallDocument();
  other["options"]["page_size"] = 4096;
  auto& phases = other["runs"][0]["phases"];
  phases.push_back(phases[2]);
  Add(other);
  exported = Export();
  EXPECT_EQ(exported["benchmarks"][0]["name"], "btree/insert/threads:8/page_size:8192");
  EXPECT_THAT(Names(exported),
              testing::Contains("btree/mixed/update/threads:8/phase:2/page_size:4096").Times(1));
}

// Once, the second phase, exported by itself, had the name of the first one, and was compared with
// it.
TEST_F(BenchmarkTest, APhaseHasItsNumberWhateverIsSelected) {
  json document = SmallDocument();
  auto& phases = document["runs"][0]["phases"];
  phases.push_back(phases[2]);
  Add(document);
  EXPECT_THAT(Names(Export("phase_index = 3")),
              ElementsAre("btree/mixed/point-read/threads:8/phase:2",
                          "btree/mixed/update/threads:8/phase:2"));
}

// A settle counts against the phase before it, whether its rows are selected or not.
TEST_F(BenchmarkTest, WhatASettleWroteIsOfThePhaseBeforeIt) {
  json document = SmallDocument();
  json& phases = document["runs"][0]["phases"];
  json settle = phases[1];
  settle["account"]["device"] = {{"reads", 0}, {"read_bytes", 0}, {"writes", 9}};
  settle["account"]["device"]["write_bytes"] = 500;
  phases.push_back(settle);
  phases.push_back(settle);
  phases.push_back(phases[2]);
  Add(document);
  using Selection = std::pair<const char*, size_t>;  // with the number of its operations
  for (const auto& [where, operations] : {Selection("1", 5), Selection("kind = 'measure'", 4)}) {
    const json benchmarks = Export(where)["benchmarks"];
    EXPECT_EQ(benchmarks.size(), operations) << where;
    for (const json& entry : benchmarks) {
      const std::string name = entry.at("name");
      if (name.starts_with("btree/insert/")) {
        EXPECT_FALSE(entry.contains("written_per_user_byte")) << "not known of its settle";
      } else {
        const bool second = name.ends_with("/phase:2");
        EXPECT_EQ(entry.at("phase_written_per_user_byte"), second ? 2.0 : 3.0) << name << where;
      }
    }
  }
}

// A run whose engine gave wrong answers has failed, and must not be exported as a repetition.
TEST_F(BenchmarkTest, ARunThatFailedIsNoRepetition) {
  Add(SmallDocument());
  json failed = SmallDocument();
  failed["options"]["seed"] = 43;
  failed["runs"][0]["error"] = {{"sentence", "rows are missing"}, {"exit_code", 1}};
  Add(failed);
  const json exported = Export();
  ASSERT_EQ(exported["benchmarks"].size(), 3u);
  EXPECT_EQ(exported["benchmarks"][0]["repetitions"], 1);
}

TEST_F(BenchmarkTest, AnotherHostReleaseOrCommitIsNoRepetition) {
  Add(SmallDocument());
  json other = SmallDocument();
  other["host"] = "metal";
  other["build"] = {{"commit", "abc"}};
  other["runs"][0]["engine"]["version"] = "2";
  Add(other);
  const std::vector<std::string> names = Names(Export());
  EXPECT_THAT(names,
              testing::Contains("btree/insert/threads:8/build_commit:/engine_version:1/host:vm"));
  EXPECT_THAT(names, testing::Contains(
                         "btree/insert/threads:8/build_commit:abc/engine_version:2/host:metal"));
}

TEST_F(BenchmarkTest, AnInterruptedPhaseIsNoRepetition) {
  Add(SmallDocument());
  json cut = SmallDocument();
  cut["options"]["seed"] = 43;
  cut["runs"][0]["phases"][2]["partial"] = true;
  Add(cut);
  EXPECT_THAT(Names(Export()),
              ElementsAre("btree/insert/threads:8", "btree/insert/threads:8",
                          "btree/mixed/point-read/threads:8", "btree/mixed/update/threads:8"));
}

TEST_F(BenchmarkTest, AnOpenLoopHasItsLatencyFromTheIntendedStart) {
  json document = SmallDocument();
  json& operation = document["runs"][0]["phases"][2]["operations"][0];
  operation["count"] = 1200;
  operation["latency_from_intended_us"] = operation["latency_us"];
  operation["latency_from_intended_us"]["p99"] = 7e6;
  Add(document);
  const json exported = Export();
  EXPECT_EQ(exported["benchmarks"][1]["p99_from_intended_us"], 7e6);
  EXPECT_EQ(exported["benchmarks"][1]["p99_us"], 90.0);
  EXPECT_FALSE(exported["benchmarks"][1].contains("p999_us")) << "too few operations tell it";
  EXPECT_FALSE(exported["benchmarks"][2].contains("p99_us")) << "of 40 operations";
  EXPECT_FALSE(exported["benchmarks"][2].contains("p99_from_intended_us"));
}

TEST_F(BenchmarkTest, WithoutAnOperationThereIsNothingToExport) {
  json document = SmallDocument();
  for (json& phase : document["runs"][0]["phases"]) phase["kind"] = "warm-up";
  Add(document);
  EXPECT_THROW(Export(), Error);
}

}  // namespace
}  // namespace testbed

#include "tools/report/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device/error.h"
#include "tools/report/compare_terms.h"
#include "tools/statistics/document_cells.h"
#include "tools/statistics/metrics.h"
#include "tools/statistics/normal.h"

namespace testbed {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

json Phase(const std::string& name, const std::string& kind, double rate) {
  json operation = {{"name", name},
                    {"count", 1000},
                    {"rate", rate},
                    {"latency_us", {{"mean", 1e6 / rate}, {"p50", 9}, {"p99", 30}, {"p999", 99}}}};
  return {{"name", name},
          {"kind", kind},
          {"count", 1000},
          {"rate", rate},
          {"wrong", 0},
          {"database_bytes", 4096},
          {"log_file_bytes", 1024},
          {"operations", json::array({operation})},
          {"account",
           {{"causes", json::array({{{"name", name}, {"file", {{"reads", 500}}}},
                                    {{"name", "flush"}, {"file", {{"reads", 100}}}}})},
            {"engine", {{"block_requests", 3000}, {"block_hits", 2000}}},
            {"device", {{"reads", 600}, {"write_bytes", 0}}},
            {"cpu_user_seconds", 1.5},
            {"cpu_system_seconds", 0.5}}}};
}

// Returns a document with one load for each of the rates.
json Document(const std::vector<double>& rates) {
  json document = {{"schema", "testbed-results/1"},
                   {"testbed", "1"},
                   {"command", {"--engine", "btree", "--json", "a b.json", "--repeat", "2"}},
                   {"options", {{"engine", "btree"}, {"cache_pct", 50}, {"key_size", 16}}},
                   {"data", {{"rows", 1000}}},
                   {"machine", {{"cpu_model", "x"}, {"memory_bytes", "1000000"}}},
                   {"runs", json::array()}};
  int load = 0;
  for (double rate : rates) {
    document["runs"].push_back({{"threads", 1},
                                {"repeat", 0},
                                {"load", load++},
                                {"engine", {{"version", "1.0"}}},
                                {"phases", json::array({Phase("point-read", "measure", rate)})}});
  }
  return document;
}

Condition Slower() { return ParseCondition("--fail-if", "rate < -3%"); }

TEST(DocumentCellsTest, SeveralTasksAreACellOfTheirOwn) {
  json document = Document({100});
  EXPECT_EQ(CellsOf(document)[0].name, "point-read, 1 thr");
  const json task = json::object();
  document["runs"][0]["phases"][0]["tasks"] = json::array({task, task, task});
  EXPECT_EQ(CellsOf(document)[0].name, "point-read, 1 thr x 3 tasks");
}

// Requests of other programs on the device say nothing about the engine.
TEST(DocumentCellsTest, OtherProgramsAreInNoMetric) {
  json phase = Phase("point-read", "measure", 100);
  json& account = phase["account"];
  phase["user_bytes_written"] = 100;
  account["causes"][0]["kernel"] = {{"reads", 300}, {"write_bytes", 0}};
  account["device"] = {{"reads", 600}, {"write_bytes", 5000}};
  account["other_threads"] = {{{"thread", "kworker"},
                               {"kind", "data"},
                               {"kernel", {{"reads", 100}, {"write_bytes", 1000}}}},
                              {{"thread", "backup"},
                               {"kind", "other-file"},
                               {"kernel", {{"reads", 200}, {"write_bytes", 4000}}}}};
  std::map<std::string, double> metrics = MetricsOf(phase).at("");
  EXPECT_DOUBLE_EQ(metrics["device_reads"], 0.4);
  EXPECT_DOUBLE_EQ(metrics["device_write_bytes"], 1);
  EXPECT_DOUBLE_EQ(metrics["write_amplification"], 10);
  EXPECT_DOUBLE_EQ(metrics["kernel_reads"], 0.4);
  EXPECT_DOUBLE_EQ(metrics["kernel_write_bytes"], 1);
}

TEST(DocumentCellsTest, RunsBelongToLoads) {
  json document = Document({100, 101, 102});
  EXPECT_THAT(LoadsOfRuns(document), ElementsAre(0, 1, 2));
  for (json& run : document["runs"]) run.erase("load");
  EXPECT_THAT(LoadsOfRuns(document), ElementsAre(0, 0, 0));  // one load, three runs on it
  for (json& run : document["runs"])
    run["phases"].insert(run["phases"].begin(), Phase("insert", "load", 5));
  EXPECT_THAT(LoadsOfRuns(document), ElementsAre(0, 1, 2));
  const std::vector<DocumentCell> cells = CellsOf(document);
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[0].name, "insert, 1 thr");
  EXPECT_EQ(cells[1].samples.at("rate").size(), 3u);
  EXPECT_EQ(cells[1].samples.at("rate")[2].load, 2);
}

TEST(MetricsTest, AreFoundInAPhase) {
  const auto metrics = MetricsOf(Phase("point-read", "measure", 100)).at("");
  EXPECT_EQ(metrics.at("rate"), 100);
  EXPECT_EQ(metrics.at("p99"), 30);
  EXPECT_DOUBLE_EQ(metrics.at("cpu_us"), 2000);
  EXPECT_EQ(metrics.at("engine_asks"), 3);
  EXPECT_EQ(metrics.at("engine_misses"), 1);
  EXPECT_EQ(metrics.at("file_reads"), 0.6);
  EXPECT_EQ(metrics.at("device_reads"), 0.6);
  EXPECT_EQ(metrics.at("size"), 3072) << "the log is no part of it";
  EXPECT_FALSE(metrics.contains("kernel_reads"));
  EXPECT_FALSE(metrics.contains("write_amplification"));
  EXPECT_FALSE(metrics.contains("memory_held")) << "nothing bounded the memory";
  json no_asks = Phase("point-read", "measure", 100);
  no_asks["account"]["engine"] = {{"block_reads", 700}};
  EXPECT_DOUBLE_EQ(MetricsOf(no_asks).at("").at("engine_misses"), 0.7) << "as of bf-tree";
  EXPECT_FALSE(MetricsOf(no_asks).at("").contains("engine_asks"));
  json bounded = Phase("point-read", "measure", 100);
  bounded["memory"] = {{"held_mean", 4096}, {"held_most", 8192}};
  EXPECT_EQ(MetricsOf(bounded).at("").at("memory_held"), 4096);
  json mixed = Phase("mixed", "measure", 100);
  json update = mixed["operations"][0];
  update["name"] = "update";
  mixed["operations"].push_back(update);
  EXPECT_EQ(MetricsOf(mixed).size(), 3u);
  EXPECT_FALSE(MetricsOf(mixed).at("").contains("p99"));
  EXPECT_EQ(MetricsOf(mixed).at("update").at("p99"), 30);
  // By chance one kind alone was performed of the two that the workload has.
  const json one = Phase("update", "measure", 100);
  EXPECT_EQ(MetricsOf(one, 2).at("update").at("p99"), 30);
  EXPECT_FALSE(MetricsOf(one, 2).at("").contains("p99"));
  EXPECT_EQ(MetricsOf(one, 1).at("").at("p99"), 30);
}

TEST(CompareDocumentsTest, TellsADifferenceOverLoads) {
  const json first = Document({100, 101, 99, 100}), second = Document({90, 91, 89, 90});
  CompareSettings settings;
  settings.fail_if = {Slower()};
  const CellComparison comparison = CompareDocuments(first, second, settings);
  EXPECT_EQ(CompareExitCode(comparison), 1);
  const std::string text = ComparisonText(comparison);
  EXPECT_THAT(text, HasSubstr("point-read, 1 thr: the second is slower by 10 % ("));
  EXPECT_THAT(text, HasSubstr("rate < -3 %: holds in point-read, 1 thr"));
  EXPECT_THAT(text, Not(HasSubstr("device_write_bytes")));  // 0 on both sides
  EXPECT_THAT(text, Not(HasSubstr("differs")));
  const CellComparison equal = CompareDocuments(first, first, settings);
  EXPECT_EQ(CompareExitCode(equal), 0);
  EXPECT_THAT(ComparisonText(equal), HasSubstr("the same within 2 %"));
}

TEST(CompareDocumentsTest, OneLoadTellsNothingAndTheCommandThatCouldIsNamed) {
  const json one = Document({100}), many = Document({90, 91, 89, 90});
  CompareSettings settings;
  settings.fail_if = {Slower()};
  const CellComparison comparison = CompareDocuments(one, many, settings);
  EXPECT_EQ(CompareExitCode(comparison), 3);
  const std::string text = ComparisonText(comparison);
  EXPECT_THAT(text, HasSubstr("cannot be told from 1 load"));
  EXPECT_THAT(text, HasSubstr("first: testbed --engine btree --repeat 5 --json FILE\n"));
  EXPECT_THAT(text, Not(HasSubstr("second: testbed")));
  // The command loads a database of its own, as that of the directory was loaded.
  json reused = one;
  reused["command"] = {
      "--dir",  "d", "--reuse", "--workload",   "point-read", "--repeat-runs", "3",
      "--json", "x", "--fresh", "--csv-series", "s.csv",      "--csv=x",       "--threads=1,4"};
  reused["options"] = {{"engine", "rocksdb"},
                       {"release", "9.1"},
                       {"rows", 70},
                       {"seed", 8},
                       {"keys", ""},
                       {"key_order", "random"},
                       {"workload", {"point-read"}},
                       {"engine_options", {{"filter_bits", "4"}}}};
  EXPECT_THAT(ComparisonText(CompareDocuments(reused, many, settings)),
              HasSubstr("first: testbed --threads=1,4 --engine rocksdb@9.1 --seed 8 --key-order "
                        "random --rows 70 --engine-option filter_bits=4 --workload "
                        "insert,point-read --repeat 5 --json FILE\n"));
  reused["options"].update({{"value_size", 1000}, {"fields", 10}});
  EXPECT_THAT(ComparisonText(CompareDocuments(reused, many, settings)),
              HasSubstr(" --value-size 10x100 "));
  reused["options"].update({{"value_size", "100-1000"}, {"fields", 1}});
  EXPECT_THAT(ComparisonText(CompareDocuments(reused, many, settings)),
              HasSubstr(" --value-size 100-1000 "));
  reused["options"]["workload"] = {"replay"};
  EXPECT_THAT(ComparisonText(CompareDocuments(reused, many, settings)),
              HasSubstr("do not tell which workload loaded it\n"));
  // The command of a run of several tasks is refused with --repeat.
  json tasks = one;
  tasks["command"] = {"--engine", "mysql", "--task", "0/3"};
  tasks["options"]["tasks"] = 3;
  EXPECT_THAT(ComparisonText(CompareDocuments(tasks, tasks, settings)),
              HasSubstr("first: there is none, because a run of several tasks (--task)"));
  // Several runs on one load must not count as several loads.
  json runs = Document({100, 101, 99, 100});
  for (json& run : runs["runs"]) run["load"] = 0;
  EXPECT_THAT(ComparisonText(CompareDocuments(runs, many, settings)),
              HasSubstr("cannot be told from 1 load"));
}

TEST(CompareDocumentsTest, MachinesDifferencesAreNotCalledTheEngines) {
  const json first = Document({100, 101, 99, 100});
  json second = Document({50, 51, 49, 50});
  second["machine"]["cpu_model"] = "y";
  CompareSettings settings;
  settings.fail_if = {Slower()};
  const CellComparison comparison = CompareDocuments(first, second, settings);
  EXPECT_EQ(CompareExitCode(comparison), 3);
  const std::string text = ComparisonText(comparison);
  EXPECT_THAT(text, HasSubstr("machine differs: cpu_model: x against y"));
  EXPECT_THAT(text, HasSubstr("machines differ"));
  EXPECT_THAT(text, Not(HasSubstr("slower")));
  second["machine"]["cpu_model"] = "x";
  second["machine"]["memory_bytes"] = "1010000";  // nearly the same
  EXPECT_TRUE(CompareDocuments(first, second, {}).terms.same_machine());
}

// Hosts of one kind differ, too. A container's name says nothing, so the results are compared.
TEST(CompareTermsTest, HostsOfOneKindAreNamed) {
  json first = Document({100}), second = Document({100});
  first["host"] = "n1";
  EXPECT_EQ(TermsText(TermsOf(first, second)), "") << "the other host is not known";
  second["host"] = "n2";
  const CompareTerms terms = TermsOf(first, second);
  EXPECT_TRUE(terms.comparable());
  EXPECT_EQ(TermsText(UnionOf({terms, terms})), "host differs: name: n1 against n2\n");
  const json differences =
      ComparisonJson(CompareDocuments(first, second, {}), "a", "b")["differences"];
  ASSERT_EQ(differences.size(), 1u);
  EXPECT_EQ(differences[0]["kind"], "host");
}

// A run whose --ram was refused had all the memory of the machine.
TEST(CompareDocumentsTest, WhatWasRefusedOnOneSideIsNotCalledTheEngines) {
  json first = Document({100, 101, 99, 100});
  json second = Document({50, 51, 49, 50});
  second["not_in_force"] = {{{"option", "ram"}, {"why", "only root may"}},
                            {{"option", "readahead"}, {"why", "only root may"}}};
  CompareSettings settings;
  settings.fail_if = {Slower()};
  CellComparison comparison = CompareDocuments(first, second, settings);
  EXPECT_TRUE(comparison.terms.same_machine());
  EXPECT_FALSE(comparison.terms.comparable());
  EXPECT_EQ(CompareExitCode(comparison), 3);
  std::string text = ComparisonText(comparison);
  EXPECT_THAT(text, HasSubstr("what was in force differs: --ram: as asked against not in force "
                              "(only root may)\n"));
  EXPECT_THAT(text, HasSubstr("what was in force differs: --readahead: "));
  EXPECT_THAT(text, HasSubstr("settings were refused"));
  EXPECT_THAT(text, Not(HasSubstr("slower")));
  first["not_in_force"] = second["not_in_force"];
  comparison = CompareDocuments(first, second, settings);
  EXPECT_EQ(CompareExitCode(comparison), 1) << "the terms are the same";
  text = ComparisonText(comparison);
  EXPECT_THAT(text, HasSubstr("not in force on both sides: --ram: only root may\n"));
  EXPECT_THAT(text, HasSubstr("slower"));
}

// The loads that a side finished may be those in which all went well.
TEST(CompareDocumentsTest, RunsThatFailedAreTold) {
  const json first = Document({100, 101, 99, 100});
  json second = first;
  EXPECT_EQ(CircumstancesText(CompareDocuments(first, second, {})), "");
  second["runs"][3]["phases"] = json::array();
  second["runs"][3]["error"] = {{"sentence", "the database is damaged"}, {"exit_code", 1}};
  EXPECT_EQ(CircumstancesText(CompareDocuments(first, second, {})),
            "second: ! 1 of 4 runs failed, so the figures are of what was finished: the database "
            "is damaged\n");
}

TEST(CompareDocumentsTest, PercentilesOfFewOperationsAreTold) {
  const json first = Document({100, 101, 99});
  json second = first;
  CompareSettings settings;
  settings.metrics = {"rate", "p50", "p99"};
  EXPECT_TRUE(CompareDocuments(first, second, settings).few_operations.empty());
  // Nine of 900 latencies are slower than the percentile. The other operations kept rows for their
  // check.
  second["runs"][1]["phases"][0]["operations"][0]["latency_us"]["count"] = 900;
  const CellComparison comparison = CompareDocuments(first, second, settings);
  EXPECT_THAT(comparison.few_operations, ElementsAre(testing::Pair("p99", 1u)));
  EXPECT_THAT(CircumstancesText(comparison),
              HasSubstr("p99: in 1 of the rows a run had too few operations for such a "));
}

TEST(CompareDocumentsTest, CountsOfTheSameSeedsArePairs) {
  // Loads differ by 4 % in what they ask of the cache; the second side asks 0.1 % more on each.
  json first = Document({100, 101, 99}), second = Document({100, 101, 99});
  for (int load = 0; load < 3; ++load) {
    for (auto [document, factor] : {std::pair(&first, 1000), std::pair(&second, 1001)}) {
      json& run = (*document)["runs"][static_cast<size_t>(load)];
      run["seed"] = 42 + load;
      run["phases"][0]["account"]["engine"]["block_requests"] = (300 + 6 * load) * factor;
    }
  }
  CompareSettings settings;
  settings.metrics = {"engine_asks"};
  CellComparison comparison = CompareDocuments(first, second, settings);
  ASSERT_EQ(comparison.rows.size(), 1u);
  EXPECT_EQ(comparison.rows[0].answer.outcome, Outcome::kMore);
  EXPECT_NEAR(comparison.rows[0].answer.effect, 1.001, 1e-9);
  second["runs"][0]["seed"] = 7;
  comparison = CompareDocuments(first, second, settings);
  EXPECT_EQ(comparison.rows[0].answer.outcome, Outcome::kUnknown);
}

// One load of the second side failed, and its seeds begin one later: four of the loads are pairs.
TEST(CompareDocumentsTest, ALoadThatASideLacksLeavesTheOthersPairs) {
  json first = Document({100, 101, 99, 100, 102}), second = first;
  for (int load = 0; load < 5; ++load) {
    for (auto [document, later] : {std::pair(&first, 0), std::pair(&second, 1)}) {
      json& run = (*document)["runs"][static_cast<size_t>(load)];
      const int seed = 42 + load + later, blocks = 300 + 6 * (seed * 7 % 5);
      run["seed"] = seed;
      run["phases"][0]["account"]["engine"]["block_requests"] = blocks * (1000 + later);
    }
  }
  CompareSettings settings;
  settings.metrics = {"engine_asks", "rate"};
  const auto asks = [&] { return CompareDocuments(first, second, settings).rows.at(1).answer; };
  EXPECT_EQ(asks().outcome, Outcome::kMore);
  EXPECT_NEAR(asks().effect, 1.001, 1e-9);
  EXPECT_EQ(asks().loads_b, 4);
  second["runs"].erase(size_t{1});
  EXPECT_EQ(asks().outcome, Outcome::kMore);
  EXPECT_EQ(asks().loads_b, 3);
  EXPECT_EQ(CompareDocuments(first, second, settings).rows.at(0).answer.loads_b, 4);
  // A seed that two loads have does not tell which of them is the partner.
  second["runs"][1]["seed"] = second["runs"][2]["seed"];
  EXPECT_EQ(asks().outcome, Outcome::kUnknown);
  EXPECT_EQ(asks().loads_b, 4);
}

// A check of the whole database fails the run, and leaves the phases that it is about.
TEST(CompareDocumentsTest, ARunThatFailedIsSaidAboveAll) {
  const json first = Document({100, 101});
  json second = first;
  second["runs"][1]["error"] = {{"sentence", "rows are missing"}, {"exit_code", 1}};
  const std::string text = ComparisonText(CompareDocuments(first, second, {}));
  EXPECT_EQ(text.find("second: ! 1 of 2 runs failed"), 0u) << text;
  EXPECT_THAT(text, Not(HasSubstr("first: !")));
}

TEST(CompareTermsTest, NameWhatDiffersAndWhatForbids) {
  const json first = Document({100});
  json second = Document({100});
  second["options"]["cache_pct"] = 20;
  second["testbed"] = "2";
  const std::string text = TermsText(TermsOf(first, second));
  EXPECT_EQ(text,
            "version differs: testbed: 1 against 2\n"
            "setting differs: cache_pct: 50 against 20\n");
  EXPECT_EQ(WhyNotComparable(first, second, "a", "b"), "");
  json debug = first, release = first;
  debug["build"] = {{"commit", "1f2e3d4"}, {"type", "Debug"}};
  release["build"] = {{"commit", "1f2e3d4"}, {"type", "Release"}};
  EXPECT_EQ(TermsText(TermsOf(debug, release)),
            "version differs: build's type: Debug against Release\n");
  second["data"]["rows"] = 2000;
  EXPECT_EQ(WhyNotComparable(first, second, "a", "b"),
            "a and b cannot be compared, because their data differ: rows 1000 against 2000");
  second = Document({100});
  second["options"]["key_size"] = 32;
  EXPECT_THAT(WhyNotComparable(first, second, "a", "b"), HasSubstr("--key-size 16 against 32"));
  second = Document({100});
  second["runs"][0]["phases"][0]["wrong"] = 1;
  EXPECT_EQ(WhyNotComparable(first, second, "a", "b"),
            "b cannot be compared, because its engine gave wrong answers in point-read");
}

// Sides with a --readahead of their own ran on one machine.
TEST(CompareTermsTest, AReadaheadThatARunSetIsASetting) {
  json first = Document({100});
  first["device"] = {
      {"name", "a"}, {"exclusive", true}, {"queue", {{"read_ahead_kb", "8"}, {"rotational", "0"}}}};
  json second = first;
  second["device"]["queue"]["read_ahead_kb"] = "128";
  EXPECT_FALSE(TermsOf(first, second).same_machine()) << "each is the machine's own";
  first["options"]["readahead"] = 8192;
  second["options"]["readahead"] = 131072;
  EXPECT_TRUE(TermsOf(first, second).comparable());
  EXPECT_THAT(TermsText(TermsOf(first, second)),
              HasSubstr("setting differs: readahead: 8192 against 131072\n"
                        "setting differs: device's read_ahead_kb: 8 against 128\n"));
  second["options"]["readahead"] = nullptr;  // the device kept what it had
  EXPECT_TRUE(TermsOf(first, second).comparable());
  EXPECT_THAT(TermsText(TermsOf(first, second)), HasSubstr("readahead: 8192 against not set\n"));
  first["not_in_force"] = {{{"option", "readahead"}, {"why", "only root may"}}};
  EXPECT_FALSE(TermsOf(first, second).same_machine()) << "--readahead was refused";
}

// A version of testbed may read a setting of the queue that another did not. Whether the machines
// are one must not depend on which file is named first.
TEST(CompareTermsTest, ASettingOfTheQueueThatOneSideLacksDiffersInEitherOrder) {
  json first = Document({100});
  first["device"] = {{"name", "a"}, {"exclusive", true}, {"queue", {{"rotational", "0"}}}};
  json second = first;
  second["device"]["queue"]["wbt_lat_usec"] = "75000";
  EXPECT_FALSE(TermsOf(first, second).same_machine());
  EXPECT_FALSE(TermsOf(second, first).same_machine());
  EXPECT_THAT(TermsText(TermsOf(first, second)),
              HasSubstr("machine differs: device's wbt_lat_usec: not known against 75000\n"));
}

TEST(CompareTermsTest, AFileSystemThatARunAskedForIsASetting) {
  json first = Document({100}), second = Document({100});
  first["machine"]["file_system"] = "ext4";
  second["machine"]["file_system"] = "xfs";
  EXPECT_FALSE(TermsOf(first, second).same_machine());
  first["options"]["scratch_fs"] = "ext4";
  EXPECT_FALSE(TermsOf(first, second).same_machine()) << "the second has no scratch device";
  second["options"]["scratch_fs"] = "xfs";
  EXPECT_TRUE(TermsOf(first, second).comparable());
  EXPECT_THAT(TermsText(TermsOf(first, second)),
              HasSubstr("setting differs: scratch_fs: ext4 against xfs\n"
                        "setting differs: file_system: ext4 against xfs\n"));
}

// Equal differences of several pairs are one line, with the number of the pairs unless all differ
// so.
TEST(CompareTermsTest, OfSeveralPairsAreOneAccount) {
  const json first = Document({100});
  std::vector<CompareTerms> terms;
  for (int pair = 0; pair < 6; ++pair) {
    json second = first;
    second["testbed"] = "2";
    if (pair > 0) second["options"]["cache_pct"] = 20 + pair;
    if (pair > 3) second["not_in_force"] = {{{"option", "ram"}, {"why", "only root may"}}};
    terms.push_back(TermsOf(first, second));
  }
  const CompareTerms all = UnionOf(terms);
  EXPECT_FALSE(all.comparable());
  EXPECT_THAT(
      TermsText(all),
      HasSubstr("version differs: testbed: 1 against 2\n"
                "setting differs: cache_pct: 50 against 21 (in 1 of 6 cells)\n"
                "setting differs: cache_pct: 50 against 22 (in 1 of 6 cells)\n"
                "setting differs: cache_pct: 50 against 23 (in 1 of 6 cells)\n"
                "setting differs: cache_pct: 2 other pairs of values\n"
                "what was in force differs: --ram: as asked against not in force (only root "
                "may) (in 2 of 6 cells)\n"));
}

// For more than 20 cells the text counts the answers, and only differences have a sentence.
TEST(CompareDocumentsTest, ManyCellsAreCountedAndTheDifferencesTold) {
  json first = Document({}), second = Document({});
  for (int cell = 1; cell <= 21; ++cell) {
    for (int load = 0; load < 3; ++load) {
      json run = Document({100.0 + load})["runs"][0];
      run["load"] = load;
      run["threads"] = cell;
      first["runs"].push_back(run);
      if (cell == 7) run["phases"][0]["rate"] = 50.0 + load;
      second["runs"].push_back(run);
    }
  }
  CompareSettings settings;
  settings.metrics = {"rate"};
  const CellComparison comparison = CompareDocuments(first, second, settings);
  const std::string text = ComparisonText(comparison);
  EXPECT_THAT(text, HasSubstr("21 cells: the second is faster in 0 and slower in 1; "));
  EXPECT_THAT(text, HasSubstr("point-read, 7 thr: the second is slower by "));
  EXPECT_THAT(text, Not(HasSubstr("point-read, 8 thr: ")));
  const json document = ComparisonJson(comparison, "a", "b");
  EXPECT_EQ(document["answers"].size(), 21u);
  EXPECT_EQ(document["answers"][6]["answer"], "slower");
  EXPECT_EQ(document["answers"][6]["loads_second"], 3);
  EXPECT_EQ(document["second"], "b");
}

TEST(CompareDocumentsTest, ManyCellsAreCorrected) {
  // 40 cells without a difference: of such, two are outside of their own 95 % interval.
  Normal normal(1);
  json first = Document({}), second = Document({});
  for (json* document : {&first, &second}) {
    for (int cell = 1; cell <= 40; ++cell) {
      for (int load = 0; load < 4; ++load) {
        json run = Document({100 + normal()})["runs"][0];
        run["load"] = load;
        run["threads"] = cell;
        (*document)["runs"].push_back(run);
      }
    }
  }
  CompareSettings settings;
  settings.metrics = {"rate"};
  const CellComparison comparison = CompareDocuments(first, second, settings);
  ASSERT_EQ(comparison.rows.size(), 40u);
  int raw = 0;
  for (const ComparedRow& row : comparison.rows) {
    EXPECT_NE(row.answer.outcome, Outcome::kLess) << row.cell;
    EXPECT_NE(row.answer.outcome, Outcome::kMore) << row.cell;
    const Answer uncorrected = AtLevel(row.answer, 0.05);
    raw += uncorrected.low > 1 || uncorrected.high < 1;
  }
  EXPECT_GT(raw, 0);  // without the correction some would be called different
}

// Updates become slower, and reads do not.
TEST(CompareDocumentsTest, AConditionOnOneKindIsJudgedInItsCellsAlone) {
  const auto mixed = [](double update_p99) {
    json document = Document({1000, 1001, 1002});
    for (json& run : document["runs"]) {
      json& operations = run["phases"][0]["operations"];
      operations.push_back(operations[0]);
      operations[1]["name"] = "update";
      operations[1]["latency_us"]["p99"] = update_p99;
    }
    return document;
  };
  CompareSettings settings;
  for (const char* text : {"update.p99 > 10%", "point-read.p99 > 10%", "erase.p99 > 10%"}) {
    settings.fail_if.push_back(ParseCondition("--fail-if", text));
  }
  const CellComparison comparison = CompareDocuments(mixed(30), mixed(60), settings);
  ASSERT_EQ(comparison.conditions.size(), 3u);
  EXPECT_EQ(comparison.conditions[0].judgement, Judgement::kHolds);
  EXPECT_THAT(comparison.conditions[0].cells, ElementsAre("point-read update, 1 thr"));
  EXPECT_EQ(comparison.conditions[1].judgement, Judgement::kDoesNotHold);
  EXPECT_THAT(comparison.conditions[1].cells, ElementsAre("point-read point-read, 1 thr"));
  try {
    CheckCompared(comparison, "first", "second");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("erase.p99 was not measured in a phase of both"));
  }
}

// Each further condition is a further chance to be wrong. The p-value of this one is 0.037.
TEST(CompareDocumentsTest, SeveralConditionsMakeNoMoreFalseAlarms) {
  const json first = Document({100, 101, 99, 100});
  const json second = Document({95.8, 0.958 * 101, 0.958 * 99, 95.8});
  CompareSettings settings;
  settings.fail_if = {Slower()};
  EXPECT_EQ(CompareExitCode(CompareDocuments(first, second, settings)), 1);
  settings.fail_if.push_back(ParseCondition("--fail-if", "p99 > 50%"));
  const CellComparison comparison = CompareDocuments(first, second, settings);
  EXPECT_EQ(comparison.conditions[0].judgement, Judgement::kUnknown);
  EXPECT_EQ(comparison.conditions[1].judgement, Judgement::kDoesNotHold);
  EXPECT_EQ(CompareExitCode(comparison), 3);
}

// That no cell is slower by 3 % is told when each is found not to be. The p-value of each is 0.019:
// the further cells make it no less sure, as one that is slower would have to be found not to be.
TEST(CompareDocumentsTest, ManyCellsMakeItNoHarderThatNoneIsSlower) {
  json first = Document({}), second = Document({});
  for (auto [document, factor] : {std::pair(&first, 1.0), std::pair(&second, 0.985)}) {
    for (int cell = 1; cell <= 10; ++cell) {
      const json runs = Document({100 * factor, 101 * factor, 99 * factor, 100 * factor})["runs"];
      for (json run : runs) {
        run["threads"] = cell;
        (*document)["runs"].push_back(run);
      }
    }
  }
  CompareSettings settings;
  settings.fail_if = {Slower()};
  EXPECT_EQ(CompareExitCode(CompareDocuments(first, second, settings)), 0);
  // The p-value of a cell that is slower by 4.2 % is 0.037. It is one of ten chances to be wrong.
  for (size_t load = 0; load < 4; ++load) {
    json& rate = second["runs"][load]["phases"][0]["rate"];
    rate = rate.get<double>() * 0.958 / 0.985;
  }
  EXPECT_EQ(CompareExitCode(CompareDocuments(first, second, settings)), 3);
}

TEST(CompareDocumentsTest, WhatHasNothingInCommonIsRefused) {
  const json first = Document({100});
  json second = Document({100});
  second["runs"][0]["threads"] = 2;
  const CellComparison comparison = CompareDocuments(first, second, {});
  try {
    CheckCompared(comparison, "a", "b");
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(),
                 "a and b have no phase in common: the first measured point-read, 1 thr, the "
                 "second point-read, 2 thr");
  }
  CompareSettings settings;
  settings.fail_if = {ParseCondition("--fail-if", "kernel_reads > 1%")};
  EXPECT_THROW(CheckCompared(CompareDocuments(first, first, settings), "a", "b"), Error);
}

}  // namespace
}  // namespace testbed

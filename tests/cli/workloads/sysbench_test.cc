// Tests the workloads of sysbench: the statements of a transaction, and that tables and indexes
// hold exactly the rows that the phases say, whatever ran before.
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/cli/command.h"

namespace testbed {
namespace {

using nlohmann::json;

class SysbenchTest : public CommandTest {
 protected:
  // Runs the workloads and returns the phases by name.
  std::map<std::string, json> Phases(const std::string& words) {
    const CommandResult result = Run(
        std::string("--ram 64M --rows 2000 --verify all --account off --quiet --json run.json ") +
        (words.find("--warmup") == std::string::npos ? "--warmup 0 " : "") + words);
    EXPECT_EQ(result.code, 0) << words << result.err;
    std::map<std::string, json> phases;
    const json document = Json("run.json");
    for (const json& phase : document["runs"].back()["phases"]) {
      phases[phase["name"]] = phase;
      if (phase.contains("wrong")) {
        EXPECT_EQ(phase["wrong"], 0);
      }
    }
    return phases;
  }
};

TEST_F(SysbenchTest, ATransactionHasTheStatementsOfTheScript) {
  std::map<std::string, json> phases = Phases(
      "--engine btree --threads 1 --operations 300 --workload-option rand_type=uniform --workload "
      "sysbench-load,oltp-point-select,oltp-read-only,oltp-write-only,oltp-read-write,"
      "oltp-update-index,oltp-update-non-index");
  EXPECT_EQ(phases["sysbench-load"]["rows_inserted"], 2000);
  EXPECT_EQ(phases["oltp-point-select"]["rows_read"], 300);
  // A transaction reads ten single rows and four ranges of 100 rows, which are shorter at the end
  // of the table.
  const double read = phases["oltp-read-only"]["rows_read"].get<double>() / 300;
  EXPECT_NEAR(read, 10 + 4 * 97.5, 4);
  EXPECT_EQ(phases["oltp-read-only"]["rows_written"], 0);
  EXPECT_EQ(phases["oltp-read-only"]["details"]["statements"], 14);
  // A transaction makes two updates, a delete and an insert.
  EXPECT_EQ(phases["oltp-write-only"]["rows_written"], 4 * 300);
  EXPECT_EQ(phases["oltp-write-only"]["rows_inserted"], 300);
  EXPECT_EQ(phases["oltp-write-only"]["rows_erased"], 300);
  EXPECT_EQ(phases["oltp-read-write"]["rows_written"], 4 * 300);
  EXPECT_EQ(phases["oltp-read-write"]["details"]["statements"], 17);
  EXPECT_EQ(phases["oltp-update-non-index"]["details"]["table_rows"], 2000);
  EXPECT_EQ(phases["oltp-update-index"]["rows_written"], 300);
  EXPECT_EQ(phases["oltp-update-non-index"]["rows_written"], 300);
}

// The values that a phase writes depend on its number, whatever loaded the database.
TEST_F(SysbenchTest, TheRecordHasTheNumberOfThePhaseThatWroteLast) {
  const std::string common = "--engine btree --dir d --threads 1 --operations 50 --workload ";
  const auto recorded = [this]() -> json {
    return json::parse(Read(directory_ / "d/testbed.json"))["writing_phases"];
  };
  Phases(common + "sysbench-load,oltp-update-non-index");
  EXPECT_EQ(recorded(), 1);
  Phases(common + "oltp-write-only,oltp-update-index --reuse");
  EXPECT_EQ(recorded(), 3);
  Phases(common + "oltp-point-select --reuse");
  EXPECT_EQ(recorded(), 3);
}

TEST_F(SysbenchTest, RowCountsAreExactOnEveryEngine) {
  const std::vector<std::string> order = {"sysbench-load", "oltp-insert", "oltp-delete",
                                          "oltp-read-write"};
  for (const char* engine : {"btree", "rocksdb", "lmdb", "wiredtiger"}) {
    if (!HasEngine(engine)) continue;
    double rows = 0;
    std::string last = "oltp-read-write";
    const std::string words = std::string("--engine ") + engine +
                              " --threads 4 --workload-option tables=2 --operations 500 --dir " +
                              engine;
    const auto expect = [&](const json& phase) {
      rows += phase["rows_inserted"].get<double>() - phase["rows_erased"].get<double>();
      // The phases between the load and the last one are not followed by a check.
      const bool checked = phase["name"] == "sysbench-load" || phase["name"] == last;
      EXPECT_EQ(phase["details"].contains("table_rows"), checked) << phase;
      if (checked) {
        EXPECT_EQ(phase["details"]["table_rows"], rows) << engine << ' ' << phase["name"];
      }
    };
    std::map<std::string, json> phases =
        Phases(words + " --workload sysbench-load,oltp-insert,oltp-delete,oltp-read-write");
    for (const std::string& name : order) expect(phases[name]);
    EXPECT_GT(phases["oltp-delete"]["not_found"], 0) << "the middle is deleted more than once";
    if (std::string(engine) == "btree") {
      last = "oltp-insert";
      expect(Phases(words + " --reuse --workload oltp-insert")["oltp-insert"]);
    }
  }
}

// The bytes of the same operations are the same, whoever keeps the indexes.
TEST_F(SysbenchTest, UserBytesDoNotDependOnTheEngine) {
  std::map<std::string, std::map<std::string, json>> of;
  for (const char* engine : {"btree", "innodb"}) {
    if (!HasEngine(engine)) GTEST_SKIP() << "without " << engine;
    of[engine] = Phases(std::string("--engine ") + engine + " --dir " + engine +
                        " --threads 1 --operations 200 --workload "
                        "sysbench-load,oltp-update-index,oltp-insert,oltp-delete");
  }
  for (const char* name : {"sysbench-load", "oltp-update-index", "oltp-insert"}) {
    EXPECT_GT(of["btree"][name]["user_bytes_written"], 0) << name;
  }
  for (const auto& [name, phase] : of["btree"]) {
    if (name == "settle") continue;
    EXPECT_EQ(phase["user_bytes_written"], of["innodb"][name]["user_bytes_written"]) << name;
  }
}

// A check would fill the caches by a scan of all tables, in place of the popular rows that the
// warm-up left there.
TEST_F(SysbenchTest, AWarmUpIsNotFollowedByACheckOfTheWholeDatabase) {
  std::map<std::string, json> phases = Phases(
      "--engine btree --threads 1 --warmup 0.1 --seconds 0.1 --workload "
      "sysbench-load,oltp-write-only");
  EXPECT_FALSE(phases["oltp-write-only warm-up"]["details"].contains("table_rows"));
  EXPECT_EQ(phases["oltp-write-only"]["details"]["table_rows"], 2000);
}

// A check between two phases would do the same to the second one, so the run ends with it.
TEST_F(SysbenchTest, WhatAnEarlierPhaseWroteIsCheckedAtTheEnd) {
  const std::string words =
      "--engine btree --threads 1 --ram 64M --rows 20000 --account off --quiet --warmup 0 "
      "--operations 1 --dir d ";
  ASSERT_EQ(Run(words + "--workload sysbench-load").code, 0);
  std::fstream file(directory_ / "d/db/btree.data",
                    std::ios::in | std::ios::out | std::ios::binary);
  const auto middle =
      static_cast<std::streamoff>(std::filesystem::file_size(directory_ / "d/db/btree.data") / 2);
  for (std::streamoff at = -100'000; at < 100'000; at += 500) {
    file.seekp(middle + at);
    file.write("destroyed", 9);
  }
  file.close();
  const std::string reuse = words + "--reuse --workload oltp-update-non-index,oltp-point-select";
  const CommandResult unchecked = Run(reuse + " --workload-option check=off");
  ASSERT_EQ(unchecked.code, 0) << unchecked.err << "\nthe single operations read other pages";
  const CommandResult checked = Run(reuse);
  EXPECT_EQ(checked.code, 1);
  EXPECT_NE(checked.err.find("page"), std::string::npos) << checked.err;
}

// A check of the whole database reads it, so none follows the load of an engine without reads.
TEST_F(SysbenchTest, ADatabaseOfWhichNothingCanBeReadIsNotChecked) {
  for (const char* words :
       {"--engine log --workload sysbench-load", "--engine null --workload ib.i0"}) {
    const CommandResult result =
        Run(std::string(words) + " --ram 64M --rows 500 --threads 2 --account off --quiet");
    EXPECT_EQ(result.code, 0) << words << ": " << result.err;
  }
}

// The check at the end fills the engine's cache, which is no memory of the phase before it.
TEST_F(SysbenchTest, TheMemoryOfAPhaseIsThatBeforeTheCheck) {
  if (!HasEngine("rocksdb")) GTEST_SKIP() << "without rocksdb";
  ASSERT_EQ(Run("--engine rocksdb --io direct --ram 200M --cache-pct 40 --rows 60000 --threads 1 "
                "--operations 200 --warmup 0 --account file --quiet --json run.json "
                "--workload sysbench-load,oltp-update-index")
                .code,
            0);
  const json document = Json("run.json");
  for (const json& phase : document["runs"][0]["phases"]) {
    if (phase["name"] != "oltp-update-index") continue;
    if (!phase.contains("memory")) GTEST_SKIP() << "no memory budget here";
    const json& memory = phase["memory"];
    EXPECT_LE(memory["process_other"], memory["held_most"]) << memory;
    return;
  }
  ADD_FAILURE() << "the phase is missing";
}

TEST_F(SysbenchTest, DeletesEndWhenNothingIsLeft) {
  std::map<std::string, json> phases = Phases(
      "--engine btree --threads 3 --seconds 60 --workload-option tables=2 "
      "--workload-option rand_type=uniform --workload sysbench-load,oltp-delete");
  EXPECT_EQ(phases["oltp-delete"]["ended_because"], "no row is left to delete");
  EXPECT_EQ(phases["oltp-delete"]["rows_erased"], 4000);
  EXPECT_EQ(phases["oltp-delete"]["details"]["table_rows"], 0);
  EXPECT_LT(phases["oltp-delete"]["seconds"], 30);
}

// A replay writes values of its own, and deletes rows without recording that.
TEST_F(SysbenchTest, NoWorkloadFollowsAReplayThatWrites) {
  const std::string common = "--engine btree --threads 1 --dir d --workload ";
  Phases(common + "sysbench-load,oltp-delete --operations 20 --record a.trace");
  ExpectRefused(
      Run("--engine btree --rows 2000 --workload sysbench-load,replay:a.trace,oltp-read-only"),
      "oltp-read-only comes after replay");
  Phases(common + "sysbench-load,replay:a.trace --fresh");
  ExpectRefused(Run("--rows 2000 " + common + "oltp-read-only --reuse"), "a replay has written");
  Phases(common + "replay:a.trace --reuse");
}

// The options of the load say what is in the database, and no replay has them.
TEST_F(SysbenchTest, AReplayTakesADatabaseThatWasLoadedWithOptions) {
  const std::string common = "--engine btree --threads 1 --dir d ";
  Phases(common +
         "--workload-option tables=2 --workload sysbench-load,oltp-point-select --operations 20 "
         "--record a.trace");
  const std::map<std::string, json> phases =
      Phases(common + "--workload settle,replay:a.trace --reuse");
  ASSERT_TRUE(phases.contains("replay"));
  EXPECT_EQ(phases.at("replay")["count"], 20);
  Phases(common + "--workload replay:a.trace,oltp-point-select --operations 20 --reuse");
  ExpectRefused(Run("--dir d --reuse --workload replay:a.trace --workload-option tables=2"),
                "tables is not one of");
  const json record = json::parse(Read(directory_ / "d/testbed.json"));
  EXPECT_EQ(record.at("workload_option").at("tables"), "2");
}

TEST_F(SysbenchTest, SkipTrxAndPointSelectsAreThoseOfSysbench) {
  std::map<std::string, json> phases = Phases(
      "--engine btree --threads 2 --operations 100 --workload-option skip_trx=on "
      "--workload-option point_selects=3 --workload-option range_size=5 "
      "--workload sysbench-load,oltp-read-write");
  EXPECT_EQ(phases["oltp-read-write"]["details"]["statements"], 10);
  EXPECT_LE(phases["oltp-read-write"]["rows_read"], 100 * (3 + 4 * 5 + 3));
  ExpectRefused(Run("--engine btree --rows 100 --workload sysbench-load,oltp-insert "
                    "--workload-option rand_type=normal"),
                "rand_type");
}

}  // namespace
}  // namespace testbed

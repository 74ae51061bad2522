// Tests the workloads of sysbench: the statements of a transaction, and that tables and indexes
// hold exactly the rows that the phases say, whatever ran before.
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
  EXPECT_EQ(phases["oltp-read-write"]["details"]["table_rows"], 2000);
  EXPECT_EQ(phases["oltp-update-index"]["rows_written"], 300);
  EXPECT_EQ(phases["oltp-update-non-index"]["rows_written"], 300);
}

TEST_F(SysbenchTest, RowCountsAreExactOnEveryEngine) {
  const std::vector<std::string> order = {"sysbench-load", "oltp-insert", "oltp-delete",
                                          "oltp-read-write"};
  for (const char* engine : {"btree", "rocksdb", "lmdb", "wiredtiger"}) {
    if (!HasEngine(engine)) continue;
    double rows = 0;
    const std::string words = std::string("--engine ") + engine +
                              " --threads 4 --workload-option tables=2 --operations 500 --dir " +
                              engine;
    const auto expect = [&](const json& phase) {
      rows += phase["rows_inserted"].get<double>() - phase["rows_erased"].get<double>();
      EXPECT_EQ(phase["details"]["table_rows"], rows) << engine << ' ' << phase["name"];
    };
    std::map<std::string, json> phases =
        Phases(words + " --workload sysbench-load,oltp-insert,oltp-delete,oltp-read-write");
    for (const std::string& name : order) expect(phases[name]);
    EXPECT_GT(phases["oltp-delete"]["not_found"], 0) << "the middle is deleted more than once";
    if (std::string(engine) == "btree") {
      expect(Phases(words + " --reuse --workload oltp-insert")["oltp-insert"]);
    }
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

TEST_F(SysbenchTest, DeletesEndWhenNothingIsLeft) {
  std::map<std::string, json> phases = Phases(
      "--engine btree --threads 3 --seconds 60 --workload-option tables=2 "
      "--workload-option rand_type=uniform --workload sysbench-load,oltp-delete");
  EXPECT_EQ(phases["oltp-delete"]["ended_because"], "no row is left to delete");
  EXPECT_EQ(phases["oltp-delete"]["rows_erased"], 4000);
  EXPECT_EQ(phases["oltp-delete"]["details"]["table_rows"], 0);
  EXPECT_LT(phases["oltp-delete"]["seconds"], 30);
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

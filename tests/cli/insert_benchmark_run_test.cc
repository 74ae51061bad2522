// Tests the insert benchmark as a user runs it, and that its figures add up.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/cli/command.h"

namespace testbed {
namespace {

using nlohmann::json;

class InsertBenchmarkRunTest : public CommandTest {
 protected:
  // The account leaves out the device, because its readings would wait for the writes of other
  // programs.
  static inline const std::string kSettings =
      " --threads 2 --ram 128M --account file --quiet --verify all --workload-option nr1=20000"
      " --workload-option nr2=5000 --workload-option deletes=1 --workload-option query_seconds=";
};

// Expects that the totals of a step, of all operations and of each kind, and its rows are the sums
// over its seconds.
void ExpectTotalsAreSums(const json& phase) {
  std::map<std::string, uint64_t> sums;
  uint64_t all = 0;
  for (const json& second : phase["series"]) {
    all += second["operations"].get<uint64_t>();
    if (!second.contains("by_operation")) continue;
    for (const json& op : second["by_operation"]) sums[op["name"]] += op["count"].get<uint64_t>();
  }
  EXPECT_EQ(all, phase["count"]) << phase["name"];
  // The seconds of a step with one kind of operation have no figures by kind.
  if (phase["operations"].size() > 1) {
    EXPECT_FALSE(sums.empty()) << phase["name"];
  }
  for (const json& op : phase["operations"]) {
    const std::string name = op["name"];
    if (!sums.empty()) {
      EXPECT_EQ(sums[name], op["count"]) << phase["name"] << " " << name;
    }
    if (name != "insert") continue;
    const json& details = phase["details"];
    EXPECT_EQ(op["count"].get<uint64_t>() * details["rows_per_commit"].get<uint64_t>(),
              details["rows_inserted"]);
  }
  if (phase["details"].contains("queries")) {
    EXPECT_EQ(phase["details"]["queries"], phase["operations"].back()["count"]);
  }
  for (const json& cause : phase["account"]["causes"]) {
    for (const json& op : phase["operations"]) {
      if (op["name"] == cause["name"] && op["name"] != "settle") {
        EXPECT_EQ(op["count"], cause["operations"]) << op["name"];
      }
    }
  }
}

// The check of the step comes at the end of the run, when the indexes are there.
TEST_F(InsertBenchmarkRunTest, IndexesMayBeTheLastThingBeforeASettle) {
  const CommandResult result =
      Run("--engine btree --json run.json --workload ib.i0,ib.x,settle" + kSettings + "1");
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_FALSE(Json("run.json")["runs"].back().contains("error"));
}

TEST_F(InsertBenchmarkRunTest, EveryStepRunsAndItsTotalsAreTheSumsOverItsSeconds) {
  const CommandResult result =
      Run("--engine btree --dir d --json run.json --workload "
          "ib.i0,ib.x,ib.i1,ib.i2,ib.vac,ib.qr100,ib.qp100,ib.qr500,ib.qp500,ib.qr1000,ib.qp1000" +
          kSettings + "1.2");
  ASSERT_EQ(result.code, 0) << result.err;
  const json document = Json("run.json");
  ASSERT_EQ(document["runs"].size(), 1u);
  const json& phases = document["runs"][0]["phases"];
  ASSERT_EQ(phases.size(), 11u);  // there are no settle phases: ib.vac takes their place
  for (const json& phase : phases) {
    if (phase["name"] == "ib.vac") continue;
    ExpectTotalsAreSums(phase);
    const json& m = phase["details"]["metrics"];
    EXPECT_GT(m["ips"], 0) << phase["name"];
    EXPECT_EQ(phase["wrong"], 0);
    if (phase["details"].contains("queries")) {
      EXPECT_GT(m["qps"], 0) << phase["name"];
    }
  }
  EXPECT_EQ(phases[10]["details"]["table_rows"], 20200);
  EXPECT_NE(result.out.find("Insert benchmark"), std::string::npos);
  EXPECT_NE(result.out.find(" thr: delete, per operation"), std::string::npos) << result.out;

  // A later run goes on with the same database.
  const CommandResult later =
      Run("--engine btree --dir d --reuse --json later.json --workload ib.i2,ib.qp1000" +
          kSettings + "0.4");
  ASSERT_EQ(later.code, 0) << later.err;
  EXPECT_EQ(Json("later.json")["runs"][0]["phases"][1]["details"]["table_rows"], 20200);
  ExpectRefused(Run("--engine btree --dir d --reuse --workload ib.i2 --seed 7" + kSettings + "0.4"),
                "seed");
}

// --verify all and the check after each step compare every row and every index entry. The user has
// written the same bytes on every engine, also where the engine maintains the indexes itself, as
// innodb does from ib.x on.
TEST_F(InsertBenchmarkRunTest, EveryEngineKeepsEveryRowOfEveryStep) {
  std::map<std::string, json> user_bytes;  // by step
  // innodb has indexes of its own. The rows of the others without are the workload's affair.
  std::vector<std::string> engines = {"rocksdb", "innodb", "mmapv1", "fractal"};
  if (EveryWay()) {
    for (const char* other : {"wiredtiger", "lmdb", "sqlite", "mdbx", "pebble", "bf-tree"}) {
      engines.emplace_back(other);
    }
  }
  for (const std::string& engine : engines) {
    if (!HasEngine(engine)) continue;
    const CommandResult result =
        Run("--json run.json --workload ib.i0,ib.x,ib.i1,ib.i2,ib.vac,ib.qr100,ib.qp100 " +
            EngineWords(engine) + kSettings + "0.4");
    ASSERT_EQ(result.code, 0) << engine << ": " << result.err;
    const json document = Json("run.json");
    for (const json& phase : document["runs"][0]["phases"]) {
      if (phase["name"] == "ib.vac") continue;
      ExpectTotalsAreSums(phase);
      EXPECT_EQ(phase["wrong"], 0) << engine;
      // ib.x inserts 100 rows per client, as the original does. Later steps delete as many rows as
      // they insert.
      EXPECT_EQ(phase["details"]["table_rows"], phase["name"] == "ib.i0" ? 20000 : 20200)
          << engine << " " << phase["name"];
      if (phase["details"].contains("queries")) continue;  // its inserts end with the time
      const json& bytes = phase["user_bytes_written"];
      EXPECT_EQ(user_bytes.try_emplace(phase["name"], bytes).first->second, bytes)
          << engine << " " << phase["name"];
    }
  }
}

TEST_F(InsertBenchmarkRunTest, WithoutRowsAStepIsRefused) {
  ExpectRefused(Run("--engine btree --workload ib.i1" + kSettings + "0.4"), "ib.i0");
  ExpectRefused(Run("--engine btree --workload ib.i0,ib.i1" + kSettings + "0.4"), "ib.x");
  ExpectRefused(Run("--engine btree --workload ib.i0 --workload-option nr3=1"), "nr3");
  ExpectRefused(Run("--engine btree --workload ib.i0 --workload-option indexes=4"), "indexes=4");
}

TEST_F(InsertBenchmarkRunTest, TwoRunsWithOneSeedHaveTheSameCounts) {
  std::map<std::string, json> first;
  for (const char* file : {"a.json", "b.json"}) {
    ASSERT_EQ(Run("--engine btree --durability none --workload ib.i0,ib.x,ib.i1,ib.i2 --threads 1"
                  " --ram 128M --quiet --workload-option nr1=20000 --workload-option deletes=1 "
                  "--json " +
                  std::string(file))
                  .code,
              0);
    const json phases = Json(file)["runs"][0]["phases"];
    for (const json& phase : phases) {
      json counts = phase["details"];
      counts.erase("metrics");
      counts["user_bytes_written"] = phase["user_bytes_written"];
      // With one client the engine's block requests are equal, too.
      counts["block_requests"] = phase["account"]["engine"]["block_requests"];
      const auto [at, is_new] = first.try_emplace(phase["name"], counts);
      EXPECT_EQ(at->second, counts) << phase["name"];
    }
  }
  EXPECT_EQ(first.size(), 4u);
}

TEST_F(InsertBenchmarkRunTest, RoundsOfConcurrentInsertsArePhases) {
  const CommandResult result = Run(
      "--engine btree --workload concurrent-inserts:3 --threads 4 --rows 8000 --ram 128M --quiet "
      "--json run.json");
  ASSERT_EQ(result.code, 0) << result.err;
  const json phases = Json("run.json")["runs"][0]["phases"];
  ASSERT_EQ(phases.size(), 3u);
  for (int round = 0; round < 3; ++round) {
    const json& phase = phases[static_cast<size_t>(round)];
    ExpectTotalsAreSums(phase);
    EXPECT_EQ(phase["details"]["rows_inserted"], 8000);
    EXPECT_EQ(phase["details"]["table_rows"], 8000 * (round + 1));
    EXPECT_EQ(phase["thread_seconds"].size(), 4u);
    EXPECT_GT(phase["details"]["metrics"]["bytes_per_row"], 0);
  }
  ExpectRefused(Run("--engine btree --workload concurrent-inserts:0"), "concurrent-inserts:0");
}

}  // namespace
}  // namespace testbed

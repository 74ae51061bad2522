// Tests the workloads ycsb-a to ycsb-f: the shares of their operations, the options that they set,
// which of these the command line and the record of a database override, and that each engine
// answers them rightly.
#include <fstream>
#include <map>
#include <string>

#include "tests/cli/command.h"

namespace testbed {
namespace {

using nlohmann::json;

class YcsbTest : public CommandTest {
 protected:
  // Runs a workload and returns its results document.
  json Measured(const std::string& words) {
    const CommandResult result =
        Run("--engine btree --ram 64M --threads 2 --warmup 0 --verify all --account off --quiet "
            "--json run.json " +
            words);
    EXPECT_EQ(result.code, 0) << words << result.err;
    return Json("run.json");
  }
  // Returns the measured phase of the last run that has the name.
  static json PhaseOf(const json& document, const std::string& name) {
    for (const json& phase : document["runs"].back()["phases"]) {
      if (phase["name"] == name && phase["kind"] == "measure") return phase;
    }
    ADD_FAILURE() << "no phase " << name;
    return json::object();
  }
};

TEST_F(YcsbTest, EachHasTheOperationsOfYcsb) {
  constexpr double kOperations = 20000;
  const std::map<std::string, std::map<std::string, double>> published = {
      {"ycsb-a", {{"point-read", 0.5}, {"update", 0.5}}},
      {"ycsb-b", {{"point-read", 0.95}, {"update", 0.05}}},
      {"ycsb-c", {{"point-read", 1}}},
      {"ycsb-d", {{"point-read", 0.95}, {"insert", 0.05}}},
      {"ycsb-e", {{"scan", 0.95}, {"insert", 0.05}}},
      {"ycsb-f", {{"point-read", 0.5}, {"read-modify-write", 0.5}}}};
  for (const auto& [name, shares] : published) {
    const json document = Measured("--rows 5000 --workload insert," + name + " --operations 20000");
    const json& options = document["options"];
    EXPECT_EQ(options["distribution"], name == "ycsb-d" ? "latest" : "scrambled") << name;
    EXPECT_EQ(options["value_size"], 1000);
    EXPECT_EQ(options["key_order"], "random")
        << "YCSB hashes the numbers of rows that come later, too";
    json phase;
    for (const json& each : document["runs"].back()["phases"]) {
      if (each["name"] == name) phase = each;
    }
    ASSERT_EQ(phase["kind"], "measure") << name;
    EXPECT_EQ(phase["wrong"], 0) << name;
    EXPECT_EQ(phase["not_found"], 0) << name;
    std::map<std::string, double> done;
    for (const json& operation : phase["operations"]) {
      done[operation["name"]] = operation["count"].get<double>() / kOperations;
    }
    for (const auto& [operation, share] : shares) {
      EXPECT_NEAR(done[operation], share, 0.01) << name << ' ' << operation;
      done.erase(operation);
    }
    for (const auto& [operation, share] : done) EXPECT_EQ(share, 0) << name << ' ' << operation;
    if (name != "ycsb-e") continue;
    const double rows = phase["rows_read"].get<double>() / (kOperations * 0.95);
    EXPECT_NEAR(rows, 50.5, 2) << "a scan takes 1 to 100 rows, but for those at the end";
  }
}

// The mean of a zipfian number from 1 to 100, as YCSB draws it, is 18.9.
TEST_F(YcsbTest, ScansMayHaveAZipfianLength) {
  const json document = Measured(
      "--rows 5000 --workload insert,ycsb-e --operations 10000 --workload-option "
      "scan_length=zipfian");
  for (const json& phase : document["runs"].back()["phases"]) {
    if (phase["name"] != "ycsb-e") continue;
    EXPECT_EQ(phase["wrong"], 0);
    for (const json& operation : phase["operations"]) {
      if (operation["name"] != "scan") continue;
      const double rows = phase["rows_read"].get<double>() / operation["count"].get<double>();
      EXPECT_NEAR(rows, 18.9, 1.2) << "a scan takes 1 to 100 rows, but for those at the end";
      return;
    }
  }
  FAIL() << "no scans";
}

TEST_F(YcsbTest, TheCommandLineAndTheRecordComeFirst) {
  json options = Measured(
      "--rows 1000 --dir d --workload insert --value-size 300 --key-order sequential")["options"];
  EXPECT_EQ(options["distribution"], "uniform");
  options = Measured("--dir d --reuse --workload ycsb-a --operations 100")["options"];
  EXPECT_EQ(options["value_size"], 300);
  EXPECT_EQ(options["key_order"], "sequential");
  EXPECT_EQ(options["distribution"], "scrambled");
  options = Measured(
      "--rows 1000 --workload insert,ycsb-b --operations 100 --distribution uniform "
      "--value-size 200")["options"];
  EXPECT_EQ(options["value_size"], 200);
  EXPECT_EQ(options["distribution"], "uniform");
  EXPECT_EQ(options["key_size"], 23);
}

TEST_F(YcsbTest, ValuesMayHaveFields) {
  json document = Measured(
      "--rows 1000 --dir d --value-size 10x100 --workload ycsb-load,ycsb-a "
      "--operations 2000");
  EXPECT_EQ(document["options"]["value_size"], 1000);
  EXPECT_EQ(document["options"]["fields"], 10);
  const json phase = PhaseOf(document, "ycsb-a");
  EXPECT_EQ(phase["wrong"], 0);
  EXPECT_EQ(phase["rows_read"], 2000) << "an update of a field reads its row";
  EXPECT_LT(phase["rows_written"], 1200);
  document = Measured("--dir d --reuse --workload ycsb-f --operations 500");
  EXPECT_EQ(document["options"]["fields"], 10) << "by the record";
  EXPECT_EQ(PhaseOf(document, "ycsb-f")["wrong"], 0);
  ExpectRefused(Run("--dir d --reuse --workload ycsb-c --value-size 1000"),
                "--value-size \"10x100\"");
}

TEST_F(YcsbTest, WorkloadsThatStandForDifferentValuesAreRefusedTogether) {
  const std::string words = "--engine btree --ram 64M --rows 1000 --workload insert,ycsb-a,ycsb-d";
  ExpectRefused(Run(words), "--workload ycsb-a stands for --distribution scrambled, and ycsb-d");
  ExpectRefused(Run("--engine btree --workload insert,ycsb-a --mix update=1"), "--mix belongs to");
}

TEST_F(YcsbTest, AnExperimentLoadsWhatItsCellsRead) {
  std::ofstream(directory_ / "y.toml") << R"toml(
name = "y"
title = "Two workloads on shared loads"
[options]
engine = "btree"
rows = 600
ram = "64M"
operations = 50
threads = 1
[scale.tiny]
options = { seed = 9 }
[[axis]]
name = "work"
values = [
  { label = "c", workload = "insert,ycsb-c" },
  { label = "f", workload = "insert,ycsb-f" },
]
[metrics]
qps = "measured.rate"
)toml";
  const CommandResult result = Run("experiment y.toml --scale tiny --out out --quiet");
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

class YcsbEngineTest : public CommandTest, public testing::WithParamInterface<std::string> {
 protected:
  static constexpr int64_t kRows = 1000, kOperations = 400;

  void SetUp() override {
    CommandTest::SetUp();
    if (!HasEngine(GetParam())) GTEST_SKIP() << GetParam() << " is not here";
    CopyClusters();
  }
  // Performs workloads on the database, `phases` of which are measured, and expects that each
  // answer is right. Returns by how many rows the database has grown.
  int64_t Perform(int phases, const std::string& words) {
    // A server takes memory for itself.
    const char* const ram = FindEngine(GetParam()).capabilities.server ? "192M" : "128M";
    const CommandResult result = Run(
        "--engine " + GetParam() + " --durability none --dir d --rows " + std::to_string(kRows) +
        " --value-size 4x50 --threads 2 --warmup 0 --operations " + std::to_string(kOperations) +
        " --verify all --account off --quiet --json run.json --ram " + ram + " " + words);
    EXPECT_EQ(result.code, 0) << words << result.err;
    int64_t grown = 0;
    const json document = Json("run.json");
    for (const json& run : document["runs"]) {
      for (const json& phase : run["phases"]) {
        if (phase["kind"] != "measure") continue;
        --phases;
        const std::string name = phase["name"];
        EXPECT_EQ(phase["count"], kOperations) << name;
        EXPECT_EQ(phase["verified"], kOperations) << name;
        EXPECT_EQ(phase["wrong"], 0) << name;
        EXPECT_EQ(phase["not_found"], 0) << name;
        grown += phase.value("rows_inserted", int64_t{0}) - phase.value("rows_erased", int64_t{0});
      }
    }
    EXPECT_EQ(phases, 0) << words;
    return grown;
  }
};

// Once, tests asked one engine alone for the scans, the latest rows and the fields of YCSB.
TEST_P(YcsbEngineTest, GivesTheRightAnswersAndHasTheRowsThatAreTold) {
  int64_t rows = kRows;
  rows += Perform(6, "--workload ycsb-load,ycsb-a,ycsb-b,ycsb-c,ycsb-e,ycsb-f,multi-get");
  EXPECT_GT(rows, kRows);
  const int64_t latest = Perform(1, "--reuse --workload ycsb-d");
  EXPECT_GT(latest, 0);
  rows += latest;
  // Without what the record says of the rows, the next run counts them.
  json record = Json("d/testbed.json");
  record.erase("population");
  std::ofstream(directory_ / "d/testbed.json") << record;
  Perform(1, "--reuse --workload ycsb-c");
  const json counted = Json("run.json")["runs"][0]["phases"][0];
  ASSERT_EQ(counted["name"], "count-rows");
  EXPECT_EQ(counted["rows"], rows);
}

INSTANTIATE_TEST_SUITE_P(Engines, YcsbEngineTest, testing::Values("fractal", "rocksdb"),
                         [](const auto& engine) { return EngineTestName(engine.param); });
INSTANTIATE_TEST_SUITE_P(EveryWay, YcsbEngineTest,
                         testing::Values("btree", "wiredtiger", "lmdb", "innodb", "sqlite", "mdbx",
                                         "mmapv1", "pebble", "bf-tree", "mysql", "postgres"),
                         [](const auto& engine) { return EngineTestName(engine.param); });

}  // namespace
}  // namespace testbed

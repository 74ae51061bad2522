// Tests the workloads ycsb-a to ycsb-f: the shares of their operations, the options that they set,
// and which of these the command line and the record of a database override.
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

}  // namespace
}  // namespace testbed

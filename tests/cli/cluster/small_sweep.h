// A small experiment for tests of many hosts, whose counts follow from the seed alone, and a
// fixture that compares the counts of two results directories.
#ifndef TESTBED_TESTS_CLI_CLUSTER_SMALL_SWEEP_H_
#define TESTBED_TESTS_CLI_CLUSTER_SMALL_SWEEP_H_

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "tests/cli/started_command.h"

namespace testbed {

// Returns an experiment of two cells a round. The reads of each take `seconds` on every machine,
// because they have a rate.
inline std::string SweepText(double seconds, int rounds) {
  return R"toml(
name = "sweep"
title = "Two page sizes"
[options]
engine = "btree"
workload = "insert, point-read @ 500"
rows = 10000
rows-per-transaction = 100
value-size = 400
ram = "64M"
cache-size = "2M"
io = "direct"
key-order = "permuted"
account = "file"
warmup = 0
threads = 1
operations = )toml" +
         std::to_string(static_cast<int>(500 * seconds)) + R"toml(
[scale.small]
rounds = )toml" +
         std::to_string(rounds) + R"toml(
[[axis]]
name = "page-size"
values = ["4k", "16k"]
[metrics]
rate = "point_read.rate"
[[table]]
title = "Rates"
rows = ["page-size"]
metrics = ["rate"]
)toml";
}

class SweepTest : public StartedCommandTest {
 protected:
  void WriteSweep(double seconds, int rounds = 4) {
    std::ofstream(directory_ / "sweep.toml") << SweepText(seconds, rounds);
  }

  // Returns the documents of the finished cells by the names of their files.
  std::map<std::string, nlohmann::json> Cells(const std::string& out) {
    std::map<std::string, nlohmann::json> cells;
    if (!std::filesystem::exists(directory_ / out / "cells")) return cells;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ / out / "cells")) {
      const std::string name = entry.path().filename();
      if (name.ends_with(".json")) cells[name] = Json(out + "/cells/" + name);
    }
    return cells;
  }

  // Returns what each cell has counted: operations, rows, and blocks in the engine and at its
  // files.
  std::map<std::string, nlohmann::json> Counts(const std::string& out) {
    std::map<std::string, nlohmann::json> counts;
    for (const auto& [name, document] : Cells(out)) {
      nlohmann::json& of_cell = counts[name];
      for (const nlohmann::json& phase : document["runs"][0]["phases"]) {
        nlohmann::json of_phase = {{"name", phase["name"]},
                                   {"engine", phase["account"]["engine"]["block_requests"]},
                                   {"misses", phase["account"]["engine"]["block_reads"]}};
        for (const char* figure : {"count", "rows_read", "not_found", "wrong"}) {
          of_phase[figure] = phase.value(figure, nlohmann::json());
        }
        for (const nlohmann::json& cause : phase["account"]["causes"]) {
          if (cause["name"] == "point-read") of_phase["file"] = cause["file"];
        }
        of_cell.push_back(of_phase);
      }
    }
    return counts;
  }

  // Returns the hosts that measured each block.
  std::map<std::string, std::set<std::string>> HostsOfBlocks(const std::string& out) {
    std::map<std::string, std::set<std::string>> hosts;
    for (const auto& [name, document] : Cells(out)) {
      hosts[document["cell"]["block"]].insert(document["cell"]["host"].get<std::string>());
    }
    return hosts;
  }

  size_t FilesIn(const std::string& folder) const {
    const std::filesystem::path path = directory_ / folder;
    if (!std::filesystem::exists(path)) return 0;
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(path),
                                             std::filesystem::directory_iterator()));
  }
};

}  // namespace testbed

#endif  // TESTBED_TESTS_CLI_CLUSTER_SMALL_SWEEP_H_

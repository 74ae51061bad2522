// Results of the small experiment, as runs write them, that tests of what is read from them share.
#ifndef TESTBED_TESTS_UNIT_TOOLS_EXPERIMENT_SMALL_RESULTS_H_
#define TESTBED_TESTS_UNIT_TOOLS_EXPERIMENT_SMALL_RESULTS_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/unit/tools/experiment/small_experiment.h"
#include "tools/experiment/plan/plan.h"
#include "tools/experiment/results.h"

namespace testbed {

// Returns a directory that differs in each process, because ctest runs tests at the same time.
inline std::string ResultsDirectory() {
  return testing::TempDir() + "experiment_results_" + std::to_string(::getpid());
}

// Results documents as a run writes them, with the figures that the small experiment uses.
class ResultsTest : public testing::Test {
 protected:
  ResultsTest() : directory_(ResultsDirectory()), dir_(directory_) {
    std::filesystem::remove_all(directory_);
    dir_.Create(Small(), {"full", {}, {}, {}});
    cells_ = PlanCells(Small(), {"full", {}, {}, {}});
  }
  ~ResultsTest() override { std::filesystem::remove_all(directory_); }

  static nlohmann::json Run(double rate) {
    return {{"accounting", {{"grade", "A"}}},
            {"threads", 1},
            {"phases",
             {{{"name", "point-read"},
               {"kind", "measure"},
               {"operations",
                {{{"name", "a"}, {"count", 3000}, {"latency_us", {{"p99", 99}}}},
                 {{"name", "b"}, {"count", 97000}, {"latency_us", {{"p99", 12}}}}}},
               {"rate", rate},
               {"count", 100},
               {"series", {{{"operations", 5}}}},
               {"thread_seconds", {1.0, 3.0}},
               {"account", {{"device", {{"reads", 50}}}}}},
              {{"name", "settle"}, {"seconds", 1}},
              {{"name", "settle"}, {"seconds", 2}}}}};
  }
  // Writes the results of a cell, with one run for each of the rates.
  void Write(size_t cell, std::vector<double> rates,
             nlohmann::json not_in_force = nlohmann::json::array()) {
    nlohmann::json document = {{"runs", nlohmann::json::array()},
                               {"options", {{"page_size", 4096}}},
                               {"not_in_force", not_in_force}};
    for (double rate : rates) document["runs"].push_back(Run(rate));
    dir_.WriteCell(cells_[cell], document);
  }
  // Writes the results of a cell in several rounds, with one rate for each round.
  void WriteRounds(size_t cell, std::vector<double> rates) {
    for (size_t round = 0; round < rates.size(); ++round) {
      Write(cell + round * cells_.size() / static_cast<size_t>(rounds_), {rates[round]});
    }
  }
  void PlanRounds(int rounds) {
    rounds_ = rounds;
    PlanOptions options;
    options.scale = "full";
    options.rounds = rounds;
    dir_.Create(Small(), options);
    cells_ = PlanCells(Small(), options);
    // Cells are named by their number in the first round here.
    const std::vector<Cell> planned = cells_;
    const size_t n = cells_.size() / static_cast<size_t>(rounds);
    for (size_t i = n; i < cells_.size(); ++i) {
      const size_t begin = i / n * n;
      cells_[i] = *std::find_if(planned.begin() + static_cast<ptrdiff_t>(begin), planned.end(),
                                [&](const Cell& c) { return c.name == planned[i - begin].name; });
    }
  }
  ResultSet Results() const { return ResultSet(Small(), cells_, dir_); }

  const std::string directory_;
  ResultsDir dir_;
  std::vector<Cell> cells_;
  int rounds_ = 1;
};

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_TOOLS_EXPERIMENT_SMALL_RESULTS_H_

// The values of a results document (docs/results.md) as samples: a cell is a phase, a kind of
// operation and a number of clients, measured in one or more loads, each in one or more runs.
// Thread-safe.
#ifndef TESTBED_TOOLS_STATISTICS_DOCUMENT_CELLS_H_
#define TESTBED_TOOLS_STATISTICS_DOCUMENT_CELLS_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/statistics/comparison.h"

namespace testbed {

struct DocumentCell {
  std::string name;       // "point-read, 8 thr", "mixed update, 1 thr"
  std::string operation;  // "update"; "" when the cell is all operations of its phase
  // The samples by the name of their metric (metrics.h): one for each run. Their side is kA.
  std::map<std::string, std::vector<Sample>> samples;
  // The operations that tell the latencies from the actual start, and those that tell the ones from
  // the intended start (ToldOperations of tools/report/figures.h), in the run that had fewest.
  double least_actual = 0, least_intended = 0;
  std::map<int, nlohmann::json> seeds;  // by load; null when a run does not tell its seed

  // Returns how many operations tell the latency that is the metric, in the run that had fewest.
  double LeastOperations(const std::string& metric) const {
    return metric.starts_with("intended_") ? least_intended : least_actual;
  }
};

// Returns the cells in the order of the document. Warm-ups, trials, settle steps and phases that
// did not come to their end are left out, but the write amplification of a phase has what the
// device wrote in the settles right behind it. Throws nlohmann::json::exception when the document
// is damaged.
std::vector<DocumentCell> CellsOf(const nlohmann::json& document);

// Returns the number of the load that each run of the document used. Documents of older versions,
// in which runs have no "load", are read as they were made: each run that loaded and measured is a
// load, and a run without a load of its own shares the last one before it.
std::vector<int> LoadsOfRuns(const nlohmann::json& document);

// Pairs the loads of both cells that have the same seed, and so the same rows and operations. The
// key is the number of the second cell's load, the value that of the first cell's. Loads whose runs
// do not tell a seed are left out, as are those of a seed that several loads of a cell have.
std::map<int, int> LoadsOfSameSeeds(const DocumentCell& first, const DocumentCell& second);

// A metric that cannot be compared in some of the cells that two lists have in common.
struct LackedMetric {
  std::string metric;
  // The number of common cells in which only the first list, and only the second list, has the
  // metric. Both are 0 for a metric that no common cell has in either list.
  size_t in_first = 0, in_second = 0;
  size_t in_both = 0;
};
// Returns those of the metrics that a list lacks in some common cell where the other one has them,
// and those that no common cell has, in the order of `metrics`.
std::vector<LackedMetric> LackedMetrics(const std::vector<DocumentCell>& first,
                                        const std::vector<DocumentCell>& second,
                                        const std::vector<std::string>& metrics);

// Returns the names of the common cells in which only one of the lists has the metric. The metric
// may be one of a single kind of operation (metrics.h).
std::vector<std::string> CellsWithMetricOfOne(const std::vector<DocumentCell>& first,
                                              const std::vector<DocumentCell>& second,
                                              const std::string& metric);

// Returns the names of the phases in which some run got wrong answers.
std::vector<std::string> PhasesWithWrongAnswers(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_STATISTICS_DOCUMENT_CELLS_H_

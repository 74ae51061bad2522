// Finds the results documents that the arguments of `testbed results add` stand for: files,
// directories, and the results of experiments with their metrics.
//
//   for (const ResultsSource& source : FindSources({"run.json", "testbed-read-size-tiny"})) {
//     const nlohmann::json document = source.Document();
//     store.Add({document, source.path, source.experiment, source.scale, source.metrics});
//   }
//
// Thread-safe, but for standard input.
#ifndef TESTBED_TOOLS_RESULTS_SOURCES_H_
#define TESTBED_TOOLS_RESULTS_SOURCES_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/results/store.h"

namespace testbed {

struct ResultsSource {
  std::string path;               // "-" is standard input
  std::string experiment, scale;  // empty unless the document is of an experiment
  std::vector<CellMetric> metrics = {};
  std::string directory = {};  // the directory of files that the user gave; else empty
  std::shared_ptr<const nlohmann::json> kept = {};  // the document, when memory has room for it

  // Returns the document; reads the file again unless it was kept. Throws Error (kUsage).
  nlohmann::json Document() const;
};

// Returns the results that the paths stand for: a results file is itself; the directory of an
// experiment's results stands for its finished cells, the failed runs of the others, and the loads
// that cells share; another directory for each results file in it. Each document has been read once
// and is a whole results document, unless the user asked to stop meanwhile: then those that were
// read are returned. Comparisons of `testbed ab` in such another directory have no rows of runs;
// `left_out`, if not null, gets their paths, for LeftOutText. Throws Error (kUsage) when a path
// stands for no results file, or for a file that is not a whole results document; the message names
// the first such path. `progress`, if given, is called with the number of documents read so far and
// the number of all.
std::vector<ResultsSource> FindSources(
    const std::vector<std::string>& paths, std::vector<std::string>* left_out = nullptr,
    const std::function<void(size_t done, size_t all)>& progress = {});

// Returns the line that says which comparisons FindSources left out; empty when there are none.
std::string LeftOutText(const std::vector<std::string>& left_out);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RESULTS_SOURCES_H_

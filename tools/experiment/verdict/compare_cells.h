// Compares the results of two experiments or sweeps (results_dir.h) cell by cell, by the statistics
// of tools/report/compare.h.
//
//   const CellComparison comparison =
//       CompareDirectories("before", "after", {.ignored = {"engine"}}, {.metrics = {"rate"}});
//   fmt::print("{}", ComparisonText(comparison));
//
// Cells of equal labels are matched, in whatever order the axes stand. Of the cells that are left
// then, those are matched that differ only in axes that the user ignores: engine=rocksdb@7.8.3 with
// engine=rocksdb@10.4.2. Each round of a cell is a load, and what repeats within it is its runs.
// Loads that cells share are compared once, with the first of these cells.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_COMPARE_CELLS_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_COMPARE_CELLS_H_

#include <string>
#include <vector>

#include "tools/report/compare.h"

namespace testbed {

struct CellMatching {
  std::vector<std::string> ignored;  // axes in which matched cells may differ
};

// Compares the results in the directory `second` with those in `first`. Throws Error (kUsage) when
// one of them holds no finished cell of an experiment of this version, or what is no results
// document; when no cell matches, or one matches several; when an ignored axis is none of theirs;
// and when matched cells cannot be compared (WhyNotComparable). Throws Stopped when the user asks
// to stop before all results are read.
CellComparison CompareDirectories(const std::string& first, const std::string& second,
                                  const CellMatching& matching, const CompareSettings& settings);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_COMPARE_CELLS_H_

// What an experiment has measured, in a directory:
//
//   experiment.json    the experiment's text, its scale and settings
//   cells/NAME.json    the results document of each finished cell (docs/results.md) with "cell"
//   added loads/KEY.json     the results document of each load that cells share
//
// A file is there when its cell is finished, and whole: that is what resuming goes by.
#ifndef TESTBED_TOOLS_EXPERIMENT_RESULTS_H_
#define TESTBED_TOOLS_EXPERIMENT_RESULTS_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device/dir_lock.h"
#include "tools/experiment/experiment.h"
#include "tools/experiment/expression.h"
#include "tools/experiment/plan.h"

namespace testbed {

class ResultsDir {
 public:
  explicit ResultsDir(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }
  bool Exists() const;
  // Makes the directory and its experiment.json, and keeps other processes from running it; throws
  // Error (kUsage) when it holds another experiment, other settings, or something that is none.
  void Create(const Experiment& experiment, const PlanOptions& options);
  nlohmann::json ReadHeader() const;

  bool HasCell(const Cell& cell) const;
  bool HasLoad(const std::string& key) const;
  void WriteCell(const Cell& cell, nlohmann::json document) const;
  void WriteLoad(const std::string& key, const nlohmann::json& document) const;
  // Null when it is not there.
  nlohmann::json ReadCell(const Cell& cell) const;
  nlohmann::json ReadLoad(const std::string& key) const;

 private:
  std::string CellFile(const Cell& cell) const;
  std::string LoadFile(const std::string& key) const;
  const std::string path_;
  DirLock lock_;  // since Create
};

// Every number of a run, named by its path: see expression.h. Phases of one name get _2, _3, ...;
// a list of numbers becomes .count, .min, .max and .sum; what has a "name" goes by it.
Figures FiguresOf(const nlohmann::json& document, const nlohmann::json& run);

// The finished cells of an experiment and their metrics.
class ResultSet {
 public:
  ResultSet(Experiment experiment, std::vector<Cell> cells, const ResultsDir& dir);
  // Reads the experiment and its settings from the directory too.
  static ResultSet Read(const std::string& path);

  const Experiment& experiment() const { return experiment_; }
  const std::string& scale() const { return scale_; }
  const std::vector<Cell>& cells() const { return cells_; }
  bool finished(size_t cell) const { return !runs_[cell].empty(); }
  size_t finished_cells() const;
  // Sentences of cells that failed.
  const std::vector<std::string>& failures() const { return failures_; }
  // One value a repeat; empty for a cell that is not finished. NaN where it is not known.
  std::vector<double> Values(size_t cell, const Metric& metric) const;
  double Mean(size_t cell, const std::string& metric) const;  // over the repeats; NaN: not known
  // The finished cells that match, each alone; the condition "mean" names axes over whose values
  // the mean is taken: then the cells that differ in those alone stand together.
  Statement::Groups Select(const Where& where) const;
  // The accuracy grades of the finished cells, and the sum of what their accounts do not explain.
  std::map<std::string, int> Grades() const;

 private:
  Experiment experiment_;
  std::string scale_;
  std::vector<Cell> cells_;
  std::vector<std::vector<Figures>> runs_;  // by cell, then by repeat
  std::vector<std::string> grades_, failures_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_RESULTS_H_

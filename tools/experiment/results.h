// The measurements of an experiment: the metrics of its cells, one value per round.
#ifndef TESTBED_TOOLS_EXPERIMENT_RESULTS_H_
#define TESTBED_TOOLS_EXPERIMENT_RESULTS_H_

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/experiment/experiment.h"
#include "tools/experiment/expression.h"
#include "tools/experiment/plan.h"
#include "tools/experiment/results_dir.h"

namespace testbed {

// Returns every number of a run, named by its path (expression.h). Phases with the same name get
// _2, _3, ...; a list of numbers becomes .count, .min, .max and .sum; an object with a "name"
// appears under it. The last measured phase also appears as "measured", and its most frequent
// operation as "measured.operation". "held.bytes" is the memory that the run held of --ram
// (docs/results.md, "held_mean"): the largest of its measured phases or, when nothing was measured,
// of its loads. "held.full" is 1 when such a phase held all of --ram at some moment, and 0 when
// part of --ram stayed unused throughout.
Figures FiguresOf(const nlohmann::json& document, const nlohmann::json& run);

// Where and when the cells ran; differing values are all listed.
struct Circumstances {
  std::set<std::string> machines, devices, versions;
  std::string set;           // "--set seconds=5 --set threads=2"; empty: none
  size_t foreign_known = 0;  // runs whose foreign_cpu_share is known, loads included
  size_t foreign_runs = 0;   // runs in which other programs took a notable share
  double foreign_most = 0;   // the largest share of any run
  std::string first, last;   // UTC, 2026-11-23T05:01:24Z; start of the first and last cell
};

// Returns "other programs used 5 % or more of the processors in 1 of 12 runs, 43 % at most", or ""
// when no run's share is known.
std::string ForeignCpuText(const Circumstances& circumstances);

// The finished cells of an experiment and their metrics. Not thread-safe.
class ResultSet {
 public:
  // `cells` are the cells of all rounds, as PlanCells returns them. In a ResultSet each cell counts
  // once and has a value for each round.
  ResultSet(Experiment experiment, const std::vector<Cell>& cells, const ResultsDir& dir);
  // Reads a result set; the experiment and its settings come from the directory too. Throws Error
  // (kUsage) when the directory holds no experiment.
  static ResultSet Read(const std::string& path);

  const Experiment& experiment() const { return experiment_; }
  const std::string& scale() const { return scale_; }
  int rounds() const { return rounds_; }  // planned rounds
  const std::vector<Cell>& cells() const { return cells_; }
  bool finished(size_t cell, int round) const {
    return !runs_[cell][static_cast<size_t>(round) - 1].empty();
  }
  bool finished(size_t cell) const;  // in every round
  bool measured(size_t cell) const;  // in at least one round
  size_t finished_runs() const;      // number of finished pairs of cell and round
  // Returns the number of pairs of cell and round that can run.
  size_t planned_runs() const;
  // Returns a sentence for each cell that failed.
  const std::vector<std::string>& failures() const { return failures_; }
  // Returns which settings of the cell were refused, and why; "" when all were in force.
  const std::string& not_in_force(size_t cell) const { return not_in_force_[cell]; }
  // Returns one value for each finished round, the mean over its repeats. NaN means unknown.
  const std::vector<double>& Values(size_t cell, const std::string& metric) const;
  // Returns one value for each repeat of each round.
  std::vector<double> RepeatValues(size_t cell, const std::string& metric) const;
  double Mean(size_t cell, const std::string& metric) const;  // over the rounds
  // Returns the mean of a figure of FiguresOf over all finished runs of a cell; NaN when it is
  // unknown.
  double Figure(size_t cell, const std::string& name) const;
  // Returns the measured cells that match, each in its own group. The condition "mean" names axes
  // over which the mean is taken: cells that differ only in these axes form one group.
  Statement::Groups Select(const Where& where) const;
  // Returns the number of finished runs by accuracy grade.
  std::map<std::string, int> Grades() const;
  const Circumstances& circumstances() const { return circumstances_; }

 private:
  void Read(size_t cell, const Cell& of_round, const ResultsDir& dir);
  void NoteSurroundings(size_t cell, const nlohmann::json& document);
  void NoteForeignCpu(std::optional<double> of_load, std::optional<double> of_run);

  Experiment experiment_;
  std::string scale_;
  int rounds_ = 1;
  std::vector<Cell> cells_;
  std::vector<std::vector<std::vector<Figures>>> runs_;  // by cell, round and repeat
  std::vector<std::string> not_in_force_;                // by cell
  std::vector<std::string> grades_, failures_;
  Circumstances circumstances_;
  mutable std::map<std::pair<size_t, std::string>, std::vector<double>> values_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_RESULTS_H_

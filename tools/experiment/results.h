// What an experiment has measured: the metrics of its cells, one value a round.
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

// Every number of a run, named by its path: see expression.h. Phases of one name get _2, _3, ...;
// a list of numbers becomes .count, .min, .max and .sum; what has a "name" goes by it. The last
// measured phase is "measured" too, and the operation done most often in it "measured.operation".
// "held.bytes" is what the run held of --ram (docs/results.md, "held_mean") in the measured phase
// that held most, or in the load that did when nothing else was measured; "held.full" is 1 when such a
// phase held all of --ram at a moment, and 0 when it left some of it unused throughout.
Figures FiguresOf(const nlohmann::json& document, const nlohmann::json& run);

// Where and when the cells ran: what differs between them is listed.
struct Circumstances {
  std::set<std::string> machines, devices, versions;
  std::string set;           // "--set seconds=5 --set threads=2"; empty: none
  size_t foreign_known = 0;  // runs of which foreign_cpu_share is known, their loads included
  size_t foreign_runs = 0;   // of them, those in which other programs took a notable share
  double foreign_most = 0;   // the largest share of all
  std::string first, last;   // UTC, 2026-11-23T05:01:24Z; when the first and the last cell began
};

// "other programs used 5 % or more of the processors in 1 of 12 runs, 43 % at most"; empty when no
// run knows it.
std::string ForeignCpuText(const Circumstances& circumstances);

// The finished cells of an experiment and their metrics. Not thread-safe.
class ResultSet {
 public:
  // `cells`: those of all rounds, as PlanCells has them. Here each counts once, with a value for
  // each round.
  ResultSet(Experiment experiment, const std::vector<Cell>& cells, const ResultsDir& dir);
  // Reads the experiment and its settings from the directory too.
  static ResultSet Read(const std::string& path);

  const Experiment& experiment() const { return experiment_; }
  const std::string& scale() const { return scale_; }
  int rounds() const { return rounds_; }  // planned
  const std::vector<Cell>& cells() const { return cells_; }
  bool finished(size_t cell, int round) const {
    return !runs_[cell][static_cast<size_t>(round) - 1].empty();
  }
  bool finished(size_t cell) const;  // in every round
  bool measured(size_t cell) const;  // in one round at least
  size_t finished_runs() const;      // cells times rounds
  size_t planned_runs() const;
  // Sentences of cells that failed.
  const std::vector<std::string>& failures() const { return failures_; }
  // Which settings of the cell were refused, and why; empty when all were in force.
  const std::string& not_in_force(size_t cell) const { return not_in_force_[cell]; }
  // One value for each round that is finished, the mean over its repeats. NaN: not known.
  const std::vector<double>& Values(size_t cell, const std::string& metric) const;
  // One for each repeat of each round.
  std::vector<double> RepeatValues(size_t cell, const std::string& metric) const;
  double Mean(size_t cell, const std::string& metric) const;  // over the rounds
  // The mean of a figure of FiguresOf over all finished runs of a cell; NaN: not known.
  double Figure(size_t cell, const std::string& name) const;
  // The measured cells that match, each alone; the condition "mean" names axes over whose values
  // the mean is taken: then the cells that differ in those alone stand together.
  Statement::Groups Select(const Where& where) const;
  // The accuracy grades of the finished cells.
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

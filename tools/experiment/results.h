// The results of an experiment: the metrics of its cells, with a value for each round.
#ifndef TESTBED_TOOLS_EXPERIMENT_RESULTS_H_
#define TESTBED_TOOLS_EXPERIMENT_RESULTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tools/experiment/experiment.h"
#include "tools/experiment/expression.h"
#include "tools/experiment/plan/plan.h"
#include "tools/experiment/results_dir.h"

namespace testbed {

// Returns those of the cells that match and that `takes` accepts, each in a group of its own. The
// condition "mean" names axes over whose values the mean is taken; cells that differ only in these
// axes form a group.
Statement::Groups MatchingGroups(const std::vector<Cell>& cells, const Where& where,
                                 const std::function<bool(size_t)>& takes);

// The place and time of the runs. Where runs differ, all values are listed.
struct Circumstances {
  std::set<std::string> machines, devices, versions, builds;
  std::string set;            // "--set seconds=5 --set threads=2"; empty without --set
  size_t foreign_known = 0;   // runs whose foreign_cpu_share is known, their own or their load's
  size_t foreign_runs = 0;    // runs of these in which other programs took a notable share
  double foreign_most = 0;    // the largest share of all
  bool given_server = false;  // whether a run was of a server of --connect
  std::string first, last;    // start of the first and of the last cell, UTC, 2026-11-23T05:01:24Z
  // Engines with their versions, "rocksdb 7.8.3": all, and those whose libraries have assertions.
  std::set<std::string> engines, with_assertions;
  // All, by the cells' options that choose a version (--engine, --server) and the engine's name.
  std::map<std::pair<std::string, std::string>, std::set<std::string>> versions_of;
};

// Returns a text such as "other programs used 5 % or more of the processors, in user mode, in 1 of
// 12 runs, 43 % at most"; an empty string when no run's share is known.
std::string ForeignCpuText(const Circumstances& circumstances);

// An experiment as a results directory has it: its cells are those that were asked for (--only), in
// the order that `options` asks for; with `of_scale` also the scale's others.
struct KeptExperiment {
  Experiment experiment;
  PlanOptions options;
  std::vector<Cell> cells;
};
// Throws Error (kUsage) when the directory holds no results of this version.
KeptExperiment ReadKept(const ResultsDir& dir, const PlanOptions& options, bool of_scale);

// The finished cells of an experiment and their metrics. Not thread-safe.
class ResultSet {
 public:
  // Reads the results of `cells` from `dir`. `cells` are those of all rounds, as PlanCells returns
  // them; in the set each cell counts once, with a value for each round. Throws Error (kUsage) when
  // a result is damaged, or when the runs of a cell had different numbers of threads.
  ResultSet(Experiment experiment, const std::vector<Cell>& cells, const ResultsDir& dir);
  // Reads an experiment, its settings and its results from a directory. Throws Error (kUsage) when
  // the directory holds no results of this version.
  static ResultSet Read(const std::string& path);

  const Experiment& experiment() const { return experiment_; }
  const std::string& scale() const { return scale_; }
  // Returns whether the results are of a sweep, which is planned at a scale that nobody chose.
  bool IsSweep() const;
  // Returns the scale that was chosen; an empty string for a sweep.
  std::string ChosenScale() const { return IsSweep() ? "" : scale_; }
  int rounds() const { return rounds_; }  // planned rounds
  // Returns the numbers of rounds from which there may have been verdicts, the planned one included
  // (verdict/added_rounds.h).
  const std::set<int>& looks() const { return looks_; }
  // Returns the command that makes such results anew: of a sweep the command itself, otherwise that
  // of the shipped experiment or of the user's file.
  std::string Command() const;
  const std::vector<Cell>& cells() const { return cells_; }
  bool finished(size_t cell, int round) const {
    return !runs_[cell][static_cast<size_t>(round) - 1].empty();
  }
  bool finished(size_t cell) const;  // whether it is finished in every round
  bool measured(size_t cell) const;  // whether it is finished in one round or more
  // Returns whether the cell is not finished in the round because its last run failed.
  bool failed(size_t cell, int round) const { return failed_.contains({cell, round}); }
  // Returns whether a call asked for the cell. A call with --only asks for some cells alone.
  bool asked(size_t cell) const;
  size_t finished_runs() const;  // a run is a cell in a round
  size_t planned_runs() const;
  // Returns a sentence for each run that failed.
  const std::vector<std::string>& failures() const { return failures_; }
  // Returns the settings of the cell that were refused, with the reasons; an empty string when all
  // were in force.
  const std::string& not_in_force(size_t cell) const { return not_in_force_[cell]; }
  // Returns the metric's value in each finished round, the mean over its repeats; NaN where it is
  // not known.
  const std::vector<double>& Values(size_t cell, const std::string& metric) const;
  double Mean(size_t cell, const std::string& metric) const;  // mean over the rounds
  // Returns the metric's grain, the largest of all finished runs; 0 when it has none, NaN when it
  // is not known.
  double Grain(size_t cell, const std::string& metric) const;
  // Returns the mean of a figure (FiguresOf) over all finished runs of a cell; NaN when no run has
  // it. A set keeps the figures that the metrics compute with, those that begin with options.,
  // held., loaded. or planned., and those of engine.effective that are for advice (IsForAdvice,
  // verdict/advice_config.h); throws Error (kRun) for the name of another.
  double Figure(size_t cell, const std::string& name) const;
  // Returns the host that measured the cell in the round; empty when that is not known.
  const std::string& host(size_t cell, int round) const {
    return hosts_[cell][static_cast<size_t>(round) - 1];
  }
  // Returns the measured cells that match, in groups as MatchingGroups forms them.
  Statement::Groups Select(const Where& where) const;
  // Returns the number of finished runs of each accuracy grade (GradeOf).
  std::map<std::string, int> Grades() const;
  const Circumstances& circumstances() const { return circumstances_; }
  // Returns the values that a numeric option had in the runs of the cell.
  std::set<uint64_t> OptionValues(size_t cell, const std::string& option) const;
  // Returns the settings of the queues of the cell's devices (BlockDevice::QueueSettings), by name.
  const std::map<std::string, std::set<std::string>>& queues(size_t cell) const {
    return queues_[cell];
  }

 private:
  void Read(size_t cell, const Cell& of_round, const ResultsDir& dir);
  bool NoteFailure(const Cell& of_round, const nlohmann::json& run);
  bool Keeps(const std::string& figure) const;
  void NoteSurroundings(size_t cell, const nlohmann::json& document);
  void NoteForeignCpu(std::optional<double> of_load, std::optional<double> of_run);
  void NoteEngine(size_t cell, const nlohmann::json& run);

  Experiment experiment_;
  std::set<std::string> metric_figures_;  // names
  std::string scale_;
  int rounds_ = 1;
  std::set<int> looks_;
  std::vector<Cell> cells_;
  std::vector<Where> asked_;                             // --only of each call; none: all cells
  std::vector<std::vector<std::vector<Figures>>> runs_;  // by cell, round and repeat
  std::set<std::pair<size_t, int>> failed_;              // cell and round
  // The load that was read last. Cells that share a load follow each other.
  std::string load_key_;
  nlohmann::json load_;
  std::vector<std::string> not_in_force_;                             // by cell
  std::vector<std::vector<std::string>> hosts_;                       // by cell and round
  std::vector<std::map<std::string, std::set<std::string>>> queues_;  // by cell and name
  std::vector<std::string> grades_, failures_;
  Circumstances circumstances_;
  mutable std::map<std::pair<size_t, std::string>, std::vector<double>> values_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_RESULTS_H_

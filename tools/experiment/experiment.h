// An experiment: settings to try, metrics to take from each, tables to print, and findings to
// check. A TOML file defines it (docs/experiments.md); the same code runs every experiment.
//
//   Experiment e = LoadExperiment("read-size");          // a shipped one, or a path to a file
//   std::vector<Cell> cells = PlanCells(e, {"tiny"});    // plan.h
//   RunExperiment(e, cells, results_dir, {});            // run.h, results_dir.h
//   ResultSet results = ResultSet::Read(path);           // results.h
//   fmt::print("{}", ExperimentText(results));           // report.h
#ifndef TESTBED_TOOLS_EXPERIMENT_EXPERIMENT_H_
#define TESTBED_TOOLS_EXPERIMENT_EXPERIMENT_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace testbed {

// Options of `testbed` by name, without the dashes: {"io", "direct"}. A name with a dot is an
// option of the engine or the workload: {"engine-option.bloom_bits", "10"}.
using OptionMap = std::map<std::string, std::string>;

// One value of an axis: the options that it sets, and the label that tables and findings use for
// it.
struct AxisValue {
  std::string label;
  OptionMap options;
};

struct Axis {
  std::string name;
  std::vector<AxisValue> values;
};

// Labels by axis. A cell matches when, for each of these axes, its label is one of those listed.
using Where = std::map<std::string, std::vector<std::string>>;

constexpr int kMaxRounds = 1000;

struct Scale {
  OptionMap options;                                       // override the experiment's options
  std::map<std::string, OptionMap> engine_options;         // by engine; override the experiment's
  std::map<std::string, std::vector<std::string>> labels;  // by axis; only these values are kept
  std::optional<int> rounds;                               // how often all cells are run
};

struct Metric {
  std::string name, expression, unit, about;
};

struct TableSpec {
  std::string title, note;
  std::vector<std::string> rows;     // axes whose labels name the rows
  std::string columns;               // axis whose values become columns, or empty
  std::vector<std::string> metrics;  // metrics shown for each value of that axis, or for each row
  Where where;
  std::vector<std::string> published_columns;
  std::vector<std::vector<std::string>> published;
};

struct Mechanism {
  std::string when, says;
};

// One statement of a claim, with the published numbers next to the measured ones.
struct FindingPart {
  std::string says;                    // the statement, one sentence
  std::string published;               // the published numbers
  std::string ours;                    // text with {expression} in it
  std::string holds;                   // expression (expression.h)
  std::string false_if;                // what would refute it, where that is not obvious
  std::string stand_in;                // the system that stands in; such a part does not count
  std::string untestable;              // why it cannot be checked at all
  std::vector<std::string> waits_for;  // engines needed to check it
  std::vector<std::string> scales;     // checked only at these scales; empty: at all
};

struct Finding {
  std::string id, claim;
  std::string systems;  // the published systems, and the one judged here
  std::vector<FindingPart> parts;
  std::vector<std::string> waits_for;  // engines needed to check any part
  std::string untestable;              // why no part can be checked
  std::vector<Mechanism> mechanisms;   // facts shown when the claim is not reproduced
};

// Cells that do not run, and why.
struct Skip {
  Where where;
  std::vector<std::string> scales;  // only at these scales; empty: at all
  std::string why;
};

struct Experiment {
  std::string name, title, about, source;
  std::string text;       // the file's text, unchanged
  bool in_order = false;  // each round runs the cells in the order of the plan
  OptionMap options, load_options;
  std::map<std::string, OptionMap> engine_options;       // by engine
  std::map<std::string, OptionMap> engine_load_options;  // by engine; override load_options
  std::vector<Axis> axes;                                // the last axis varies fastest
  std::map<std::string, Scale> scales;
  std::vector<Skip> skips;
  std::vector<Metric> metrics;
  std::vector<TableSpec> tables;
  std::vector<Finding> findings;

  // Return the axis or metric of that name, or null.
  const Axis* FindAxis(const std::string& axis) const;
  const Metric* FindMetric(const std::string& metric) const;
};

// Returns the names and texts of the shipped experiments (tools/experiments/*.toml, built into the
// program).
const std::map<std::string, std::string>& ShippedExperiments();

// Loads a shipped experiment by name, or the file when the name ends in .toml. Throws Error
// (kUsage), with file and line where possible, when the name is unknown or the text cannot be
// understood.
Experiment LoadExperiment(const std::string& name_or_path);
Experiment ParseExperiment(const std::string& text, const std::string& origin);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_EXPERIMENT_H_

// What an experiment is: settings to try, metrics to take from each, tables to print, findings to
// check. A TOML file says it (docs/experiments.md); the same code runs every one.
//
//   Experiment e = LoadExperiment("read-size");          // a shipped one, or a path to a file
//   std::vector<Cell> cells = PlanCells(e, {"tiny"});    // plan.h
//   RunExperiment(e, cells, ...);                        // run.h
//   ResultSet results = ReadResultSet(dir);              // results.h
//   fmt::print("{}", ExperimentText(e, results));        // report.h
#ifndef TESTBED_TOOLS_EXPERIMENT_EXPERIMENT_H_
#define TESTBED_TOOLS_EXPERIMENT_EXPERIMENT_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace testbed {

// Options of `testbed` by name, without the dashes: {"io", "direct"}. A name with a dot belongs to
// the engine or the workload: {"engine-option.bloom_bits", "10"}.
using OptionMap = std::map<std::string, std::string>;

// One value of an axis: what it sets, under the label that tables and findings use.
struct AxisValue {
  std::string label;
  OptionMap options;
};

struct Axis {
  std::string name;
  std::vector<AxisValue> values;
};

// Labels by axis; a cell matches when each of these axes has one of its labels.
using Where = std::map<std::string, std::vector<std::string>>;

constexpr int kMaxRounds = 1000;

struct Scale {
  OptionMap options;                                       // over those of the experiment
  std::map<std::string, OptionMap> engine_options;         // over those of the engine
  std::map<std::string, std::vector<std::string>> labels;  // keeps only these values of an axis
  std::optional<int> rounds;                               // how often all of it is run
};

struct Metric {
  std::string name, expression, unit, about;
};

struct TableSpec {
  std::string title, note;
  std::vector<std::string> rows;     // axes that label the rows
  std::string columns;               // an axis spread over columns, or empty
  std::vector<std::string> metrics;  // columns of each of its values, or of the table
  Where where;
  std::vector<std::string> published_columns;
  std::vector<std::vector<std::string>> published;
};

struct Mechanism {
  std::string when, says;
};

// One statement of a claim, with the published number beside what is measured here.
struct FindingPart {
  std::string says;                    // one sentence: what is asked
  std::string published;               // the published numbers
  std::string ours;                    // text with {expression} in it
  std::string holds;                   // expression (expression.h)
  std::string false_if;                // what would make it false, where that is not obvious
  std::string stand_in;                // the system that stands in; such a part is only shown
  std::string untestable;              // why it cannot be checked here at all
  std::vector<std::string> waits_for;  // engines without which it cannot be checked
  std::vector<std::string> scales;     // asked at these alone; empty: at every one
};

struct Finding {
  std::string id, claim;
  std::string systems;  // those it was published for, and the one it is judged on
  std::vector<FindingPart> parts;
  std::vector<std::string> waits_for;  // engines without which no part can be checked
  std::string untestable;              // why no part can be checked here
  std::vector<Mechanism> mechanisms;   // what else was measured when it is not reproduced
};

struct Skip {
  Where where;
  std::vector<std::string> scales;  // only at these; empty: at every one
  std::string why;
};

struct Experiment {
  std::string name, title, about, source;
  std::string text;       // of the file, as it was
  bool in_order = false;  // each round runs the cells as they are listed
  OptionMap options, load_options;
  std::map<std::string, OptionMap> engine_options;       // by engine
  std::map<std::string, OptionMap> engine_load_options;  // by engine, over load_options
  std::vector<Axis> axes;                                // the last varies fastest
  std::map<std::string, Scale> scales;
  std::vector<Skip> skips;
  std::vector<Metric> metrics;
  std::vector<TableSpec> tables;
  std::vector<Finding> findings;

  const Axis* FindAxis(const std::string& axis) const;
  const Metric* FindMetric(const std::string& metric) const;
};

// Names and texts of the shipped experiments (tools/experiments/*.toml, built into the program).
const std::map<std::string, std::string>& ShippedExperiments();

// By the name of a shipped one, or from a file whose name ends in .toml. Throws Error (kUsage) with
// file and line for what is not understood.
Experiment LoadExperiment(const std::string& name_or_path);
Experiment ParseExperiment(const std::string& text, const std::string& origin);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_EXPERIMENT_H_

// An experiment: the settings to try, the metrics to compute from each run, the tables to print and
// the findings to check. A TOML file describes it (docs/experiments.md), and the same code runs all
// of them.
//
//   Experiment e = LoadExperiment("read-size");      // a shipped experiment, or a .toml file
//   PlanOptions options{.scale = "tiny"};            // plan.h
//   std::vector<Cell> cells = PlanCells(e, options);
//   ResultsDir dir("results");                       // results_dir.h
//   dir.Create(e, options);
//   RunExperiment(e, cells, dir, {});                // run.h
//   ResultSet results = ResultSet::Read("results");  // results.h
//   fmt::print("{}", ExperimentText(results));       // report.h
#ifndef TESTBED_TOOLS_EXPERIMENT_EXPERIMENT_H_
#define TESTBED_TOOLS_EXPERIMENT_EXPERIMENT_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace testbed {

// Options of `testbed` by name, without the dashes: {"io", "direct"}. A name with a dot is a
// setting of the engine or the workload: {"engine-option.bloom_bits", "10"}.
using OptionMap = std::map<std::string, std::string>;

// A value of an axis: the options that it sets, and the label that tables and findings call it by.
struct AxisValue {
  std::string label;
  OptionMap options;
  bool asked = false;  // its cells run only when a scale or --only names the label
};

struct Axis {
  std::string name;
  std::vector<AxisValue> values;
};

// Returns whether a value of the axis has the label.
bool HasLabel(const Axis& axis, const std::string& label);

// Labels by axis. A cell matches when, for each of these axes, its label is among those listed.
using Where = std::map<std::string, std::vector<std::string>>;

constexpr int kMaxRounds = 1000;

struct ExperimentScale {
  OptionMap options;                                       // override the options of the experiment
  std::map<std::string, OptionMap> engine_options;         // by engine; override the experiment's
  std::map<std::string, std::vector<std::string>> labels;  // by axis; other values are left out
  std::optional<int> rounds;                               // number of times that all cells run
};

struct ExperimentMetric {
  std::string name, expression, unit, about;
  std::string grain;  // expression: the error that no number of rounds removes; may be empty
};

// Metrics of one stem and unit, each with a number at the end of its name: rows_1, rows_2 and
// rows_5. Together they are the course of a figure over that number.
struct MetricSeries {
  std::string stem;                   // "rows"; "qps_qr" of qps_qr100, which has letters between
  std::string letters;                // between the last _ and the number: "qr"; often empty
  std::map<unsigned, size_t> places;  // number -> index of its metric among all metrics
};

// The label that stands for the value before in TableSpec::relative_label.
constexpr const char* kPrevious = "previous";

struct TableSpec {
  std::string title, note;
  std::vector<std::string> rows;     // axes that label the rows
  std::string columns;               // axis whose values are spread over columns; may be empty
  std::vector<std::string> metrics;  // columns of the table, or of each value of that axis
  std::string best;  // "max" or "min": the best figure of the first metric is marked; may be empty
  Where where;
  // If set, the figures are ratios, in each round, to the cell that differs in this axis alone and
  // has this label there. For kPrevious that is the cell with the value before, among those of the
  // axis that `where` names.
  std::string relative_axis, relative_label;
  std::vector<std::string> published_columns;
  std::vector<std::vector<std::string>> published;
};

struct Mechanism {
  std::string when, says;
};

// A part of a claim that can be checked by itself, with the published figures.
struct FindingPart {
  std::string says;                    // the statement, one sentence
  std::string published;               // the published figures
  std::string ours;                    // text with {expression} in place of the measured figures
  std::string holds;                   // expression that is true when the part holds (expression.h)
  std::string needs;                   // expression that is true of the published setting; or empty
  std::string false_if;                // condition that would make it false, if that is not obvious
  std::string stand_in;                // system measured in its place; set: part is not counted
  std::string untestable;              // reason why it cannot be checked here at all
  std::vector<std::string> waits_for;  // engines without which it cannot be checked
  std::vector<std::string> scales;     // only scales at which it is checked; empty: all scales
};

struct Finding {
  std::string id, claim;
  std::string systems;  // systems of the publication, and the engine that it is checked on
  std::vector<FindingPart> parts;
  std::vector<std::string> waits_for;  // engines without which no part can be checked
  std::string untestable;              // reason why no part can be checked here
  std::vector<Mechanism> mechanisms;   // explanations, shown when it is not reproduced
};

// Findings that are judged once more, on other values of an axis (verdict/again.h).
struct Again {
  std::string name;                            // ends their ids: "C1.mysql"
  std::string on;                              // the systems that they are judged on
  std::vector<std::string> findings;           // ids
  std::string axis;                            // the axis whose labels are replaced
  std::map<std::string, std::string> instead;  // the label of the axis in place of another
};

// Cells that do not run, and why.
struct Skip {
  Where where;
  std::vector<std::string> scales;  // only scales at which cells are skipped; empty: all scales
  std::string why;
};

struct Experiment {
  std::string name, title, about, source;
  std::string text;         // contents of the file
  std::string file;         // its name as a user gave it; empty for a shipped one and for a sweep
  bool in_order = false;    // every round runs the cells in the order of the axes
  bool copy_loads = false;  // cells that write share loads, too, and each gets a copy
  OptionMap options, load_options;
  std::map<std::string, OptionMap> engine_options;       // by engine
  std::map<std::string, OptionMap> engine_load_options;  // by engine; override load_options
  std::vector<Axis> axes;                                // the last axis varies fastest
  std::map<std::string, ExperimentScale> scales;
  std::vector<Skip> skips;
  std::vector<ExperimentMetric> metrics;
  std::map<std::string, std::string> series = {{"", "number"}};  // names of numbers, by letters
  std::vector<TableSpec> tables;
  std::vector<Finding> findings;
  std::vector<Again> again;

  // These return null when there is no such axis or metric.
  const Axis* FindAxis(const std::string& axis) const;
  const ExperimentMetric* FindMetric(const std::string& metric) const;
};

// Returns the series among the metrics, in the order of their first metrics: those with three
// numbers and more, behind letters that Experiment::series has.
std::vector<MetricSeries> MetricSeriesOf(const Experiment& experiment);

// Returns the texts of the shipped experiments by name (tools/experiments/*.toml, built into the
// program).
const std::map<std::string, std::string>& ShippedExperiments();

// Loads a shipped experiment by its name, or an experiment from a file whose name ends in .toml.
// Throws Error (kUsage) when it does not exist, or with file and line when its text has an error.
Experiment LoadExperiment(const std::string& name_or_path);

// Parses the text of an experiment. `origin` is the file's name, for messages. A text that is not
// new, of results or of a shipped experiment, may have options of engines that this build lacks.
// Throws Error (kUsage).
Experiment ParseExperiment(const std::string& text, const std::string& origin, bool is_new = true);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_EXPERIMENT_H_

// Expressions of experiment files, evaluated by muParser (its manual has the operators and
// functions: + - * / ^, comparisons, && ||, ?:, min, max, sum, avg, abs, ...).
//
// A metric is an expression over the figures of one run: the numbers of its results document
// (docs/results.md), named by their path with _ for -, the phase first:
//
//   point_read.account.device.reads / point_read.count
//
// A finding is an expression over metrics of cells. metric[axis=label, axis=label|label] stands for
// the metric's values in all cells that match, as a list of arguments:
//
//   max(bytes_per_read[io=direct, page-size=4k]) == 4096
#ifndef TESTBED_TOOLS_EXPERIMENT_EXPRESSION_H_
#define TESTBED_TOOLS_EXPERIMENT_EXPRESSION_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tools/experiment/experiment.h"

namespace testbed {

using Figures = std::map<std::string, double>;

// A figure that is not there counts as not known (NaN), and so does what is made of it. Throws
// Error (kUsage) for what cannot be parsed.
double EvaluateFigures(const std::string& expression, const Figures& figures);

// The values of a metric in the cells that match, one a cell.
using Select = std::function<std::vector<double>(const std::string& metric, const Where& where)>;

struct Evaluation {
  bool known = true;  // false: a cell that it needs is not there or has no value
  double value = 0;
  std::string missing;  // which
};
// `is_metric` tells the metrics from functions.
Evaluation EvaluateSelection(const std::string& expression,
                             const std::function<bool(const std::string&)>& is_metric,
                             const Select& select);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_EXPRESSION_H_

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
#include <memory>
#include <string>
#include <vector>

#include "tools/experiment/experiment.h"
#include "tools/experiment/verdict/terms.h"

namespace testbed {

using Figures = std::map<std::string, double>;

// A figure that is not there counts as not known (NaN), and so does what is made of it. Throws
// Error (kUsage) for what cannot be parsed.
double EvaluateFigures(const std::string& expression, const Figures& figures);
// The figures that the expression names.
std::vector<std::string> FiguresNamed(const std::string& expression);

// metric[axis=label|label, axis=label], as an expression has it.
struct Selection {
  std::string metric;
  Where where;
  std::string text;
};

// An expression over metrics of cells, made ready to be evaluated many times with other values.
class Statement {
 public:
  // The cells that one argument stands for: one cell, or several of which the mean is taken.
  using Groups = std::vector<std::vector<size_t>>;
  // One figure that the expression needs: a metric of a cell.
  struct Figure {
    std::string metric;
    size_t cell;
    bool operator==(const Figure&) const = default;
  };

  // `is_metric` tells the metrics from functions; `cells_of` says which cells a selection names,
  // one group an argument. Throws Error (kUsage) for what cannot be parsed.
  Statement(const std::string& expression, const std::function<bool(const std::string&)>& is_metric,
            const std::function<Groups(const Selection&)>& cells_of);
  ~Statement();

  const std::vector<Selection>& selections() const { return selections_; }
  const std::vector<Figure>& figures() const { return figures_; }
  // `values`: one for each of figures(), in their order. Throws as the constructor does.
  double Evaluate(const std::vector<double>& values) const;

  // What the statement is made of (terms.h). EvaluateTerms gives the values of its terms of the kind
  // kOne, in their order; there are `term_count` of them.
  const Term& terms() const { return terms_; }
  size_t term_count() const;
  std::vector<double> EvaluateTerms(const std::vector<double>& values) const;

 private:
  std::string VariableOf(const std::string& metric, size_t cell);
  std::string Arguments(const std::string& metric, const Groups& groups);
  struct Machine;
  std::string expression_;
  std::vector<Selection> selections_;
  std::vector<Figure> figures_;
  Term terms_;
  std::unique_ptr<Machine> machine_;
};

// The expressions that stand in braces in a text, and the text with each replaced by what
// `value_of` says.
std::vector<std::string> ExpressionsIn(const std::string& text);
std::string FillExpressions(const std::string& text,
                            const std::function<std::string(const std::string&)>& value_of);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_EXPRESSION_H_

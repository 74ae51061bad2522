// The expressions of experiment files. muParser evaluates them; its manual lists the operators and
// functions: + - * / ^, comparisons, && ||, ?:, min, max, sum, avg, abs, ...
//
// A metric is an expression over the figures of one run. A figure is a number of the run's results
// document (docs/results.md), named by its path, phase first, with _ in place of other characters:
//
//   point_read.account.device.reads / point_read.count
//
// A finding is an expression over metrics of cells. metric[axis=label, axis=label|label] stands for
// the list of the metric's values in all cells that match, as arguments of a function:
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

// Returns the value of the expression. A missing figure is unknown (NaN), and so is every value
// computed from it. Throws Error (kUsage) when the expression cannot be parsed.
double EvaluateFigures(const std::string& expression, const Figures& figures);
// Returns the names of the figures in the expression.
std::vector<std::string> FiguresNamed(const std::string& expression);

// A selection of cells in an expression: metric[axis=label|label, axis=label].
struct Selection {
  std::string metric;
  Where where;
  std::string text;
};

// An expression over metrics of cells, prepared for repeated evaluation with different values. Not
// thread-safe.
class Statement {
 public:
  // For each argument, its cells: one cell, or several whose mean is used.
  using Groups = std::vector<std::vector<size_t>>;
  // A value that the expression needs: a metric of a cell.
  struct Figure {
    std::string metric;
    size_t cell;
    bool operator==(const Figure&) const = default;
  };

  // `is_metric` returns whether a name is a metric; other names are functions. `cells_of` returns
  // the cells of a selection, one group per argument. Throws Error (kUsage) when the expression
  // cannot be parsed.
  Statement(const std::string& expression, const std::function<bool(const std::string&)>& is_metric,
            const std::function<Groups(const Selection&)>& cells_of);
  ~Statement();

  const std::vector<Selection>& selections() const { return selections_; }
  const std::vector<Figure>& figures() const { return figures_; }
  // `values` has a value for each of figures(), in that order. Throws like the constructor.
  double Evaluate(const std::vector<double>& values) const;

  // Returns the terms that the statement consists of (verdict/terms.h). EvaluateTerms returns the
  // values of its terms of kind kOne, in their order; term_count() is their number.
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

// Return the expressions in braces in a text, and the text with each of them replaced by the result
// of `value_of`.
std::vector<std::string> ExpressionsIn(const std::string& text);
std::string FillExpressions(const std::string& text,
                            const std::function<std::string(const std::string&)>& value_of);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_EXPRESSION_H_

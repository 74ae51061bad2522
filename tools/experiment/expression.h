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
//
// A selection that is not an argument of a function must match one cell alone. Of several, muParser
// would take the last, whose value is nearly always "true".
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

// Returns the value of an expression over the figures of a run. A figure that `figures` does not
// contain is NaN, and so is an expression that computes with it. Throws Error (kUsage) when the
// expression cannot be parsed.
double EvaluateFigures(const std::string& expression, const Figures& figures);

// Returns the names of the figures in an expression. Throws Error (kUsage) when it cannot be
// parsed.
std::vector<std::string> FiguresNamed(const std::string& expression);

// A selection in an expression: metric[axis=label|label, axis=label].
struct Selection {
  std::string metric;
  Where where;
  std::string text;
};

// An expression over metrics of cells, parsed once and evaluated many times with different values.
// Not thread-safe.
class Statement {
 public:
  // The groups of a selection: each group is the cells of one argument, whose value is their mean.
  using Groups = std::vector<std::vector<size_t>>;
  // A figure that the expression needs: a metric of a cell.
  struct Figure {
    std::string metric;
    size_t cell;
    bool operator==(const Figure&) const = default;
  };

  // `is_metric` returns whether a name is a metric, and not a function. `cells_of` returns the
  // cells that a selection names, a group for each argument. `open_axes` returns the axes in which
  // the cells of these groups differ, for the message about a selection that names several cells
  // where one is needed. Throws Error (kUsage) for such a selection, and when the expression cannot
  // be parsed.
  Statement(const std::string& expression, const std::function<bool(const std::string&)>& is_metric,
            const std::function<Groups(const Selection&)>& cells_of,
            const std::function<std::string(const Groups&)>& open_axes = nullptr);
  ~Statement();

  const std::vector<Selection>& selections() const { return selections_; }
  const std::vector<Figure>& figures() const { return figures_; }
  // Returns the value of the expression. `values` has a value for each of figures(), in their
  // order. Throws Error (kUsage) when the expression cannot be evaluated.
  double Evaluate(const std::vector<double>& values) const;
  // Returns whether the truth of the statement is known: whether it does not depend on a comparison
  // with a value that is not finite. Such a comparison has a value itself: 1 / 0 is more than any
  // number, and 0 / 0 neither more nor less. A term that decides without it, such as one that asks
  // for the divisor, makes the truth known. Throws like Evaluate.
  bool IsKnown(const std::vector<double>& values) const;

  // Returns the terms of the statement (terms.h). EvaluateTerms returns the values of the terms of
  // the kind kOne, in their order.
  const Term& terms() const { return terms_; }
  std::vector<double> EvaluateTerms(const std::vector<double>& values) const;
  // Returns the text of a term with its figures by their names, metric[cell]. `cell_name` returns
  // the name of a cell.
  std::string TermText(const std::string& term,
                       const std::function<std::string(size_t)>& cell_name) const;
  // Returns the cells that each of these terms names, in their order.
  std::vector<std::vector<size_t>> CellsOfTerms() const;

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

// Returns the expressions that stand in braces in a text.
std::vector<std::string> ExpressionsIn(const std::string& text);

// Returns the text with each expression in braces replaced by what `value_of` returns for it.
std::string FillExpressions(const std::string& text,
                            const std::function<std::string(const std::string&)>& value_of);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_EXPRESSION_H_

#include "tools/experiment/expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <muParser.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>

#include "device/error.h"

namespace testbed {
namespace {

constexpr char kNameChars[] = "0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.";
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool IsNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

double Count(const double*, int n) { return n; }
// The function within(a, b, share): a differs from b by at most this share of b.
double Within(double a, double b, double share) { return std::abs(a - b) <= share * std::abs(b); }

// The function argmax(x_1, ..., x_n, label_1, ..., label_n): the label of the largest x.
double ArgMax(const double* values, int n) {
  const int half = n / 2;
  return half == 0 || n % 2 != 0
             ? kNaN
             : values[half + (std::max_element(values, values + half) - values)];
}

void Prepare(mu::Parser* parser) {
  parser->DefineNameChars(kNameChars);
  parser->DefineFun("count", Count);
  parser->DefineFun("within", Within);
  parser->DefineFun("argmax", ArgMax);
}

[[noreturn]] void Refuse(const std::string& expression, const mu::Parser::exception_type& e) {
  throw Error(Error::kUsage, fmt::format("the expression {}: {}", expression, e.GetMsg()));
}

// Returns the value of an expression. Throws Error (kUsage) for a list such as "a, b": muParser
// would return the last value and forget the others.
double OneValue(const mu::Parser& parser, const std::string& expression) {
  const double value = parser.Eval();
  if (parser.GetNumResults() == 1) return value;
  throw Error(Error::kUsage, fmt::format("the expression {}: it is a list of {} values, not one",
                                         expression, parser.GetNumResults()));
}

// The values that muParser asks for by name. A figure that does not exist is NaN.
struct Values {
  const Figures* figures;
  std::deque<double> given;

  static double* Provide(const char* name, void* self) {
    auto* values = static_cast<Values*>(self);
    const auto found = values->figures->find(name);
    values->given.push_back(found == values->figures->end() ? kNaN : found->second);
    return &values->given.back();
  }
};

std::string Trim(const std::string& text) {
  const size_t first = text.find_first_not_of(" \n\t"), last = text.find_last_not_of(" \n\t");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t at = 0;
  for (size_t end; (end = text.find(separator, at)) != std::string::npos; at = end + 1) {
    parts.push_back(Trim(text.substr(at, end - at)));
  }
  parts.push_back(Trim(text.substr(at)));
  return parts;
}

Where ParseWhere(const std::string& expression, const std::string& text) {
  Where where;
  for (const std::string& condition : Split(text, ',')) {
    const size_t equals = condition.find('=');
    if (equals == std::string::npos) {
      throw Error(Error::kUsage, fmt::format("the expression {}: in [{}], {} is not axis=label",
                                             expression, text, condition));
    }
    const std::string axis = Trim(condition.substr(0, equals));
    if (where.emplace(axis, Split(condition.substr(equals + 1), '|')).second) continue;
    throw Error(Error::kUsage, fmt::format("the expression {}: [{}] names the axis {} twice; give "
                                           "its labels at once, as in {}=a|b",
                                           expression, text, axis, axis));
  }
  return where;
}

}  // namespace

double EvaluateFigures(const std::string& expression, const Figures& figures) {
  Values values{&figures, {}};
  try {
    mu::Parser parser;
    Prepare(&parser);
    parser.SetVarFactory(Values::Provide, &values);
    parser.SetExpr(expression);
    return OneValue(parser, expression);
  } catch (const mu::Parser::exception_type& e) {
    Refuse(expression, e);
  }
}

std::vector<std::string> FiguresNamed(const std::string& expression) {
  try {
    mu::Parser parser;
    Prepare(&parser);
    parser.SetExpr(expression);
    std::vector<std::string> names;
    for (const auto& [name, unused] : parser.GetUsedVar()) names.push_back(name);
    return names;
  } catch (const mu::Parser::exception_type& e) {
    Refuse(expression, e);
  }
}

struct Statement::Machine {
  mu::Parser parser;
  std::deque<mu::Parser> terms;  // the terms of the kind kOne, in their order
  std::vector<double> values;

  void SetUp(mu::Parser* one, const std::string& text) {
    Prepare(one);
    one->DefineConst("unknown", kNaN);
    for (size_t i = 0; i < values.size(); ++i) {
      one->DefineVar(fmt::format("figure_{}", i), &values[i]);
    }
    one->SetExpr(text);
  }
  void SetUp(const Term& term) {
    if (term.kind == Term::kOne) SetUp(&terms.emplace_back(), term.text);
    for (const Term& part : term.parts) SetUp(part);
  }
  double ValueOf(const std::string& text) {
    mu::Parser one;
    SetUp(&one, text);
    return one.Eval();
  }
  // Returns whether the term is true; nothing when that depends on a value that is not finite. The
  // logic is Kleene's, of three values.
  std::optional<bool> TruthOf(const Term& term) {
    if (term.kind == Term::kOne) {
      for (const std::string& side : SidesOf(term.text)) {
        if (!std::isfinite(ValueOf(side))) return std::nullopt;
      }
      const double value = ValueOf(term.text);
      return std::isfinite(value) ? std::optional<bool>(value != 0) : std::nullopt;
    }
    const bool decides = term.kind == Term::kAny;  // what a part must be to decide the whole
    bool known = true;
    for (const Term& part : term.parts) {
      const std::optional<bool> truth = TruthOf(part);
      if (truth && *truth == decides) return decides;
      known = known && truth.has_value();
    }
    return known ? std::optional<bool>(!decides) : std::nullopt;
  }
};

namespace {

// Returns the number at *at, or the single character when there is none, and advances *at past it.
std::string NumberOrSign(const std::string& expression, size_t* at) {
  const size_t begin = *at;
  const bool number = std::isdigit(static_cast<unsigned char>(expression[begin]));
  do {
    ++*at;
  } while (number && *at < expression.size() &&
           (IsNameChar(expression[*at]) || expression[*at] == '.'));
  return expression.substr(begin, *at - begin);
}

// Returns the name at *at with the selection in brackets that may follow it, and advances *at past
// both. Throws Error (kUsage) when brackets follow a name that is not a metric's.
Selection SelectionAt(const std::string& expression,
                      const std::function<bool(const std::string&)>& is_metric, size_t* at) {
  size_t end = *at;
  while (end < expression.size() && IsNameChar(expression[end])) ++end;
  Selection selection{expression.substr(*at, end - *at), {}, expression.substr(*at, end - *at)};
  *at = end;
  if (end == expression.size() || expression[end] != '[') return selection;
  if (!is_metric(selection.metric)) {
    throw Error(Error::kUsage, fmt::format("the expression {}: the metric {} is not there",
                                           expression, selection.metric));
  }
  const size_t close = expression.find(']', end);
  if (close == std::string::npos) {
    throw Error(Error::kUsage, fmt::format("the expression {}: a [ is not closed", expression));
  }
  const std::string text = expression.substr(end + 1, close - end - 1);
  selection.where = ParseWhere(expression, text);
  selection.text += "[" + text + "]";
  *at = close + 1;
  return selection;
}

// Returns the place of the last character before `at` that is no white space; npos when there is
// none.
size_t Before(const std::string& text, size_t at) {
  return at == 0 ? std::string::npos : text.find_last_not_of(" \n\t", at - 1);
}

// Returns whether the text from `begin` to `end` is an argument of a function by itself.
bool IsArgument(const std::string& text, size_t begin, size_t end) {
  const size_t after = text.find_first_not_of(" \n\t", end);
  if (after == std::string::npos || (text[after] != ',' && text[after] != ')')) return false;
  size_t at = Before(text, begin);
  if (at == std::string::npos || (text[at] != ',' && text[at] != '(')) return false;
  for (int depth = text[at] == '('; depth < 1;) {  // finds the parenthesis that encloses the comma
    if (at-- == 0) return false;
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1 : 0;
  }
  const size_t function = Before(text, at);
  return function != std::string::npos && IsNameChar(text[function]);
}

[[noreturn]] void RefuseSeveral(const std::string& expression, const Selection& selection,
                                size_t cells, const std::string& open_axes) {
  throw Error(
      Error::kUsage,
      fmt::format("the expression {}: {} names {} cells{}{}; where it stands it must name one, or "
                  "be an argument of max, min, avg or another function of several",
                  expression, selection.text, cells, open_axes.empty() ? "" : ", which differ in ",
                  open_axes));
}

}  // namespace

Statement::~Statement() = default;

Statement::Statement(const std::string& expression,
                     const std::function<bool(const std::string&)>& is_metric,
                     const std::function<Groups(const Selection&)>& cells_of,
                     const std::function<std::string(const Groups&)>& open_axes)
    : expression_(expression), machine_(std::make_unique<Machine>()) {
  std::string plain;
  for (size_t at = 0; at < expression.size();) {
    if (!IsNameChar(expression[at]) || std::isdigit(static_cast<unsigned char>(expression[at]))) {
      plain += NumberOrSign(expression, &at);
      continue;
    }
    const size_t begin = at;
    Selection selection = SelectionAt(expression, is_metric, &at);
    if (is_metric(selection.metric)) {
      const Groups groups = cells_of(selection);
      if (groups.size() > 1 && !IsArgument(expression, begin, at)) {
        RefuseSeveral(expression, selection, groups.size(), open_axes ? open_axes(groups) : "");
      }
      plain += Arguments(selection.metric, groups);
      selections_.push_back(std::move(selection));
    } else {
      plain += selection.metric;
    }
  }
  machine_->values.resize(figures_.size());
  try {
    machine_->SetUp(&machine_->parser, plain);
    (void)OneValue(machine_->parser, expression);  // an error must name all, not one of the terms
    terms_ = TermsOf(plain);
    machine_->SetUp(terms_);
  } catch (const mu::Parser::exception_type& e) {
    Refuse(expression, e);
  }
}

// Returns the variable that stands for the metric of a cell in the plain expression.
std::string Statement::VariableOf(const std::string& metric, size_t cell) {
  const Figure wanted{metric, cell};
  const auto found = std::find(figures_.begin(), figures_.end(), wanted);
  const auto index = found - figures_.begin();
  if (found == figures_.end()) figures_.push_back(wanted);
  return fmt::format("figure_{}", index);
}

// Returns the arguments that a selection stands for in the plain expression. A group of several
// cells becomes one argument, its mean.
std::string Statement::Arguments(const std::string& metric, const Groups& groups) {
  std::vector<std::string> all;
  for (const std::vector<size_t>& group : groups) {
    std::vector<std::string> cells;
    for (size_t cell : group) cells.push_back(VariableOf(metric, cell));
    all.push_back(cells.size() == 1 ? cells[0] : fmt::format("avg({})", fmt::join(cells, ",")));
  }
  return all.empty() ? std::string("unknown") : fmt::format("{}", fmt::join(all, ","));
}

double Statement::Evaluate(const std::vector<double>& values) const {
  std::copy(values.begin(), values.end(), machine_->values.begin());
  try {
    return OneValue(machine_->parser, expression_);
  } catch (const mu::Parser::exception_type& e) {
    Refuse(expression_, e);
  }
}

bool Statement::IsKnown(const std::vector<double>& values) const {
  std::copy(values.begin(), values.end(), machine_->values.begin());
  try {
    return machine_->TruthOf(terms_).has_value();
  } catch (const mu::Parser::exception_type& e) {
    Refuse(expression_, e);
  }
}

std::vector<double> Statement::EvaluateTerms(const std::vector<double>& values) const {
  std::copy(values.begin(), values.end(), machine_->values.begin());
  std::vector<double> results;
  try {
    for (const mu::Parser& term : machine_->terms) results.push_back(term.Eval());
  } catch (const mu::Parser::exception_type& e) {
    Refuse(expression_, e);
  }
  return results;
}

std::string Statement::TermText(const std::string& term,
                                const std::function<std::string(size_t)>& cell_name) const {
  const std::string variable = "figure_";
  std::string text;
  size_t at = 0;
  for (size_t found; (found = term.find(variable, at)) != std::string::npos;) {
    text += term.substr(at, found - at);
    size_t index = 0;
    at = found + variable.size();
    for (; at < term.size() && term[at] >= '0' && term[at] <= '9'; ++at) {
      index = index * 10 + static_cast<size_t>(term[at] - '0');
    }
    text += fmt::format("{}[{}]", figures_[index].metric, cell_name(figures_[index].cell));
  }
  return text + term.substr(at);
}

std::vector<std::vector<size_t>> Statement::CellsOfTerms() const {
  std::vector<std::vector<size_t>> all;
  for (const mu::Parser& term : machine_->terms) {
    std::vector<size_t>& cells = all.emplace_back();
    const auto& used = term.GetUsedVar();
    for (size_t i = 0; i < figures_.size(); ++i) {
      if (used.contains(fmt::format("figure_{}", i))) cells.push_back(figures_[i].cell);
    }
  }
  return all;
}

std::string FillExpressions(const std::string& text,
                            const std::function<std::string(const std::string&)>& value_of) {
  std::string filled;
  size_t at = 0;
  for (size_t open; (open = text.find('{', at)) != std::string::npos;) {
    const size_t close = text.find('}', open);
    if (close == std::string::npos) break;
    filled += text.substr(at, open - at) + value_of(text.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  return filled + text.substr(at);
}

std::vector<std::string> ExpressionsIn(const std::string& text) {
  std::vector<std::string> all;
  FillExpressions(text, [&](const std::string& expression) {
    all.push_back(expression);
    return "";
  });
  return all;
}

}  // namespace testbed

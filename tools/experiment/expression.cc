#include "tools/experiment/expression.h"

#include <fmt/format.h>
#include <muParser.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <deque>
#include <limits>

#include "device/error.h"

namespace testbed {
namespace {

constexpr char kNameChars[] = "0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.";
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool IsNameChar(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

double Count(const double*, int n) { return n; }
// Whether a is within a share of b: within(a, b, 0.05).
double Within(double a, double b, double share) { return std::abs(a - b) <= share * std::abs(b); }

// Of n figures and n labels: the label of the largest figure.
double ArgMax(const double* values, int n) {
  const int half = n / 2;
  return half == 0 ? kNaN : values[half + (std::max_element(values, values + half) - values)];
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

// Values that muParser asks for by name; what is not there is NaN.
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
    where[Trim(condition.substr(0, equals))] = Split(condition.substr(equals + 1), '|');
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
    return parser.Eval();
  } catch (const mu::Parser::exception_type& e) {
    Refuse(expression, e);
  }
}

Evaluation EvaluateSelection(const std::string& expression,
                             const std::function<bool(const std::string&)>& is_metric,
                             const Select& select) {
  Evaluation result;
  std::string plain;
  for (size_t at = 0; at < expression.size();) {
    if (!IsNameChar(expression[at]) || std::isdigit(static_cast<unsigned char>(expression[at]))) {
      // A number with its exponent is no name.
      const bool number = std::isdigit(static_cast<unsigned char>(expression[at]));
      do plain += expression[at++];
      while (number && at < expression.size() &&
             (IsNameChar(expression[at]) || expression[at] == '.'));
      continue;
    }
    size_t end = at;
    while (end < expression.size() && IsNameChar(expression[end])) ++end;
    const std::string name = expression.substr(at, end - at);
    at = end;
    if (!is_metric(name)) {
      plain += name;
      continue;
    }
    std::string text;
    if (at < expression.size() && expression[at] == '[') {
      const size_t close = expression.find(']', at);
      if (close == std::string::npos) {
        throw Error(Error::kUsage, fmt::format("the expression {}: a [ is not closed", expression));
      }
      text = expression.substr(at + 1, close - at - 1);
      at = close + 1;
    }
    const std::vector<double> values =
        select(name, text.empty() ? Where{} : ParseWhere(expression, text));
    bool known = !values.empty();
    for (size_t i = 0; i < values.size(); ++i) {
      known = known && !std::isnan(values[i]);
      plain += fmt::format("{}{:.17g}", i == 0 ? "" : ",", std::isnan(values[i]) ? 0 : values[i]);
    }
    if (values.empty()) plain += "0";
    if (!known && result.known) {
      result.known = false;
      result.missing = text.empty() ? name : name + "[" + text + "]";
    }
  }
  try {
    mu::Parser parser;
    Prepare(&parser);
    parser.SetExpr(plain);
    result.value = parser.Eval();
  } catch (const mu::Parser::exception_type& e) {
    Refuse(expression, e);
  }
  if (result.known && !std::isfinite(result.value)) {
    result.known = false;
    result.missing = "a finite value";
  }
  return result;
}

}  // namespace testbed

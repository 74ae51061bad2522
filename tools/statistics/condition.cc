#include "tools/statistics/condition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <sstream>

#include "device/error.h"
#include "device/nearest_name.h"
#include "tools/statistics/metrics.h"

namespace testbed {
namespace {

// Returns the end of a sentence on a word that names no metric: which one it may be.
std::string GuessOfMetric(const std::string& word) {
  std::vector<std::string> names;
  for (const Metric& metric : Metrics()) names.push_back(metric.name);
  return DidYouMean(word, names);
}

}  // namespace

Condition ParseCondition(const std::string& option, const std::string& text) {
  static const std::regex* const kForm =
      new std::regex(R"(\s*([a-z0-9_.-]+)\s*([<>])\s*([+-]?[0-9]{1,9}(?:\.[0-9]{1,9})?)\s*%\s*)");
  std::smatch parts;
  if (!std::regex_match(text, parts, *kForm)) {
    throw Error(Error::kUsage,
                fmt::format("{} '{}' is not a condition; give a metric, < or >, and a change in "
                            "per cent, such as 'rate < -3%' or 'p99 > 10%'",
                            option, text));
  }
  Condition condition{parts[1], parts[2] == "<", std::stod(parts[3]) / 100};
  if (!MetricNamed(condition.metric)) {
    throw Error(Error::kUsage,
                fmt::format("{} '{}' names no metric; there are {}, and of one kind of operation, "
                            "such as update.p99, {}{}",
                            option, text, MetricNames(), MetricNamesOfKinds(),
                            GuessOfMetric(condition.metric)));
  }
  if (condition.change <= -1) {
    throw Error(
        Error::kUsage,
        fmt::format("{} '{}' can never be; a metric falls by less than 100 %", option, text));
  }
  return condition;
}

double ParseMargin(const std::string& option, const std::string& text) {
  static const std::regex* const kForm =
      new std::regex(R"(\s*([0-9]{1,3}(?:\.[0-9]{1,9})?)\s*%?\s*)");
  std::smatch parts;
  const double margin = std::regex_match(text, parts, *kForm) ? std::stod(parts[1]) / 100 : 0;
  if (margin <= 0 || margin > 1) {
    throw Error(Error::kUsage,
                fmt::format("{} {} is not a difference in per cent; give more than 0 and at most "
                            "100, such as 2%",
                            option, text));
  }
  return margin;
}

std::vector<std::string> ParseMetricNames(const std::string& option, const std::string& text) {
  std::vector<std::string> names;
  if (text == "all") {
    for (const Metric& metric : Metrics()) names.push_back(metric.name);
    return names;
  }
  std::istringstream in(text);
  for (std::string name; std::getline(in, name, ',');) {
    name.erase(0, name.find_first_not_of(' '));
    name.erase(name.find_last_not_of(' ') + 1);
    if (FindMetric(name) == nullptr) {
      throw Error(Error::kUsage,
                  fmt::format("{} {} names no metric: '{}'; there are all, {}{}", option, text,
                              name, MetricNames(), GuessOfMetric(name)));
    }
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      throw Error(Error::kUsage,
                  fmt::format("{} {}: {} is in the list twice; give it once", option, text, name));
    }
    names.push_back(name);
  }
  return names;
}

std::string ConditionText(const Condition& condition) {
  // ParseCondition takes no exponent, and at most nine decimals. Fifteen digits leave out the
  // rounding error of the product.
  const double percent = std::stod(fmt::format("{:.15g}", condition.change * 100));
  std::string change = fmt::format("{:.9f}", percent);
  change.erase(change.find_last_not_of('0') + 1);
  if (change.ends_with('.')) change.pop_back();
  return fmt::format("{} {} {} %", condition.metric, condition.less ? '<' : '>', change);
}

std::string JudgementWords(Judgement judgement) {
  switch (judgement) {
    case Judgement::kHolds:
      return "holds";
    case Judgement::kDoesNotHold:
      return "does not hold";
    case Judgement::kUnknown:
      break;
  }
  return "cannot be told";
}

namespace {

// Judges a condition on a metric that was 0 in some load, for which there is no ratio. When one
// side was 0 in all loads and the other side differs for sure, the change exceeds any percentage: a
// rise from 0, or a fall to 0.
Judgement JudgeDifference(const Condition& condition, const Answer& answer) {
  if (answer.outcome == Outcome::kSame && answer.center == 0) {
    const bool holds = condition.less ? condition.change > 0 : condition.change < 0;
    return holds ? Judgement::kHolds : Judgement::kDoesNotHold;
  }
  // The one-sided p-value of the direction that was seen is half of the two-sided one.
  if (answer.p / 2 > answer.alpha) return Judgement::kUnknown;
  if (answer.a == 0 && answer.center > 0) {
    return condition.less ? Judgement::kDoesNotHold : Judgement::kHolds;
  }
  if (answer.b == 0 && answer.center < 0) {
    return condition.less ? Judgement::kHolds : Judgement::kDoesNotHold;
  }
  return Judgement::kUnknown;
}

// Returns whether all loads have exactly the effect that the condition names (`off` is the distance
// between the two), as with counts that depend on the work alone.
bool IsExactly(double off, const Answer& answer) {
  return answer.rounding == 0 && answer.standard_error <= 2 * kSumError &&
         std::abs(off) <= 10 * kSumError;
}

}  // namespace

Judgement Judge(const Condition& condition, const Answer& answer) {
  if (answer.scale == Scale::kDifference) return JudgeDifference(condition, answer);
  if (!std::isfinite(answer.standard_error) ||
      std::min(answer.loads_a, answer.loads_b) < kLeastLoads) {
    return Judgement::kUnknown;
  }
  const double off = answer.center - std::log1p(condition.change);
  if (IsExactly(off, answer)) return Judgement::kDoesNotHold;  // neither less nor more
  const auto sure = [&](double distance) {
    return TailBeyond(answer, distance - answer.rounding) <= answer.alpha;
  };
  const bool above = sure(off);
  const bool below = sure(-off);
  if (!above && !below) return Judgement::kUnknown;
  return below == condition.less ? Judgement::kHolds : Judgement::kDoesNotHold;
}

Judgement JudgeOneOf(size_t n, const Condition& condition, Answer answer) {
  const Judgement at_whole_level = Judge(condition, answer);
  if (at_whole_level != Judgement::kHolds) return at_whole_level;
  answer.alpha /= static_cast<double>(n);
  return Judge(condition, answer);
}

}  // namespace testbed

#include "tools/statistics/sentence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "tools/output/json_text.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

// From this ratio on, the sentence gives a factor in place of per cent.
constexpr double kFactor = 3;

constexpr char kNoChange[] = "0.0";  // PercentText(0)

const char* Word(const Metric& metric, bool more) {
  if (metric.speed) return more ? "faster" : "slower";
  return more ? "higher" : "lower";
}

std::string Subject(const Metric& metric, const std::string& b) {
  return metric.name == "rate" ? b : metric.name + " of " + b;
}

std::string Different(const Answer& answer, const Metric& metric, const std::string& b) {
  const bool more = answer.outcome == Outcome::kMore;
  const std::string is = fmt::format("{} is {} by ", Subject(metric, b), Word(metric, more));
  double low = answer.low, at = answer.effect, high = answer.high;
  if (answer.scale == Scale::kDifference) {
    if (!more) std::tie(low, at, high) = std::tuple(-high, -at, -low);
    return is + fmt::format("{} ({} to {})", Short(at), Short(low), Short(high));
  }
  if (at >= kFactor) {
    return is + fmt::format("a factor of {} ({} to {})", Short(at), Short(low), Short(high));
  }
  if (!more) std::swap(low, high);
  const auto percent = [more](double ratio) {
    const std::string text = ChangeText(ratio);
    const bool opposite = more ? ratio < 1 : ratio > 1;
    return (opposite && text != kNoChange ? "-" : "") + text;
  };
  return is + fmt::format("{} % ({} to {})", percent(at), percent(low), percent(high));
}

std::string Duration(double seconds) {
  if (seconds < 1.5) return "1 more second";
  if (seconds < 90) return fmt::format("{:.0f} more seconds", seconds);
  if (seconds < 5400) return fmt::format("{:.0f} more minutes", seconds / 60);
  return fmt::format("{:.1f} more hours", seconds / 3600);
}

std::string MoreText(const Answer& answer) {
  if (!answer.more) return "; no practical number of loads would tell";
  const std::string loads = Counted(answer.more->loads, "more load") + " of each";
  if (answer.more->seconds <= 0) return fmt::format("; about {} would be enough", loads);
  return fmt::format("; about {} would be enough ({})", Duration(answer.more->seconds), loads);
}

std::string Unknown(const Answer& answer, const Metric& metric, const std::string& b) {
  if (answer.reason == Reason::kNoValues) {
    return fmt::format("cannot be told: {} was not measured on {}", metric.name,
                       answer.loads_a + answer.loads_b == 0 ? "either side" : "both sides");
  }
  if (answer.reason == Reason::kFewLoads) {
    const int n = std::min(answer.loads_a, answer.loads_b);
    return fmt::format(
        "cannot be told from {} of each, because loads differ: it takes at least {} of each{}",
        Counted(n, "load"), kLeastLoads, MoreText(answer));
  }
  if (answer.scale == Scale::kDifference) {
    return fmt::format("cannot be told: {} differs by {} to {}{}", Subject(metric, b),
                       Short(answer.low), Short(answer.high), MoreText(answer));
  }
  const auto end = [&](double ratio) {
    return fmt::format("{} % {}", ChangeText(ratio), Word(metric, ratio > 1));
  };
  return fmt::format("cannot be told: {} is between {} and {}{}", Subject(metric, b),
                     end(answer.low), end(answer.high), MoreText(answer));
}

}  // namespace

std::string PercentText(double change) {
  double percent = change * 100, size = std::abs(percent);
  if (size < 1e-6) percent = size = 0;                     // a rounding error, not a difference
  if (size >= 1e5) return fmt::format("{:.0e}", percent);  // nobody reads fifteen digits
  if (size >= 9.95) return fmt::format("{:.0f}", percent);
  if (size >= 0.995 || size == 0) return fmt::format("{:.1f}", percent);
  if (size >= 0.01) return fmt::format("{:.2f}", percent);
  return fmt::format("{:.1g}", percent);
}

std::string ChangeText(double ratio) {
  constexpr int kMostDecimals = 9;
  std::string text = PercentText(std::abs(ratio - 1));
  if (ratio <= 0 || ratio >= 1) return text;
  for (int decimals = 1; text.starts_with("100") && decimals <= kMostDecimals; ++decimals) {
    text = fmt::format("{:.{}f}", 100 * (1 - ratio), decimals);
  }
  return text.starts_with("100") ? "99." + std::string(kMostDecimals, '9') : text;
}

std::string SignedChangeText(double ratio) {
  return std::isfinite(ratio) ? (ratio < 1 ? "-" : "+") + ChangeText(ratio) : "?";
}

std::string EffectText(const Answer& answer) {
  if (!std::isfinite(answer.effect)) return "-";
  if (answer.scale == Scale::kDifference) {
    return std::isfinite(answer.low) ? fmt::format("{} ({} to {})", Short(answer.effect),
                                                   Short(answer.low), Short(answer.high))
                                     : Short(answer.effect);
  }
  std::string effect = SignedChangeText(answer.effect) + " %";
  if (!std::isfinite(answer.high)) return effect;
  return fmt::format("{} ({} to {})", effect, SignedChangeText(answer.low),
                     SignedChangeText(answer.high));
}

std::string OutcomeText(const Answer& answer, const Metric& metric) {
  switch (answer.outcome) {
    case Outcome::kLess:
      return Word(metric, false);
    case Outcome::kMore:
      return Word(metric, true);
    case Outcome::kSame:
      return "same";
    case Outcome::kUnknown:
      break;
  }
  return "cannot be told";
}

std::string Sentence(const Answer& answer, const Metric& metric, const std::string& b) {
  switch (answer.outcome) {
    case Outcome::kLess:
    case Outcome::kMore:
      return Different(answer, metric, b);
    case Outcome::kSame:
      break;
    case Outcome::kUnknown:
      return Unknown(answer, metric, b);
  }
  std::string same = (metric.name == "rate" ? "" : metric.name + " is ") +
                     fmt::format("the same within {:.9g} %", answer.margin * 100);
  if (answer.scale == Scale::kDifference || answer.high - answer.low < 1e-9) return same;
  return same +
         fmt::format(" ({} to {})", SignedChangeText(answer.low), SignedChangeText(answer.high));
}

nlohmann::json EffectJson(const Answer& answer) {
  return {{"scale", answer.scale == Scale::kRatio ? "ratio" : "difference"},
          {"effect", FiniteJson(answer.effect)},
          {"low", FiniteJson(answer.low)},
          {"high", FiniteJson(answer.high)}};
}

}  // namespace testbed

#include "tools/rate/rate_text.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>
#include <utility>

namespace testbed {
namespace {

constexpr double kMostSeconds = 1e7, kLeastRate = 0.001, kMostRate = 1e9, kLeastPeriod = 0.001;

// Parses a number that one of the units follows. Returns nothing for any other text, and for a
// value below `least` or above `most`.
template <size_t kCount>
std::optional<double> ParseWithUnit(std::string_view text,
                                    const std::pair<const char*, double> (&units)[kCount],
                                    double least, double most) {
  double x = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, x, std::chars_format::fixed);
  if (error != std::errc()) return {};
  const std::string_view unit(at, static_cast<size_t>(end - at));
  for (const auto& [name, scale] : units) {
    if (unit == name && x * scale >= least && x * scale <= most) return x * scale;
  }
  return {};
}

// Parses a rate of a curve, which may be 0.
std::optional<double> ParseCurveRate(std::string_view text) {
  if (text == "0") return 0;
  return ParseRate(text);
}

// Returns what stands before the separator, and after it. Without one, both are empty.
std::pair<std::string_view, std::string_view> Halves(std::string_view text,
                                                     std::string_view separator) {
  const size_t at = text.find(separator);
  if (at == std::string_view::npos) return {};
  return {text.substr(0, at), text.substr(at + separator.size())};
}

}  // namespace

std::optional<double> ParseSeconds(std::string_view text, double least) {
  static constexpr std::pair<const char*, double> kUnits[] = {
      {"ms", 1e-3}, {"s", 1}, {"min", 60}, {"h", 3600}};
  return ParseWithUnit(text, kUnits, least, kMostSeconds);
}

std::optional<double> ParseRate(std::string_view text) {
  static constexpr std::pair<const char*, double> kUnits[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}};
  return ParseWithUnit(text, kUnits, kLeastRate, kMostRate);
}

std::optional<RateCurve> ParseRateCurve(std::string_view text, double length) {
  if (const auto [from, to] = Halves(text, ".."); !to.empty()) {
    const std::optional<double> a = ParseCurveRate(from), b = ParseCurveRate(to);
    if (!a || !b || *a + *b == 0) return {};
    return RateCurve::Ramp(*a, *b, length);
  }
  const bool bursts = text.find('^') != std::string_view::npos;
  const auto [from, rest] = Halves(text, bursts ? "^" : "~");
  const auto [to, times] = Halves(rest, bursts ? " " : "/");
  const auto [burst_text, period_text] = Halves(times, "/");
  const std::optional<double> a = ParseCurveRate(from), b = ParseCurveRate(to);
  const std::optional<double> period = ParseSeconds(bursts ? period_text : times, kLeastPeriod);
  if (!a || !b || *a + *b == 0 || !period) return {};
  if (!bursts) return RateCurve::Wave(*a, *b, *period);
  const std::optional<double> burst = ParseSeconds(burst_text, kLeastPeriod);
  if (!burst || *burst >= *period) return {};
  return RateCurve::Burst(*a, *b, *burst, *period);
}

std::string RateCurveText(const RateCurve& curve) {
  switch (curve.shape()) {
    case RateCurve::Shape::kConstant:
      break;
    case RateCurve::Shape::kRamp:
      return fmt::format("{}..{}", curve.a(), curve.b());
    case RateCurve::Shape::kBurst:
      return fmt::format("{}^{} {}s/{}s", curve.a(), curve.b(), curve.burst(), curve.period());
    case RateCurve::Shape::kWave:
      return fmt::format("{}~{}/{}s", curve.a(), curve.b(), curve.period());
  }
  return "";
}

}  // namespace testbed

#include "tools/live/seconds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/report/figures.h"

namespace testbed {
namespace {

using nlohmann::json;

constexpr double kSlowUs = 1e6;
constexpr double kLongSeconds = 2;

}  // namespace

std::vector<PhaseSecond> SecondsOf(const json& phase) {
  std::vector<PhaseSecond> seconds;
  const auto series = phase.find("series");
  if (series == phase.end() || !series->is_array()) return seconds;
  for (const json& entry : *series) {
    PhaseSecond second;
    second.from = seconds.empty() ? 0 : seconds.back().to;
    second.to = Number(entry, "/end_seconds");
    if (!(second.to > second.from)) continue;
    second.operations = Number(entry, "/operations", 0);
    second.rate = second.operations / (second.to - second.from);
    if (second.to - second.from < kShortestForRate && series->size() > 1) second.rate = NAN;
    const bool any = second.operations > 0;
    second.p99_us = TellsPercentile(second.operations, 0.99) ? Number(entry, "/p99_us") : NAN;
    second.max_us = any ? Number(entry, "/max_us") : NAN;
    second.entry = &entry;
    seconds.push_back(second);
  }
  return seconds;
}

double MedianRate(const std::vector<PhaseSecond>& seconds) {
  std::vector<double> rates;
  for (const PhaseSecond& second : seconds) {
    if (!std::isnan(second.rate)) rates.push_back(second.rate);
  }
  if (rates.empty()) return NAN;
  std::sort(rates.begin(), rates.end());
  const size_t middle = rates.size() / 2;
  return rates.size() % 2 == 1 ? rates[middle] : (rates[middle - 1] + rates[middle]) / 2;
}

bool IsStalled(const PhaseSecond& second, double median) {
  // A slow operation makes even a rest of a phase a stall, though a rest has no rate.
  if (second.max_us >= kSlowUs) return true;
  if (std::isnan(second.rate)) return false;
  return (median > 0 && second.rate < median / 10) || second.to - second.from >= kLongSeconds;
}

std::vector<Stall> StallsOf(const std::vector<PhaseSecond>& seconds) {
  const double median = MedianRate(seconds);
  std::vector<Stall> stalls;
  for (const PhaseSecond& second : seconds) {
    if (!IsStalled(second, median)) continue;
    const double worst = std::isnan(second.max_us) ? 0 : second.max_us;
    if (!stalls.empty() && second.from - stalls.back().to < kShortestForRate) {
      Stall& stall = stalls.back();
      stall.to = second.to;
      stall.rate = std::fmin(stall.rate, second.rate);  // fmin ignores a NaN
      stall.max_us = std::max(stall.max_us, worst);
    } else {
      stalls.push_back({second.from, second.to, second.rate, worst});
    }
  }
  return stalls;
}

std::string LatencyText(double us) {
  constexpr double kRoundsUp = 999.5;  // from here on three digits would be 1e+03
  if (std::isnan(us)) return "-";
  double x = us;
  const char* unit = "us";
  for (const char* larger : {"ms", "s"}) {
    if (x < kRoundsUp) break;
    x /= 1000;
    unit = larger;
  }
  return x < kRoundsUp ? fmt::format("{:.3g} {}", x, unit) : fmt::format("{:.0f} {}", x, unit);
}

}  // namespace testbed

#include "tools/live/series_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <vector>

#include "tools/live/seconds.h"
#include "tools/live/sparkline.h"
#include "tools/output/table.h"
#include "tools/report/figures.h"

namespace testbed {
namespace {

using nlohmann::json;

constexpr double kMostColumns = 64;  // characters of a curve
constexpr size_t kMostStalls = 8;    // maximum of stalls that are listed; the curve marks all
constexpr size_t kWorst = 3;  // seconds of the least rate, and as many of the slowest operations

// The curves of a phase: one column for each `step` seconds of it. Of several seconds in a column
// the worst one counts, so that no stall vanishes in a long phase.
struct Curves {
  double step = 1;
  std::vector<double> rate, p99;  // NaN: not known
  std::string stalled;            // '!' or ' '
};

// Returns whether the span and the column [begin, end) share at least half of one of them.
// Overlapping a little is not enough, because the seconds of a series end slightly late and would
// fall into two columns.
bool LiesIn(double from, double to, double begin, double end) {
  const double shared = std::min(to, end) - std::max(from, begin);
  return shared > 0 && (shared >= (end - begin) / 2 || shared >= (to - from) / 2);
}

Curves CurvesOf(const std::vector<PhaseSecond>& seconds, const std::vector<Stall>& stalls) {
  Curves curves;
  const double length = seconds.back().to;
  // The rest at the end of a phase gets no column of its own when it is too short for a rate.
  const double whole = length - kShortestForRate;
  curves.step = std::max(1.0, std::ceil(whole / kMostColumns));
  const int columns = std::max(1, static_cast<int>(std::ceil(whole / curves.step)));
  for (int column = 0; column < columns; ++column) {
    const double begin = column * curves.step, end = begin + curves.step;
    double rate = NAN, p99 = NAN;
    bool stalled = false;
    for (const PhaseSecond& second : seconds) {
      if (!LiesIn(second.from, second.to, begin, end)) continue;
      rate = std::fmin(rate, second.rate);  // fmin returns the other value when one is NaN
      p99 = std::fmax(p99, second.p99_us);
    }
    const double reaches = column + 1 == columns ? std::max(end, length) : end;
    for (const Stall& stall : stalls) stalled |= LiesIn(stall.from, stall.to, begin, reaches);
    curves.rate.push_back(rate);
    curves.p99.push_back(p99);
    curves.stalled += stalled ? '!' : ' ';
  }
  return curves;
}

double Most(const std::vector<double>& values) {
  double most = NAN;
  for (const double value : values) most = std::fmax(most, value);
  return most;
}

std::string CurveLines(const Curves& curves) {
  const double most_rate = Most(curves.rate), most_p99 = Most(curves.p99);
  double least_p99 = NAN;
  for (const double p99 : curves.p99) {
    if (p99 > 0) least_p99 = std::fmin(least_p99, p99);
  }
  std::string text = fmt::format("  ops/s   {}  0 to {}\n", Sparkline(curves.rate, 0, most_rate),
                                 Whole(std::round(most_rate)));
  if (!std::isnan(least_p99)) {
    text += fmt::format("  p99     {}  {} to {}\n",
                        Sparkline(curves.p99, least_p99, most_p99, SparkScale::kLog),
                        LatencyText(least_p99), LatencyText(most_p99));
  }
  if (curves.stalled.find('!') != std::string::npos) {
    text += fmt::format("  stalled {}\n",
                        curves.stalled.substr(0, curves.stalled.find_last_of('!') + 1));
  }
  return text;
}

std::string StallLines(const std::vector<Stall>& stalls) {
  std::string text;
  for (size_t i = 0; i < std::min(stalls.size(), kMostStalls); ++i) {
    const Stall& stall = stalls[i];
    text += fmt::format("  stall from second {:.1f} to {:.1f}: ", stall.from, stall.to);
    const bool rate = !std::isnan(stall.rate);
    if (rate) text += fmt::format("down to {} ops/s", Whole(std::round(stall.rate)));
    if (stall.max_us > 0) {
      text += fmt::format("{}slowest operation {}", rate ? ", " : "", LatencyText(stall.max_us));
    }
    text += '\n';
  }
  if (stalls.size() > kMostStalls) {
    text += fmt::format("  and {}\n", Counted(stalls.size() - kMostStalls, "more stall"));
  }
  return text;
}

// Returns the background work with the most bytes of IO in the second.
std::string BackgroundText(const json& entry) {
  std::string most;
  double most_bytes = 0;
  const json none = json::array();
  for (const json& work : entry.value("background", none)) {
    const double read = Number(work, "/read_bytes", 0), written = Number(work, "/write_bytes", 0);
    if (read + written <= most_bytes) continue;
    most_bytes = read + written;
    most = fmt::format("{} {}", FigureText(work, "/name"), Size(std::round(most_bytes)));
  }
  return most;
}

// Returns the places of the worst seconds, in their order: those of the least rate, and those in
// which the slowest operations ended.
std::set<size_t> WorstSeconds(const std::vector<PhaseSecond>& seconds) {
  std::vector<size_t> by_rate, by_latency;
  for (size_t i = 0; i < seconds.size(); ++i) {
    if (!std::isnan(seconds[i].max_us)) by_latency.push_back(i);
    if (!std::isnan(seconds[i].rate)) by_rate.push_back(i);
  }
  std::stable_sort(by_rate.begin(), by_rate.end(),
                   [&](size_t a, size_t b) { return seconds[a].rate < seconds[b].rate; });
  std::stable_sort(by_latency.begin(), by_latency.end(),
                   [&](size_t a, size_t b) { return seconds[a].max_us > seconds[b].max_us; });
  by_rate.resize(std::min(by_rate.size(), kWorst));
  by_latency.resize(std::min(by_latency.size(), kWorst));
  std::set<size_t> worst(by_rate.begin(), by_rate.end());
  worst.insert(by_latency.begin(), by_latency.end());
  return worst;
}

std::string WorstTable(const std::vector<PhaseSecond>& seconds) {
  Table table("Worst seconds", {"second", "ops/s", "p99", "slowest", "device read", "written",
                                "reclaims", "background"});
  for (const size_t i : WorstSeconds(seconds)) {
    const PhaseSecond& second = seconds[i];
    table.Row({fmt::format("{:.1f}-{:.1f}", second.from, second.to), Whole(std::round(second.rate)),
               LatencyText(second.p99_us), LatencyText(second.max_us),
               Size(Number(*second.entry, "/device_read_bytes")),
               Size(Number(*second.entry, "/device_write_bytes")),
               Whole(Number(*second.entry, "/limit_hits")), BackgroundText(*second.entry)});
  }
  return table.empty() ? "" : table.Text(Table::kNarrow);
}

std::string PhaseText(const json& run, const json& phase) {
  const std::vector<PhaseSecond> seconds = SecondsOf(phase);
  if (seconds.empty()) return "";
  const std::vector<Stall> stalls = StallsOf(seconds);
  const Curves curves = CurvesOf(seconds, stalls);
  std::string text = fmt::format("{}: {:.1f} s, median {} ops/s", RowName(run, phase, ""),
                                 seconds.back().to, Whole(std::round(MedianRate(seconds))));
  if (curves.step > 1) text += fmt::format("; each column is the worst of {:.0f} s", curves.step);
  text += stalls.empty() ? "; no stalls\n" : fmt::format("; stalls: {}\n", stalls.size());
  return text + CurveLines(curves) + StallLines(stalls) + WorstTable(seconds) + "\n";
}

}  // namespace

std::string SeriesText(const json& document) {
  std::string text;
  ForEachPhase(document,
               [&](const json& run, const json& phase) { text += PhaseText(run, phase); });
  if (text.empty()) return "the results hold no seconds of any phase\n";
  return text;
}

}  // namespace testbed

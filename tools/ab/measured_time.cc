#include "tools/ab/measured_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/statistics/comparison.h"
#include "tools/statistics/estimate.h"

namespace testbed {
namespace {

using nlohmann::json;

constexpr double kLeastBlocks = 8;

double BlockSeconds(const AbOptions& options) {
  const double at_once = options.way == Way::kDuet ? static_cast<double>(options.sides.size()) : 1;
  return options.slice_seconds * static_cast<double>(options.sides.size()) / at_once;
}

// Returns the shortest time, in seconds, for which slices are kept.
double LeastKept(const AbOptions& options) {
  return kLeastBlocks * options.slice_seconds * static_cast<double>(options.sides.size());
}

// Returns how long slices are kept so that they and their warm-up take `both` seconds.
double WithoutWarmUp(const AbOptions& options, double both) {
  if (options.common.warmup) return both - *options.common.warmup;
  return std::max(both * 4 / 5, both - 5);
}

// The logarithms of the rates of a load's slices, by block and side.
using Blocks = std::map<int, std::map<std::string, double>>;

// Returns the logarithm of the ratio of side to first in each pair of blocks that mirror each
// other. Pairs in which a slice is missing are left out.
std::vector<double> PairsOf(const Blocks& blocks, const std::string& first,
                            const std::string& side) {
  const auto ratio = [&](int number) -> std::optional<double> {
    const auto block = blocks.find(number);
    if (block == blocks.end()) return std::nullopt;
    const auto one = block->second.find(first), other = block->second.find(side);
    if (one == block->second.end() || other == block->second.end()) return std::nullopt;
    return other->second - one->second;
  };
  std::vector<double> pairs;
  for (const auto& [number, rates] : blocks) {
    if (number % 2 == 1) continue;
    const auto early = ratio(number), late = ratio(number + 1);
    if (early && late) pairs.push_back((*early + *late) / 2);
  }
  return pairs;
}

std::optional<RatioSpread> SpreadOfSide(const std::map<int, Blocks>& loads,
                                        const std::string& first, const std::string& side) {
  std::vector<double> values, of_pairs, explained;
  for (const auto& [load, blocks] : loads) {
    const std::vector<double> pairs = PairsOf(blocks, first, side);
    if (pairs.size() < 2) continue;
    values.push_back(MeanOf(pairs));
    of_pairs.push_back(VarianceOf(pairs));
    explained.push_back(of_pairs.back() / static_cast<double>(pairs.size()));
  }
  if (values.size() < size_t{kLeastLoads}) return std::nullopt;
  return RatioSpread{MeanOf(of_pairs), std::max(0.0, VarianceOf(values) - MeanOf(explained))};
}

// Returns the --time in which the loads that an answer needs fit. A load in slices is measured the
// longer, the more time there is, so the time is found by iteration. The length of a run in rounds
// follows from --time, too, which is another use of the spare time.
double NeededSeconds(const AbOptions& options, const LoadTimes& times) {
  AbOptions longer = options;
  double needed = options.seconds();
  for (int i = 0; i < 20; ++i) {
    longer.time = needed;
    needed = std::max(needed, kLeastLoads * NextLoadSeconds(longer, times));
  }
  return WithSpareTime(needed);
}

std::string ShortSeconds(double seconds) {
  return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 1 : 0);
}

}  // namespace

std::optional<RatioSpread> SpreadOf(const json& samples) {
  std::map<int, Blocks> loads;
  std::vector<std::string> sides;
  for (const json& sample : samples) {
    const auto side = sample.at("side").get<std::string>();
    if (std::find(sides.begin(), sides.end(), side) == sides.end()) sides.push_back(side);
    const double rate = sample.at("count").get<double>() / sample.at("seconds").get<double>();
    loads[sample.at("load")][sample.at("block")][side] = std::log(rate);
  }
  std::sort(sides.begin(), sides.end());
  RatioSpread sum;
  double n = 0;
  for (size_t i = 1; i < sides.size(); ++i) {
    const auto spread = SpreadOfSide(loads, sides.front(), sides[i]);
    if (!spread) return std::nullopt;
    sum.of_pairs += spread->of_pairs;
    sum.of_loads += spread->of_loads;
    ++n;
  }
  if (n == 0) return std::nullopt;
  return RatioSpread{sum.of_pairs / n, sum.of_loads / n};
}

double WarmUpSeconds(const AbOptions& options, double seconds) {
  return options.common.warmup.value_or(std::min(5.0, seconds / 4));
}

double MeasuredSeconds(const AbOptions& options, double load_seconds, double turn_seconds,
                       const std::optional<RatioSpread>& spread) {
  constexpr double kFewLoads = 6, kManyLoads = 100, kMostTimes = 3;
  const double least = LeastKept(options);
  const auto after_loading = [&](double whole) {
    return std::max(least, WithoutWarmUp(options, whole - load_seconds));
  };
  if (options.loads > 0) return after_loading(turn_seconds);
  const double cost = load_seconds + options.common.warmup.value_or(0);
  double best = cost;
  if (spread) {
    const double of_second = spread->of_pairs * 2 * BlockSeconds(options);
    best =
        spread->of_loads > 0 ? std::sqrt(cost * of_second / spread->of_loads) : kMostTimes * cost;
    best = std::clamp(best, cost, kMostTimes * cost);
  }
  const double shortest = after_loading(options.seconds() / kManyLoads);
  return std::clamp(best, shortest,
                    std::max(shortest, after_loading(options.seconds() / kFewLoads)));
}

double NextLoadSeconds(const AbOptions& options, const LoadTimes& times) {
  const double each = times.seconds / times.loads;
  if (!options.in_slices()) return each;
  const double measured = times.measured_seconds / times.loads;
  const double least = LeastKept(options);
  if (options.loads > 0) {
    return each - std::max(0.0, measured - least - WarmUpSeconds(options, least));
  }
  const double kept = MeasuredSeconds(options, times.load_seconds / times.loads, 0, times.spread);
  return each - measured + WarmUpSeconds(options, kept) + kept;
}

std::string ShortTimeText(const AbOptions& options, const LoadTimes& times) {
  const bool few_asked = options.loads > 0 && options.loads < kLeastLoads;
  const double missing = kLeastLoads - times.loads;
  if (!options.time_ends() || few_asked || missing <= 0) return "";
  if (times.seconds + missing * NextLoadSeconds(options, times) <= options.seconds()) return "";
  const std::string loads = times.loads > 1
                                ? fmt::format("the first {:.0f} loads of the sides", times.loads)
                                : "the first load of the sides";
  return fmt::format(
      "{} took {} of the {} of --time, and an answer needs {} loads; give --time "
      "{:.0f}s or more",
      loads, ShortSeconds(times.seconds), ShortSeconds(options.seconds()), kLeastLoads,
      std::ceil(NeededSeconds(options, times)));
}

}  // namespace testbed

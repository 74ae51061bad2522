#include "workloads/linkbench/degree.h"

#include <algorithm>
#include <cmath>

namespace testbed::linkbench {
namespace {

// Two knots with the same tail form a step. Most knots are known quantiles; the others are fitted.
// For 2017, the knots below 1e-4 are fitted to the mean and to the links that LinkBench loads with
// 1 M and 10 M nodes. For 2011, the knot at 0.22 and the knots below 1e-3 are fitted to the mean
// and to the links of two published loads: 16252 s x 5421/s with 20 M nodes and 1629 s x 5886/s
// with 2 M nodes.
constexpr DegreeCurve::Knot kKnots2017[] = {
    {1, 1},      {0.203, 1},   {0.203, 2},    {0.1, 2},      {0.05, 4},      {0.01, 22},
    {1e-3, 300}, {1e-4, 2940}, {1e-5, 18500}, {1e-6, 85000}, {1e-7, 350000}, {1e-8, 4181357},
};
constexpr DegreeCurve::Knot kKnots2011[] = {
    {1, 0},       {0.547, 0},    {0.547, 1},     {0.22, 1.5},    {0.01, 15},     {1e-3, 264},
    {1e-4, 3750}, {1e-5, 45500}, {1e-6, 172000}, {1e-7, 250000}, {1e-8, 961963},
};

}  // namespace

const DegreeCurve& DegreeCurve::Of2017() {
  static const DegreeCurve curve(kKnots2017);
  return curve;
}

const DegreeCurve& DegreeCurve::Of2011() {
  static const DegreeCurve curve(kKnots2011);
  return curve;
}

// Returns the curve without rounding. At a step it returns the lower of the two values.
double DegreeCurve::Curve(double tail) const {
  const auto below = std::find_if(knots_.begin(), knots_.end(),
                                  [tail](const Knot& knot) { return knot.tail <= tail; });
  if (below == knots_.end()) return knots_.back().links;
  if (below == knots_.begin()) return below->links;
  const Knot &high = *(below - 1), &low = *below;
  if (high.links == low.links || high.tail == low.tail) return low.links;
  const double along = std::log(high.tail / tail) / std::log(high.tail / low.tail);
  return high.links * std::pow(low.links / high.links, along);
}

uint64_t DegreeCurve::Links(double tail) const {
  return static_cast<uint64_t>(std::lround(Curve(tail)));
}

double DegreeCurve::Mean() const {
  // The mean is the sum over v of the share of nodes with more than v links. The sum goes by whole
  // numbers below 1000, where rounding shapes the curve, and above by strides of one per cent.
  double sum = 0;
  double v = 0;
  while (v < static_cast<double>(Max())) {
    const double next =
        v < 1000 ? v + 1 : std::min(std::floor(v * 1.01), static_cast<double>(Max()));
    const double here = 1 - ShareUpTo(static_cast<uint64_t>(v));
    const double there = 1 - ShareUpTo(static_cast<uint64_t>(next - 1));
    sum += (here + there) / 2 * (next - v);
    v = next;
  }
  return sum;
}

double DegreeCurve::ShareUpTo(uint64_t links) const {
  if (links >= Max()) return 1;
  // Bisects for the smallest tail whose quantile is at most `links`.
  double low = knots_.back().tail / 2, high = 1;
  for (int i = 0; i < 200 && high - low > high * 1e-15; ++i) {
    const double middle = std::sqrt(low * high);
    (Links(middle) <= links ? high : low) = middle;
  }
  return 1 - high;
}

LinkDegrees::LinkDegrees(const DegreeOptions& options)
    : options_(options),
      curve_(options.is_2017 ? DegreeCurve::Of2017() : DegreeCurve::Of2011()),
      shuffler_(kDegreeSeed, options.nodes) {}

uint64_t LinkDegrees::LinksOfRank(uint64_t rank) const {
  const auto nodes = static_cast<double>(options_.nodes);
  const uint64_t links = rank == 0 ? curve_.Max() : curve_.Links(static_cast<double>(rank) / nodes);
  return options_.capped ? std::min(links, options_.nodes) : links;
}

uint64_t LinkDegrees::LinksOfType(uint64_t total, uint32_t type) const {
  const uint64_t types = options_.types;
  // Each year's distribution has its own rule: in 2017 every node has a link of each type.
  if (options_.is_2017) return std::max<uint64_t>(total, types) / types;
  const uint64_t each = total / types;
  const uint64_t left = options_.leftover_bug ? total - each : total % types;
  return each + (type < left ? 1 : 0);
}

}  // namespace testbed::linkbench

#include "tools/statistics/looks.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace testbed {
namespace {

// The one-sided level at each look, and the level over all looks: of 4,000,000 simulated
// comparisons without a difference, the share whose least p-value was at most the level
// (bench/statistics_simulation.cc --table). For the first row the simulation has too few such
// comparisons. Its level over all looks is the sum of the levels at the looks, which is an upper
// bound.
struct Row {
  double tail, anytime;
};
constexpr Row kTable[] = {
    {1e-7, 1e-7 * std::size(kLooks)},
    {1e-05, 0.0001285},
    {1.77828e-05, 0.00023},
    {3.16228e-05, 0.00038975},
    {5.62341e-05, 0.0006805},
    {0.0001, 0.00117275},
    {0.000177828, 0.0020205},
    {0.000316228, 0.00343325},
    {0.000562341, 0.0058495},
    {0.001, 0.00986875},
    {0.00177828, 0.016477},
    {0.00316228, 0.0273367},
    {0.00562341, 0.0447902},
    {0.01, 0.0722065},
    {0.0177828, 0.114592},
    {0.0316228, 0.178649},
    {0.0562341, 0.271137},
    {0.1, 0.399289},
    {0.177828, 0.564579},
    {0.316228, 0.754903},
    {0.5, 1},
};

// Returns y(x) on the straight line between two points on logarithmic axes.
double Between(double x, double x0, double y0, double x1, double y1) {
  const double at = std::log(x / x0) / std::log(x1 / x0);
  return y0 * std::pow(y1 / y0, at);
}

// Returns the value of column `to` where column `from` has x.
double LookUp(double x, double Row::*from, double Row::*to) {
  const Row& first = kTable[0];
  if (x <= first.*from) return x * (first.*to / first.*from);
  const auto next = std::find_if(std::begin(kTable), std::end(kTable),
                                 [&](const Row& row) { return row.*from >= x; });
  if (next == std::end(kTable)) return (*std::rbegin(kTable)).*to;
  const Row& before = *std::prev(next);
  return Between(x, before.*from, before.*to, next->*from, next->*to);
}

}  // namespace

int LookAt(int loads) {
  const auto after = std::upper_bound(kLooks.begin(), kLooks.end(), loads);
  return after == kLooks.begin() ? 0 : *std::prev(after);
}

int LastLook(int loads) { return loads < kLooks.front() ? 0 : std::min(loads, kLooks.back()); }

int NextLook(int loads) {
  const auto after = std::upper_bound(kLooks.begin(), kLooks.end(), loads);
  return after == kLooks.end() ? 0 : *after;
}

double AnytimeTail(double tail) { return std::max(tail, LookUp(tail, &Row::tail, &Row::anytime)); }

double LookTail(double alpha) { return LookUp(alpha, &Row::anytime, &Row::tail); }

}  // namespace testbed

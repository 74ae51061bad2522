#include "tools/statistics/corrections.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace testbed {
namespace {

std::vector<size_t> Ascending(std::span<const double> p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return p[i] < p[j]; });
  return order;
}

// Replaces the p-values of the answers that have any by adjusted ones, and decides anew.
template <typename Adjust>
std::vector<Answer*> Correct(std::span<Answer> answers, Adjust adjust) {
  std::vector<Answer*> family;
  std::vector<double> p, p_same;
  for (Answer& answer : answers) {
    if (answer.reason == Reason::kNoValues) continue;
    family.push_back(&answer);
    p.push_back(answer.p);
    p_same.push_back(answer.p_same);
  }
  p = adjust(p);
  p_same = adjust(p_same);
  for (size_t i = 0; i < family.size(); ++i) {
    family[i]->p = p[i];
    family[i]->p_same = p_same[i];
    Decide(family[i]);
  }
  return family;
}

bool Differs(const Answer* answer) {
  return answer->outcome == Outcome::kLess || answer->outcome == Outcome::kMore;
}

}  // namespace

std::vector<double> HolmAdjusted(std::span<const double> p) {
  std::vector<double> adjusted(p.size());
  double most = 0;
  auto left = static_cast<double>(p.size());
  for (size_t i : Ascending(p)) {
    most = std::max(most, std::min(1.0, left * p[i]));
    adjusted[i] = most;
    --left;
  }
  return adjusted;
}

std::vector<double> BenjaminiHochbergAdjusted(std::span<const double> p) {
  std::vector<double> adjusted(p.size());
  const std::vector<size_t> order = Ascending(p);
  double least = 1;
  for (size_t rank = order.size(); rank > 0; --rank) {
    const size_t i = order[rank - 1];
    least = std::min(least, p[i] * static_cast<double>(p.size()) / static_cast<double>(rank));
    adjusted[i] = least;
  }
  return adjusted;
}

void CorrectByHolm(std::span<Answer> answers) {
  // The answers are sorted by their p-values before adjustment, because adjusted p-values may be
  // equal.
  std::vector<Answer*> family;
  for (Answer& answer : answers) {
    if (answer.reason != Reason::kNoValues) family.push_back(&answer);
  }
  std::stable_sort(family.begin(), family.end(),
                   [](const Answer* x, const Answer* y) { return x->p < y->p; });
  Correct(answers, HolmAdjusted);
  auto left = static_cast<double>(family.size());
  for (Answer* answer : family) {
    const bool rejected = answer->p <= answer->alpha;
    *answer = AtLevel(*answer, answer->alpha / left);
    ForecastPairs(answer);
    if (rejected) --left;
  }
}

void ControlFalseDiscoveries(std::span<Answer> answers) {
  const std::vector<Answer*> family = Correct(answers, BenjaminiHochbergAdjusted);
  const auto selected =
      std::max<ptrdiff_t>(1, std::count_if(family.begin(), family.end(), Differs));
  const double share = static_cast<double>(selected) / static_cast<double>(family.size());
  for (Answer* answer : family) {
    *answer = AtLevel(*answer, answer->alpha * share);
    ForecastPairs(answer);
  }
}

}  // namespace testbed

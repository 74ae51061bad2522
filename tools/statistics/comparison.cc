#include "tools/statistics/comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "tools/statistics/estimate.h"
#include "tools/statistics/looks.h"
#include "tools/statistics/student.h"

namespace testbed {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A value and its weight in a mean.
struct Weighted {
  double value, weight;
};

// Returns the mean of the values by their weights, with the sum of these.
Weighted WeightedMeanOf(const std::vector<Weighted>& values) {
  double sum = 0, weight = 0;
  for (const Weighted& v : values) weight += v.weight;
  for (const Weighted& v : values) sum += v.value * (v.weight / weight);
  return {sum, weight};
}

// The values of a load, by side. A side has one for each run, or for each slice of each run. Slices
// of paired loads have a value of each side at the same place.
struct Load {
  std::array<std::vector<Weighted>, 2> values;
};

// The samples sorted into loads. Samples of the same slice are averaged: an ABBA block may have two
// of each side.
class Loads {
 public:
  Loads(std::span<const Sample> samples, Pairing pairing) {
    for (const Sample& s : samples) {
      const bool weighs = std::isfinite(s.weight) && s.weight > 0;
      if (!std::isfinite(s.value) || !weighs || (s.side != kA && s.side != kB)) {
        ++left_out_;
        continue;
      }
      cells_[s.load][{s.run, s.block}][static_cast<size_t>(s.side)].push_back({s.value, s.weight});
    }
    for (const auto& [number, cells] : cells_) Add(cells, pairing);
  }

  // Drops the loads after the first `n`.
  void Keep(size_t n) {
    for (; loads_.size() > n; loads_.pop_back()) {
      left_out_ +=
          static_cast<int>(loads_.back().values[kA].size() + loads_.back().values[kB].size());
    }
  }
  const std::vector<Load>& all() const { return loads_; }
  int left_out() const { return left_out_; }
  int Count(Side side) const {
    return static_cast<int>(std::count_if(loads_.begin(), loads_.end(), [&](const Load& load) {
      return !load.values[side].empty();
    }));
  }

 private:
  using Cell = std::array<std::vector<Weighted>, 2>;
  using Cells = std::map<std::pair<int, int>, Cell>;  // by run and block

  void Add(const Cells& cells, Pairing pairing) {
    Load load;
    const bool paired = pairing == Pairing::kLoads;
    const bool sliced = paired && std::any_of(cells.begin(), cells.end(), [](const auto& cell) {
                          return cell.first.second >= 0;
                        });
    for (const auto& [key, cell] : cells) {
      if (sliced && (cell[kA].empty() || cell[kB].empty())) {
        left_out_ += static_cast<int>(cell[kA].size() + cell[kB].size());
        continue;
      }
      for (size_t side : {kA, kB}) {
        if (!cell[side].empty()) load.values[side].push_back(WeightedMeanOf(cell[side]));
      }
    }
    if (paired && (load.values[kA].empty() || load.values[kB].empty())) {
      left_out_ += static_cast<int>(load.values[kA].size() + load.values[kB].size());
      return;
    }
    loads_.push_back(std::move(load));
  }

  std::map<int, Cells> cells_;
  std::vector<Load> loads_;
  int left_out_ = 0;
};

StandardErrors ErrorsOf(const Answer& answer) {
  return {StandardError{answer.standard_error, answer.freedom},
          StandardError{answer.pooled_error, answer.pooled_freedom}};
}

// The estimate from which an answer is made, on the scale of logarithms or of differences.
struct Estimated {
  double center = kUnknownValue;
  double variance = kUnknownValue;  // variance of the center
  double freedom = 0;
  double rounding = 0;                           // Answer::rounding
  StandardError pooled;                          // Answer::pooled_error
  std::optional<std::array<double, 2>> spreads;  // Answer::spreads
  std::array<double, 2> means = {kUnknownValue, kUnknownValue};
};

class Estimator {
 public:
  // `resolution` and `grain` are those of CompareOptions.
  Estimator(const std::vector<Load>& loads, double resolution, double grain) : loads_(loads) {
    double largest = 0, least = kInfinity;
    for (const Load& load : loads_) {
      for (size_t side : {kA, kB}) {
        if (load.values[side].empty()) continue;
        const double mean = WeightedMeanOf(load.values[side]).value;
        of_load_[side].push_back(mean);
        ratio_ = ratio_ && mean > 0;
        largest = std::max(largest, std::abs(mean));
        least = std::min(least, mean);
      }
    }
    unit_ = ratio_ ? 1 : largest;
    // On the scale of logarithms a step of fixed size is largest at the least value.
    step_ = std::max(unit_ * resolution, ratio_ ? grain / least : grain);
    for (auto& means : of_load_) {
      for (double& mean : means) {
        if (ratio_) mean = std::log(mean);
      }
    }
  }

  bool ratio() const { return ratio_; }
  Estimated Paired() const;
  Estimated Welch() const;

 private:
  Estimated Means() const {
    Estimated e;
    for (size_t side : {kA, kB}) {
      if (!of_load_[side].empty()) e.means[side] = MeanOf(of_load_[side]);
    }
    e.center = e.means[kB] - e.means[kA];
    for (Side side : {kA, kB}) e.rounding += AllAlike(side) ? step_ / 2 : 0;
    return e;
  }
  // Returns whether the loads of a side spread so little that their rounding errors are alike. With
  // normal values and a standard deviation of half a step or more, rounding errors average out to
  // about a hundredth of a step.
  bool AllAlike(Side side) const { return 4 * VarianceOf(of_load_[side]) < step_ * step_; }
  // Returns the least variance of the value of a load. A coarse value is rounded to one of two
  // neighbouring steps, which adds at most a quarter of a step squared. Loads that are all rounded
  // alike get no variance by rounding, but an error of its own (Estimated::rounding).
  double LeastVariance(Side side) const {
    const double exact = unit_ * kSumError;
    return exact * exact + (AllAlike(side) ? 0 : step_ * step_ / 4);
  }

  const std::vector<Load>& loads_;
  std::array<std::vector<double>, 2> of_load_;  // means of the loads, or their logarithms
  bool ratio_ = true;
  double unit_ = 1;  // size of the values; 1 for logarithms
  double step_ = 0;  // distance between neighbouring values
};

Estimated Estimator::Paired() const {
  Estimated e = Means();
  const size_t n = loads_.size();
  e.freedom = static_cast<double>(n) - 1;
  if (n < 2) return e;
  std::vector<double> effects;
  for (size_t i = 0; i < n; ++i) effects.push_back(of_load_[kB][i] - of_load_[kA][i]);
  e.variance =
      std::max(VarianceOf(effects), LeastVariance(kA) + LeastVariance(kB)) / static_cast<double>(n);
  return e;
}

Estimated Estimator::Welch() const {
  Estimated e = Means();
  if (of_load_[kA].size() < 2 || of_load_[kB].size() < 2) return e;
  e.variance = 0;
  std::array<double, 2> spreads = {0, 0}, loads = {0, 0};
  for (Side side : {kA, kB}) {
    const auto n = static_cast<double>(of_load_[side].size());
    loads[side] = n;
    spreads[side] = std::max(VarianceOf(of_load_[side]), LeastVariance(side));
    e.variance += spreads[side] / n;
  }
  const StandardErrors errors = UnpairedErrors(spreads, loads);
  e.freedom = errors[0].freedom;
  e.pooled = errors[1];
  e.spreads = spreads;
  return e;
}

// Returns the distance from a center to the end of its interval, beyond which the share `tail` is.
double HalfWidth(const StandardErrors& errors, double tail, bool sequential) {
  double half = 0;
  for (const StandardError& e : errors) {
    if (!(e.error > 0)) continue;
    half = std::max(half, e.error * StudentQuantile(sequential ? LookTail(tail) : tail, e.freedom));
  }
  return half;
}

// Returns the largest absolute difference, on the answer's scale, that counts as the same.
double MarginOf(const Answer& answer) {
  return answer.scale == Scale::kRatio ? std::log1p(answer.margin)
                                       : answer.margin * std::max(0.0, answer.a);
}

void Test(Answer* answer) {
  if (answer->standard_error == 0) {  // all values are 0
    answer->p = answer->center == 0 ? 1 : 0;
    answer->p_same = 1 - answer->p;
    return;
  }
  const double distance = std::abs(answer->center);
  answer->p = std::min(1.0, 2 * TailBeyond(*answer, std::max(0.0, distance - answer->rounding)));
  answer->p_same = TailBeyond(*answer, MarginOf(*answer) - distance - answer->rounding);
}

// Returns whether `more` further loads of each side would answer the question when the spread and
// the difference stay as they are.
bool WouldTell(const Answer& answer, int more) {
  const std::array<double, 2> n = {static_cast<double>(answer.loads_a + more),
                                   static_cast<double>(answer.loads_b + more)};
  const StandardErrors errors =
      answer.spreads ? UnpairedErrors(*answer.spreads, n)
                     : StandardErrors{StandardError{
                           answer.standard_error * std::sqrt(answer.loads_a / n[kA]), n[kA] - 1}};
  const double distance = std::abs(answer.center);
  return distance - answer.rounding > HalfWidth(errors, answer.alpha / 2, answer.sequential) ||
         distance + answer.rounding + HalfWidth(errors, answer.alpha, answer.sequential) <
             MarginOf(answer);
}

// Returns the number of further loads of each side that would answer the question; 0 when not even
// those would with which the side that has fewer comes to kMostForecastLoads or, with `sequential`,
// to the last look.
int Enough(const Answer& answer) {
  const int now = std::min(answer.loads_a, answer.loads_b);
  if (answer.reason == Reason::kFewLoads) return kLeastLoads - now;
  if (!std::isfinite(answer.standard_error)) return 0;  // the values are too large to square
  if (answer.sequential) {
    for (int n = NextLook(now); n > 0; n = NextLook(n)) {
      if (WouldTell(answer, n - now)) return n - now;
    }
    return 0;
  }
  // WouldTell stays true once it is true for fewer loads, so the least number is found by
  // bisection.
  const int most = kMostForecastLoads - now;
  if (most <= 0 || !WouldTell(answer, most)) return 0;
  int not_enough = 0, enough = most;
  while (enough - not_enough > 1) {
    const int middle = (enough + not_enough) / 2;
    (WouldTell(answer, middle) ? enough : not_enough) = middle;
  }
  return enough;
}

}  // namespace

double TailBeyond(const Answer& answer, double distance) {
  double tail = 0;
  for (const StandardError& e : ErrorsOf(answer)) {
    if (e.error > 0) tail = std::max(tail, StudentTail(distance / e.error, e.freedom));
  }
  return answer.sequential ? AnytimeTail(tail) : tail;
}

void ForecastPairs(Answer* answer) {
  answer->more.reset();
  if (answer->told() || answer->reason == Reason::kNoValues) return;
  const int more = Enough(*answer);
  if (more == 0) return;
  answer->more = Answer::More{more, more * answer->seconds_per_load};
}

Answer AtLevel(Answer answer, double alpha) {
  answer.alpha = alpha;
  const bool ratio = answer.scale == Scale::kRatio;
  double half = kInfinity;
  if (answer.standard_error == 0) {
    half = 0;
  } else if (std::isfinite(answer.standard_error)) {
    half = HalfWidth(ErrorsOf(answer), alpha / 2, answer.sequential) + answer.rounding;
  }
  const auto shown = [&](double x) { return ratio ? std::exp(x) : x; };
  answer.low = shown(answer.center - half);
  answer.high = shown(answer.center + half);
  return answer;
}

void Decide(Answer* answer) {
  answer->outcome = Outcome::kUnknown;
  if (!std::isfinite(answer->center)) {
    answer->reason = Reason::kNoValues;
  } else if (std::min(answer->loads_a, answer->loads_b) < kLeastLoads) {
    answer->reason = Reason::kFewLoads;
  } else if (answer->p <= answer->alpha) {
    answer->outcome = answer->center < 0 ? Outcome::kLess : Outcome::kMore;
  } else if (answer->p_same <= answer->alpha) {
    answer->outcome = Outcome::kSame;
  } else {
    answer->reason = Reason::kTooWide;
  }
  if (answer->told()) answer->reason = Reason::kNone;
}

Answer Compare(std::span<const Sample> samples, const CompareOptions& options) {
  const bool paired = options.pairing == Pairing::kLoads;
  Loads loads(samples, options.pairing);
  Answer answer;
  if (options.sequential) {
    // Before the first look the answer shows the effect and decides nothing.
    const int n = paired ? loads.Count(kA) : std::min(loads.Count(kA), loads.Count(kB));
    const int look = options.ended ? LastLook(n) : LookAt(n);
    if (look > 0) loads.Keep(static_cast<size_t>(look));
  }
  answer.sequential = options.sequential;
  answer.seconds_per_load = options.seconds_per_load;
  answer.margin = options.margin;
  answer.loads_a = loads.Count(kA);
  answer.loads_b = loads.Count(kB);
  answer.left_out = loads.left_out();
  if (answer.loads_a == 0 || answer.loads_b == 0) return answer;
  const Estimator estimator(loads.all(), options.resolution, options.grain);
  const Estimated e = paired ? estimator.Paired() : estimator.Welch();
  const auto shown = [&](double x) { return estimator.ratio() ? std::exp(x) : x; };
  answer.scale = estimator.ratio() ? Scale::kRatio : Scale::kDifference;
  answer.a = shown(e.means[kA]);
  answer.b = shown(e.means[kB]);
  answer.center = e.center;
  answer.effect = shown(e.center);
  const bool looked = !options.sequential || LookAt(std::min(answer.loads_a, answer.loads_b)) > 0;
  if (std::isfinite(e.variance) && looked) {
    answer.standard_error = std::sqrt(e.variance);
    answer.freedom = e.freedom;
    answer.rounding = e.rounding;
    answer.spreads = e.spreads;
    answer.pooled_error = e.pooled.error;
    answer.pooled_freedom = e.pooled.freedom;
    if (std::min(answer.loads_a, answer.loads_b) >= kLeastLoads) Test(&answer);
  }
  answer = AtLevel(answer, options.alpha);
  Decide(&answer);
  ForecastPairs(&answer);
  return answer;
}

}  // namespace testbed

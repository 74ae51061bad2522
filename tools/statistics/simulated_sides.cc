#include "tools/statistics/simulated_sides.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "tools/statistics/student.h"

namespace testbed {

double SimulatedSides::Shaped(SimulatedWorld::Shape shape) {
  const double z = normal_();
  switch (shape) {
    case SimulatedWorld::kNormal:
      return z;
    // An exponential tail to one side, as waits have: a lognormal deviate, brought to mean 0 and
    // variance 1. Its logarithm has the standard deviation 0.8.
    case SimulatedWorld::kSkewed: {
      constexpr double kVariance = 0.64;
      const double mean = std::exp(kVariance / 2);
      return (std::exp(0.8 * z) - mean) / (mean * std::sqrt(std::expm1(kVariance)));
    }
    // Two modes of equal weight, 10 of their own standard deviations apart.
    case SimulatedWorld::kBimodal:
      return ((random_.Next() & 1) != 0 ? 5 + z : -5 + z) / std::sqrt(26.0);
  }
  return z;
}

void SimulatedSides::DrawLoad(const SimulatedWorld& world, const SimulatedPlan& plan, Sample sample,
                              double level, std::vector<Sample>* samples) {
  level += world.loads * Shaped(world.shape);
  const auto rounded = [&](double value) {
    return world.step > 0 ? (std::floor(value / world.step) + 0.5) * world.step : value;
  };
  const int slices = sample.load < 3 ? plan.slices : plan.slices * world.longer;
  for (int run = 0; run < plan.runs; ++run) {
    const double of_run = level + world.runs * Shaped(world.shape);
    for (int slice = 0; slice < slices; ++slice) {
      sample.run = run;
      sample.block = slice;
      sample.value = std::exp(rounded(of_run + world.slices * Shaped(world.shape)));
      samples->push_back(sample);
    }
  }
}

std::vector<Sample> SimulatedSides::Draw(const SimulatedWorld& world, const SimulatedPlan& plan,
                                         double ratio) {
  std::vector<Sample> samples;
  const double difference = std::log(ratio);
  double machine = world.step > 0 ? world.step * random_.Unit() : 0;
  const auto drift = [&] { machine += world.drift * (normal_() + 0.5); };
  const auto one = [&](int side, int load) {
    DrawLoad(world, plan, {.side = side, .load = load}, machine + (side == kA ? 0 : difference),
             &samples);
  };
  std::vector<int> order(static_cast<size_t>(plan.sides));
  std::iota(order.begin(), order.end(), 0);
  if (plan.design == SimulatedDesign::kStored) {
    for (const int side : order) {
      for (int load = 0; load < plan.loads; ++load, drift()) one(side, load);
    }
    return samples;
  }
  for (int load = 0; load < plan.loads; ++load, drift()) {
    std::iota(order.begin(), order.end(), 0);
    for (size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[i - 1 - random_.Next() % i]);
    }
    for (size_t i = 0; i < order.size(); ++i) {
      if (i > 0 && plan.design == SimulatedDesign::kRounds) drift();
      one(order[i], load);
    }
  }
  return samples;
}

CompareOptions OptionsOf(const SimulatedWorld& world, const SimulatedPlan& plan) {
  CompareOptions options;
  options.resolution = world.step;
  if (plan.design == SimulatedDesign::kStored) options.pairing = Pairing::kNone;
  return options;
}

std::vector<double> LeastTails(std::span<const int> looks, int paths, uint64_t seed) {
  Normal normal(seed);
  std::vector<double> least(static_cast<size_t>(paths));
  for (double& of_path : least) {
    double mean = 0, squares = 0;
    of_path = 1;
    auto look = looks.begin();
    for (int n = 1; look != looks.end(); ++n) {
      const double value = normal(), off = value - mean;
      mean += off / n;
      squares += off * (value - mean);
      if (n != *look) continue;
      ++look;
      const double t = mean / std::sqrt(squares / (n - 1) / n);
      of_path = std::min(of_path, StudentTail(t, n - 1));
    }
  }
  std::sort(least.begin(), least.end());
  return least;
}

}  // namespace testbed

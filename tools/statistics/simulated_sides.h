// Two sides that are simulated, so that the truth about them is known: what tests and
// bench/statistics_simulation.cc try the statistics on. Not thread-safe.
#ifndef TESTBED_TOOLS_STATISTICS_SIMULATED_SIDES_H_
#define TESTBED_TOOLS_STATISTICS_SIMULATED_SIDES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/statistics/comparison.h"
#include "tools/statistics/normal.h"

namespace testbed {

// A SimulatedWorld says how the logarithms of the values spread.
struct SimulatedWorld {
  enum Shape { kNormal, kSkewed, kBimodal };
  std::string name;
  Shape shape = kNormal;  // shape of the spread of loads and of slices
  double loads = 0.01;    // standard deviation between loads, of each side
  double runs = 0;        // standard deviation between runs of a load
  double slices = 0.02;   // standard deviation between slices of a run, on each side
  int longer = 1;         // how many times as many slices each load from the fourth on has
  double drift = 0;       // random walk with a trend of the machine's speed from load to load
  // The values are rounded to steps of this relative size, as percentiles are to the buckets of a
  // histogram; 0: they are exact. Where the steps lie is drawn for each comparison.
  double step = 0;
};

enum class SimulatedDesign {
  kInterleave,  // load i of both sides at the same time, in slices: the machine is the same to both
  kRounds,      // load i of both sides one after the other, in random order
  kStored,      // all loads of A, with their runs, then all loads of B: unpaired
};

struct SimulatedPlan {
  SimulatedDesign design = SimulatedDesign::kInterleave;
  int loads = 5, runs = 1, slices = 10;
  int sides = 2;  // the samples of further ones have the sides 2, 3, ...
};

class SimulatedSides {
 public:
  explicit SimulatedSides(uint64_t seed) : normal_(seed), random_(~seed) {}
  // Returns the samples of a plan. Each other side is `ratio` times A, whatever the world.
  std::vector<Sample> Draw(const SimulatedWorld& world, const SimulatedPlan& plan, double ratio);

 private:
  double Shaped(SimulatedWorld::Shape shape);  // a deviate of mean 0 and variance 1
  void DrawLoad(const SimulatedWorld& world, const SimulatedPlan& plan, Sample sample, double level,
                std::vector<Sample>* samples);

  Normal normal_;
  Random random_;
};

// Returns the options that a plan's samples in a world are compared with.
CompareOptions OptionsOf(const SimulatedWorld& world, const SimulatedPlan& plan);

// Returns, in ascending order, the least one-sided p-value of each of `paths` simulated t tests
// without a difference, which were looked at at these numbers of normal values.
std::vector<double> LeastTails(std::span<const int> looks, int paths, uint64_t seed);

}  // namespace testbed

#endif  // TESTBED_TOOLS_STATISTICS_SIMULATED_SIDES_H_

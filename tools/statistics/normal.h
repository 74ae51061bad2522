// Standard normal numbers, for simulation and resampling.
#ifndef TESTBED_TOOLS_STATISTICS_NORMAL_H_
#define TESTBED_TOOLS_STATISTICS_NORMAL_H_

#include <cstdint>

#include "workloads/random.h"

namespace testbed {

// Generates standard normal numbers (Box, Muller, "A note on the generation of random normal
// deviates", Annals of Mathematical Statistics, 1958). Not thread-safe.
class Normal {
 public:
  explicit Normal(uint64_t seed) : random_(seed) {}
  double operator()();

 private:
  Random random_;
  double spare_ = 0;
  bool has_spare_ = false;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_STATISTICS_NORMAL_H_

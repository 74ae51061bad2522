// The order in which the sides of a comparison take turns.
//
// A machine that slowly becomes faster or slower favours the side that comes later or earlier. In
// ABBA order (and likewise ABC CBA) each side is as late as the other on average, so that a drift
// that is even over the four slices cancels. Which side begins is drawn, so that nothing periodic
// keeps step with the order. Whole runs are in random order (A. Abedi and T. Brecht, "Conducting
// Repeatable Experiments in Highly Variable Cloud Computing Environments", ICPE 2017).
#ifndef TESTBED_TOOLS_AB_TURNS_SCHEDULE_H_
#define TESTBED_TOOLS_AB_TURNS_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "workloads/random.h"

namespace testbed {

// Not thread-safe.
class Schedule {
 public:
  Schedule(int sides, uint64_t seed) : sides_(sides), random_(seed) {}
  // Returns the sides in the order of the next block, in which each takes one slice: in random
  // order first, in the reverse of it next, and so on.
  std::vector<int> NextBlock();
  // Returns the sides in random order.
  std::vector<int> Shuffled();

 private:
  const int sides_;
  Random random_;
  std::vector<int> reverse_;  // order of the next block; empty: the order is drawn
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_TURNS_SCHEDULE_H_

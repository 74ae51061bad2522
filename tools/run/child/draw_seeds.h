// The seeds by which the workloads of a run draw their rows. No phase of any task draws the rows of
// another phase in the same order, whatever task performs that: it would find them cached. Threads
// add their numbers to what the workload makes of the seed. Thread-safe.
#ifndef TESTBED_TOOLS_RUN_CHILD_DRAW_SEEDS_H_
#define TESTBED_TOOLS_RUN_CHILD_DRAW_SEEDS_H_

#include <cstdint>

#include "workloads/random.h"

namespace testbed {

// Returns the seed of a task of the run, whose own seed is that of task 0.
inline uint64_t SeedOfTask(uint64_t seed, int task) {
  constexpr uint64_t kTasks = 0x7461736b00000000;  // above all numbers of drawings
  return task == 0 ? seed : Mix64(seed ^ Mix64(kTasks + static_cast<uint64_t>(task)));
}

// Returns the seed of the workload that is number `drawing`, from 1, among the workloads of the run
// that draw rows.
inline uint64_t SeedOfDrawing(uint64_t seed, uint64_t drawing) {
  return drawing == 1 ? seed : Mix64(seed ^ Mix64(drawing));
}

// Returns the seed of the phase that follows its warm-up; `seed` is the warm-up's.
inline uint64_t SeedAfterWarmUp(uint64_t seed) { return Mix64(seed); }

// Returns the seed of the next phase that tries a share of the memory or a rate. `seed` is that of
// the phase tried before it, or of the workload for the first one.
inline uint64_t SeedOfNextTrial(uint64_t seed) {
  constexpr uint64_t kTrials = 0x747269616c000000;
  return Mix64(seed ^ kTrials);
}

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_CHILD_DRAW_SEEDS_H_

// Samples what happens around the clients of a phase in each of its intervals: the device and other
// programs' part of it, the machine, background work, and the memory of the run's budget.
//
//   IntervalSurroundings surroundings(depth, device, budget);
//   ... a second ...
//   surroundings.Sample(&interval);   // what happened since it was made, or since the last sample
//
// Not thread-safe.
#ifndef TESTBED_WORKLOADS_MEASURE_INTERVAL_SURROUNDINGS_H_
#define TESTBED_WORKLOADS_MEASURE_INTERVAL_SURROUNDINGS_H_

#include "device/account/block_device.h"
#include "device/machine/host_activity.h"
#include "device/machine/memory_budget.h"
#include "workloads/measure/background_work.h"
#include "workloads/measure/slices.h"

namespace testbed {

class IntervalSurroundings {
 public:
  // `device` and `budget` may be null; otherwise they must outlive the sampler.
  IntervalSurroundings(AccountDepth depth, const BlockDevice* device, const MemoryBudget* budget);
  // Sets the interval's figures of the device, other programs, the machine, background work and
  // memory.
  void Sample(Interval* interval);

 private:
  const BlockDevice* const device_;
  const MemoryBudget* const budget_;
  BackgroundSampler background_;
  DeviceStats last_device_;
  MemoryUsage last_memory_;
  HostActivity last_host_;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_INTERVAL_SURROUNDINGS_H_

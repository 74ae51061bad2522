// Samples the IO of background work while a phase runs: compaction, checkpoints, eviction, and any
// other work that no operation of a client caused directly.
//
//   BackgroundSampler sampler(AccountDepth::kFile);
//   ... a second ...
//   for (const BackgroundWork& work : sampler.Sample()) ...   // of that second
//
// A sample reads the counters of all threads, some hundred kilobytes, so it is for once a second.
// Not thread-safe.
#ifndef TESTBED_WORKLOADS_MEASURE_BACKGROUND_WORK_H_
#define TESTBED_WORKLOADS_MEASURE_BACKGROUND_WORK_H_

#include <cstdint>
#include <vector>

#include "device/account/ledger.h"

namespace testbed {

struct BackgroundWork {
  OpKind op;
  uint64_t read_bytes = 0, write_bytes = 0;  // by file calls, else by kernel requests
};

class BackgroundSampler {
 public:
  explicit BackgroundSampler(AccountDepth depth);
  // Returns the kinds of background operations that read or wrote since the last sample, or since
  // the sampler was made. Empty when the account is off.
  std::vector<BackgroundWork> Sample();

 private:
  const AccountDepth depth_;
  std::vector<BackgroundWork> last_;  // totals by OpKind.id
  static std::vector<BackgroundWork> Totals();
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_BACKGROUND_WORK_H_

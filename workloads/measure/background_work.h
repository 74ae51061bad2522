// Samples the IO of background work while a phase runs: compaction, checkpoints, eviction, and any
// other work that no operation of a client caused directly. Samples the requests of other programs
// with it.
//
//   BackgroundSampler sampler(AccountDepth::kFile);
//   ... a second ...
//   for (const BackgroundWork& work : sampler.Sample()) ...   // of that second
//   const uint64_t others = sampler.other_programs().reads;   // of that second, too
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
  // Returns the requests of other programs between the last two samples; 0 without the kernel
  // account, which alone can tell them apart. A figure may be below 0, as int64_t (BlockCounts).
  const BlockCounts& other_programs() const { return others_; }

 private:
  const AccountDepth depth_;
  std::vector<BackgroundWork> last_;  // totals by OpKind.id
  // Requests of other programs: those between the last two samples, and all up to the last one.
  BlockCounts others_, last_others_;
  static std::vector<BackgroundWork> Totals(const LedgerCounts& counts);
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_BACKGROUND_WORK_H_

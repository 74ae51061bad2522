// A phase in slices: the clients work only while a SliceControl lets them, and rest between the
// slices. Two runs whose slices alternate several times a second see the same machine, so that what
// disturbs the machine changes both runs alike (tools/ab).
#ifndef TESTBED_WORKLOADS_MEASURE_SLICES_H_
#define TESTBED_WORKLOADS_MEASURE_SLICES_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "device/account/counts.h"
#include "device/machine/memory_budget.h"
#include "workloads/measure/background_work.h"
#include "workloads/measure/histogram.h"
#include "workloads/measure/phase_account.h"

namespace testbed {

// One second of a phase, or one slice; the last second may be shorter. The intervals' counts add up
// to the phase's.
struct Interval {
  double end_seconds;  // since the phase began; in slices, the time that the clients have worked
  uint64_t operations;
  double mean_ns;
  uint64_t p50_ns, p99_ns, p999_ns, max_ns;
  std::vector<uint64_t> counts;          // operations of each kind, by index into Workload::ops()
  std::vector<uint64_t> max_latency_ns;  // maximum latency of each kind, by the same index
  uint64_t device_reads, device_read_bytes, device_writes, device_write_bytes;
  // Context switches and CPU time of the whole machine.
  uint64_t host_context_switches;
  double host_user_seconds, host_system_seconds;
  // Bytes of this process and of the run's servers in memory at the end of the second; 0 when not
  // known.
  uint64_t resident_bytes;
  std::vector<BackgroundWork> background;
  // The memory of the budget's group at the end of the second, except that `failcnt` and `refaults`
  // are counts of the second. Nothing without a budget.
  std::optional<MemoryUsage> memory;
  // The histogram of the interval's latencies of all kinds (HistogramCounts::Buckets), and their
  // sum. Empty without PhaseOptions::interval_buckets.
  std::vector<std::pair<uint64_t, uint64_t>> latency_ns = {};
  double sum_ns = 0;
  CheckBlocks checks = {};  // blocks that the checks in this interval asked for
  // The requests of other programs among those of the device (BackgroundSampler::other_programs).
  BlockCounts other_programs = {};
};

// KnowsLatency returns whether the interval has percentiles and a maximum. It has none where no
// operation ended, or where none of those that ended is among the latencies. No operation takes
// 0 ns.
inline bool KnowsLatency(const Interval& i) { return i.max_ns != 0; }

// Grants a phase its slices. The phase's main thread calls Next, Begins, Ends and Done in turn, and
// each while all clients rest.
class SliceControl {
 public:
  virtual ~SliceControl() = default;
  // Blocks until the next slice is due, and returns its length in seconds. Returns nullopt when the
  // phase is to end.
  virtual std::optional<double> Next() = 0;
  // The clients work from the return of Begins to the call of Ends. The phase samples its
  // surroundings before Begins and after Ends, since that is no work of the clients.
  virtual void Begins() {}
  virtual void Ends() {}
  // Receives a slice: what was counted while the clients worked, the latencies of its operations of
  // all kinds, and the mean time in seconds that the clients worked.
  virtual void Done(const Interval& slice, const HistogramCounts& latency, double seconds) = 0;
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_SLICES_H_

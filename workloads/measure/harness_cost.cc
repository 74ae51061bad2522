#include "workloads/measure/harness_cost.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "engines/null/null_engine.h"
#include "workloads/rows/point_read.h"
#include "workloads/trace/trace_recorder.h"

namespace testbed {

uint64_t HarnessCostOperations(uint64_t value_size) {
  constexpr uint64_t kLeast = 16, kMost = 50000, kBytes = 256 << 20;
  return std::clamp(kBytes / std::max<uint64_t>(1, value_size), kLeast, kMost);
}

double HarnessCostNs(const PhaseOptions& options, std::shared_ptr<const Dataset> dataset,
                     WorkloadOptions draws, bool recording) {
  draws.extra.clear();                                      // options of other workloads
  if (!dataset->HasRoomBetweenKeys()) draws.hit_ratio = 1;  // only other workloads accept less
  const uint64_t value_size = dataset->options().value_size;
  EngineOptions null_options;
  null_options.extra["value_size"] = std::to_string(value_size);
  std::unique_ptr<Engine> engine = NullEngineInfo().open("", null_options);
  auto workload = MakePointRead(std::move(dataset), draws);
  PhaseOptions calibration;
  calibration.operations = HarnessCostOperations(value_size);
  calibration.verify_every = 0;
  calibration.latency = options.latency;
  calibration.account = options.account;
  calibration.consume = options.consume;
  calibration.stop = options.stop;
  double best = NAN;
  for (int i = 0; i < 3; ++i) {
    std::optional<TraceRecorder> recorder;
    if (recording) recorder.emplace("", *engine, workload->name(), workload->ops());
    calibration.recorder = recording ? &*recorder : nullptr;
    const PhaseResult result =
        RunPhase(recording ? recorder->engine() : *engine, *workload, calibration);
    if (result.partial) break;
    best = std::fmin(best, result.seconds * 1e9 / static_cast<double>(result.operations()));
  }
  return best;
}

}  // namespace testbed

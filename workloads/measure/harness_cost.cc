#include "workloads/measure/harness_cost.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engines/null/null_engine.h"
#include "workloads/rows/point_read.h"
#include "workloads/trace/trace_recorder.h"

namespace testbed {

double HarnessCostNs(const PhaseOptions& options, std::shared_ptr<const Dataset> dataset,
                     WorkloadOptions draws, bool recording) {
  draws.extra.clear();                                      // options of other workloads
  if (!dataset->HasRoomBetweenKeys()) draws.hit_ratio = 1;  // only other workloads accept less
  EngineOptions null_options;
  null_options.extra["value_size"] = std::to_string(dataset->options().value_size);
  std::unique_ptr<Engine> engine = NullEngineInfo().open("", null_options);
  auto workload = MakePointRead(std::move(dataset), draws);
  PhaseOptions calibration;
  calibration.operations = 200000;
  calibration.verify_every = 0;
  calibration.latency = options.latency;
  calibration.account = options.account;
  calibration.consume = options.consume;
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    std::optional<TraceRecorder> recorder;
    if (recording) recorder.emplace("", *engine, workload->name(), workload->ops());
    calibration.recorder = recording ? &*recorder : nullptr;
    const PhaseResult result =
        RunPhase(recording ? recorder->engine() : *engine, *workload, calibration);
    best = std::min(best, result.seconds * 1e9 / static_cast<double>(result.operations()));
  }
  return best;
}

}  // namespace testbed

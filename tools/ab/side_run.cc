#include "tools/ab/side_run.h"

#include <string>

namespace testbed {

using nlohmann::json;

SideRun::SideRun(const AbSide& side, int load, bool in_slices, bool alone,
                 const Surroundings& surroundings, DatabaseDir* dir, bool execute)
    : options_(side.options) {
  options_.data.seed += static_cast<uint64_t>(load);
  options_.workload.seed = options_.data.seed;
  dir->Prepare();
  plan_.phases = options_.workloads;
  plan_.threads = options_.threads[0];
  plan_.repeat = load;
  plan_.label = "side " + side.label;
  plan_.engine_dir = dir->engine_path();
  plan_.exclusive_device = alone && surroundings.exclusive_device();
  plan_.in_slices = in_slices;
  budget_ = surroundings.NewBudgetOf(options_.ram_bytes);
  plan_.budget = budget_.get();
  read_limit_ = surroundings.NewReadLimit(budget_.get());
  plan_.read_limit = read_limit_.get();
  process_ = std::make_unique<RunProcess>(options_, plan_, RunWatch{},
                                          RunStart{execute, side.environment});
}

json SideRun::Finish() {
  json run = process_->Finish();
  run.erase("population");
  run.erase("writing_phases");
  for (json& phase : run["phases"]) {
    phase.erase("series");
    if (!phase.contains("operations")) continue;
    for (json& operation : phase["operations"]) {
      operation.erase("latency_ns_histogram");
      operation.erase("latency_from_intended_ns_histogram");
    }
  }
  return run;
}

}  // namespace testbed

#include "tools/crashtest/crashtest_checks.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "device/error.h"
#include "device/machine/fault_disk.h"
#include "device/machine/scratch.h"
#include "engines/registry.h"
#include "tools/crashtest/crash_process.h"
#include "tools/output/table.h"

namespace testbed {

void CheckCrashtest(const CrashtestOptions& options) {
  const EngineInfo& info = FindEngine(options.run.engine_name);
  const Capabilities& can = info.capabilities;
  if (!can.persistent || !can.reads || !can.transactions) {
    throw Error(Error::kUsage,
                options.run.engine_name +
                    " keeps nothing that could be read back, so it has no crash to survive; "
                    "choose another --engine");
  }
  if (options.writers < 1 || options.writers > CrashShared::kMaxWriters) {
    throw Error(Error::kUsage, fmt::format("--writers takes 1 to {}", CrashShared::kMaxWriters));
  }
  if (options.kills + options.power_cuts + options.disk_cuts + options.disk_errors == 0) {
    throw Error(
        Error::kUsage,
        "crashtest without a crash proves nothing; give --kills, --power-cuts, --disk-cuts or "
        "--disk-errors 1 or more");
  }
  CheckEngineOptions(info, options.run.engine);
  if (options.run.engine.durability == Durability::kNone) {
    throw Error(Error::kUsage, "crashtest needs --durability sync or lazy: none promises nothing");
  }
  std::string why;
  if (options.power_cuts > 0 && !ScratchDevice::Available(&why)) {
    throw Error(Error::kUsage, "--power-cuts needs a scratch device: " + why);
  }
  const bool fault_disk = options.disk_cuts + options.disk_errors > 0;
  if (fault_disk && (!ScratchDevice::Available(&why) || !FaultDisk::Available(&why))) {
    throw Error(Error::kUsage,
                std::string(options.disk_cuts > 0 ? "--disk-cuts" : "--disk-errors") +
                    " needs a scratch device on FUSE: " + why);
  }
}

uint64_t PromisedAgeMs(const CrashtestOptions& options) {
  // A busy machine may run the thread that syncs late.
  constexpr uint64_t kSlackMs = 500;
  const EngineOptions& engine = options.run.engine;
  if (engine.durability != Durability::kLazy) return 0;
  return 2 * uint64_t{engine.lazy_interval_ms} + kSlackMs;
}

void FailIfNothingWasTested(const CrashtestOptions& options, CrashtestResult* result) {
  if (result->stopped || !result->failures.empty()) return;
  const auto errors = static_cast<uint64_t>(options.disk_errors);
  const uint64_t cuts = errors + static_cast<uint64_t>(options.power_cuts + options.disk_cuts);
  if (cuts > 0 && result->file_systems_lost >= cuts) {
    result->failures.push_back(
        fmt::format("none of {} left a file system that can be mounted, which tests nothing",
                    Counted(cuts, "crash", "crashes")));
  } else if (errors > 0 && result->disk_errors == 0) {
    result->failures.push_back(
        fmt::format("the disk refused no write in {} of disk errors, which tests nothing; give "
                    "more --disk-errors",
                    Counted(errors, "round")));
  }
}

}  // namespace testbed

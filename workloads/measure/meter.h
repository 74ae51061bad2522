// Reads all levels of the ledger at a phase's borders, and makes of two readings the account of the
// phase: who caused what, level by level, and whether the levels add up.
//
// A reading is taken at rest: dirty pages of the file system are written out (charged to
// writeback), then the counts are read between two equal readings of an idle device, so that no
// request is counted at one level and not yet at the other.
#ifndef TESTBED_WORKLOADS_MEASURE_METER_H_
#define TESTBED_WORKLOADS_MEASURE_METER_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "device/account/block_device.h"
#include "engines/engine.h"
#include "engines/registry.h"
#include "workloads/measure/runner.h"

namespace testbed {

struct Reading {
  LedgerCounts ledger;
  std::optional<DeviceStats> device;
  EngineCounters engine;
  double cpu_user_seconds = 0, cpu_system_seconds = 0;       // of the process
  uint64_t process_read_bytes = 0, process_write_bytes = 0;  // the kernel's account of the process
  uint64_t major_faults = 0;
  bool at_rest = true;  // false: the device never came to rest, the levels may differ
};

class Meter {
 public:
  // `device` may be null (its level is then not known).
  Meter(const Engine& engine, std::string dir, AccountDepth depth, const BlockDevice* device,
        bool kernel_account)
      : engine_(engine),
        dir_(std::move(dir)),
        depth_(depth),
        device_(device),
        kernel_account_(kernel_account),
        file_layer_(FindEngine(engine.name()).capabilities.file_layer) {}

  Reading Read() const;

  // The account of what happened between two readings (docs/results.md, "phase").
  nlohmann::json Account(const Reading& before, const Reading& after) const;

 private:
  void ReadAtRest(Reading* reading) const;
  const Engine& engine_;
  const std::string dir_;
  const AccountDepth depth_;
  const BlockDevice* const device_;
  const bool kernel_account_;
  const bool file_layer_;  // the engine's files are counted at the file level
};

// Whether a series of per-second values has come to a steady state: over its last half, the
// straight line through it moves by less than `tolerance` of its mean, and so does the mean between
// its two quarters (the test fio calls slope and mean). Empty when there are fewer than 6 values.
std::optional<bool> Steady(const std::vector<double>& values, double tolerance = 0.05);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_METER_H_

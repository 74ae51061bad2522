// A Meter reads all levels of the ledger at the borders of a phase. From two readings it makes the
// account of the phase: which operation caused which cost, level by level, and whether the levels
// add up.
//
//   Meter meter(engine, dir, depth, &device, kernel_account);
//   const Reading before = meter.Read();
//   ... the phase ...
//   nlohmann::json account = meter.Account(before, meter.Read());
//
// With the depth kDevice a reading is taken at rest. The meter writes the file system's dirty pages
// out (charged to writeback) and then reads the counts between two equal readings of an idle
// device, so that no request is counted at one level and not yet at another.
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
  bool at_rest = true;  // false if the device did not come to rest, so that levels may differ
};

class Meter {
 public:
  // `engine` and `device` must outlive the meter. If `device` is null, its level stays unknown.
  // `kernel_account` says whether the ledger has a kernel account.
  Meter(const Engine& engine, std::string dir, AccountDepth depth, const BlockDevice* device,
        bool kernel_account)
      : engine_(engine),
        dir_(std::move(dir)),
        depth_(depth),
        device_(device),
        kernel_account_(kernel_account),
        file_layer_(FindEngine(engine.name()).capabilities.file_layer) {}

  Reading Read() const;

  // Returns the account of what happened between two readings (docs/results.md, "phase").
  nlohmann::json Account(const Reading& before, const Reading& after) const;

 private:
  void ReadAtRest(Reading* reading) const;
  const Engine& engine_;
  const std::string dir_;
  const AccountDepth depth_;
  const BlockDevice* const device_;
  const bool kernel_account_;
  const bool file_layer_;  // whether the engine's files are counted at the file level
};

// Returns whether a series of per-second values has come to a steady state. Over the last half of
// the series the fitted straight line must move by less than `tolerance` of the mean, and the means
// of its two quarters must differ by less than that (fio calls these tests slope and mean). Returns
// nothing for fewer than 6 values.
std::optional<bool> Steady(const std::vector<double>& values, double tolerance = 0.05);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_METER_H_

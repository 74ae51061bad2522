// Reads all levels of the ledger at the borders of a phase, and turns two readings into the account
// of the phase: which operation caused which I/O at each level, and whether the levels agree.
//
// A reading is taken at rest. First the file system's dirty pages are written back, charged to
// writeback. Then the counts are read between two equal readings of an idle device, so that no
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
  double cpu_user_seconds = 0, cpu_system_seconds = 0;       // of this process
  uint64_t process_read_bytes = 0, process_write_bytes = 0;  // of this process, counted by the
                                                             // kernel
  uint64_t major_faults = 0;
  bool at_rest = true;  // false: the device never became idle, so the levels may differ
};

// Thread-safe, as far as the engine's Counters() is.
class Meter {
 public:
  // `device` may be null; then the device level is missing from the account. The engine and the
  // device must outlive the meter.
  Meter(const Engine& engine, std::string dir, AccountDepth depth, const BlockDevice* device,
        bool kernel_account)
      : engine_(engine),
        dir_(std::move(dir)),
        depth_(depth),
        device_(device),
        kernel_account_(kernel_account),
        file_layer_(FindEngine(engine.name()).capabilities.file_layer) {}

  // Returns the current counts. Waits up to some seconds for the device to become idle when the
  // account reaches down to the device.
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

// Returns whether a series of per-second values has reached a steady state: over its last half, the
// fitted line moves by less than `tolerance` of the mean, and so does the mean from the first
// quarter to the second (fio's slope and mean criteria). Returns nothing for fewer than 6 values.
std::optional<bool> Steady(const std::vector<double>& values, double tolerance = 0.05);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_METER_H_

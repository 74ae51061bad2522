// Reads all levels of the ledger at the borders of a phase, and turns two readings into the account
// of the phase (phase_account.h): which operation caused which I/O at each level, and whether the
// levels agree.
//
// A reading is taken at rest. First the file system's dirty pages are written back, charged to
// writeback. Then the counts are read between two equal readings of an idle device, so that no
// request is counted at one level and not yet at the other.
#ifndef TESTBED_WORKLOADS_MEASURE_METER_H_
#define TESTBED_WORKLOADS_MEASURE_METER_H_

#include <optional>
#include <string>
#include <vector>

#include "device/account/block_device.h"
#include "engines/engine.h"
#include "engines/registry.h"
#include "workloads/measure/phase_account.h"
#include "workloads/measure/runner.h"

namespace testbed {

struct Reading {
  LedgerCounts ledger;
  std::optional<DeviceStats> device;
  EngineCounters engine;
  // The addresses of the engine's server, and the counters of each, where it has several.
  std::vector<ServerAddress> addresses;
  std::vector<std::optional<EngineCounters>> by_address;
  double cpu_user_seconds = 0, cpu_system_seconds = 0;       // the run's (device/os/run_cpu.h)
  uint64_t process_read_bytes = 0, process_write_bytes = 0;  // this process's, counted by the
                                                             // kernel
  uint64_t major_faults = 0;
  uint64_t context_switches = 0;  // switches of this process, voluntary and not
  bool at_rest = true;            // false: not read on an idle device, so levels may differ
};

// Thread-safe, as far as the engine's Counters() is.
class Meter {
 public:
  // `device` may be null; then the device level is missing from the account. `own_device` says that
  // no other program does IO on the device. The engine and the device must outlive the meter.
  Meter(const Engine& engine, std::string dir, AccountDepth depth, const BlockDevice* device,
        bool own_device, bool kernel_account)
      : engine_(engine),
        dir_(std::move(dir)),
        depth_(depth),
        device_(device),
        own_device_(own_device),
        kernel_account_(kernel_account),
        file_layer_(FindEngine(engine.name()).capabilities.file_layer),
        is_server_(FindEngine(engine.name()).capabilities.server),
        log_is_dsync_(file_layer_ && LogIsDsync(engine)) {}

  // Returns the current counts. Waits for the device to become idle when the account reaches down
  // to the device: up to some seconds on a device of its own, up to one second on a device that
  // other programs use, which may never be idle.
  Reading Read() const;
  // Writes the dirty pages of the database's file system back, charged to writeback, when the
  // account reaches down to the device.
  void WriteBack() const;
  // Returns the current counts at once, for the borders of slices: a write-back that is under way
  // is then counted in the slice in which it ends.
  Reading ReadNow() const;

  // Returns the account of what happened between two readings.
  PhaseAccount Account(const Reading& before, const Reading& after) const;

 private:
  static bool LogIsDsync(const Engine& engine);
  void ReadAtRest(Reading* reading) const;
  void ReadProcess(Reading* reading) const;
  const Engine& engine_;
  const std::string dir_;
  const AccountDepth depth_;
  const BlockDevice* const device_;
  const bool own_device_;
  const bool kernel_account_;
  const bool file_layer_;    // whether the engine's files are counted at the file level
  const bool is_server_;     // whether the engine is the client of a server
  const bool log_is_dsync_;  // whether each write of the log is durable by itself (O_DSYNC)
};

// Returns whether a series of per-second values has reached a steady state: over its last half, the
// fitted line moves by less than `tolerance` of the mean, and so does the mean from the third
// quarter to the fourth (fio's slope and mean criteria). Returns nothing for fewer than 6 values.
std::optional<bool> Steady(const std::vector<double>& values, double tolerance = 0.05);

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_METER_H_

// The account of a phase: the difference of two readings of all levels of the ledger
// (workloads/measure/meter.h). docs/results.md, "The account of a phase", lists what the results
// document holds of it.
#ifndef TESTBED_WORKLOADS_MEASURE_PHASE_ACCOUNT_H_
#define TESTBED_WORKLOADS_MEASURE_PHASE_ACCOUNT_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "device/account/block_device.h"
#include "device/account/counts.h"
#include "device/account/grade.h"
#include "engines/engine.h"

namespace testbed {

// The cost of log writes: as the engine reports it, at the device, and as estimated from the
// engine's counters alone (workloads/measure/log_estimate.h).
struct LogWrites {
  // The calls to the log's files, for an engine whose files are counted at the file level.
  struct Calls {
    uint64_t writes = 0;
    uint64_t syncs = 0;  // sync calls; with O_DSYNC each write counts as one, too
    uint64_t estimate_least_bytes = 0, estimate_bytes = 0;
  };
  std::optional<uint64_t> bytes;  // the engine's own count, or else bytes of its file calls
  std::optional<Calls> calls;
  // Bytes that the device wrote for log files, and for the file system's journal and metadata; 0
  // without the kernel account.
  uint64_t device_bytes = 0, journal_bytes = 0;
};

// What the server at one of several addresses counted.
struct AddressAccount {
  ServerAddress address;
  std::optional<EngineCounters> engine;  // nothing when the address was lost
};

// Blocks that checks of answers asked of the engine's cache (Session::BlockCounts).
struct CheckBlocks {
  uint64_t checks = 0;  // checks whose blocks were counted
  uint64_t requests = 0, misses = 0;
  CheckBlocks& operator+=(const CheckBlocks& o) {
    checks += o.checks;
    requests += o.requests;
    misses += o.misses;
    return *this;
  }
};

struct PhaseAccount {
  bool counts_files = false;      // the engine's files are counted at the file level
  bool counts_in_kernel = false;  // the kernel account tells what operations caused
  bool counts_wire = false;       // the engine is a server's client, and its bytes were counted
  LedgerCounts ledger;            // by operation, and of threads outside the run
  EngineCounters engine;          // cache_bytes and `now` are the values at the phase's end
  std::optional<LogWrites> log;   // nothing when no log was written
  double cpu_user_seconds = 0, cpu_system_seconds = 0;       // the run's (device/os/run_cpu.h)
  uint64_t process_read_bytes = 0, process_write_bytes = 0;  // bytes of this process, by the kernel
  uint64_t major_faults = 0;
  uint64_t context_switches = 0;      // switches of this process, voluntary and not
  std::optional<DeviceStats> device;  // nothing when the device was not read
  bool at_rest = true;                // false: the device was read, but not at rest at both ends
  std::optional<Closure> closure;     // needs the device and the kernel account
  // One account for each address of the engine's server, where it has several; `engine` is their
  // sum.
  std::vector<AddressAccount> addresses;
  // What LeaveOut took out of `engine`; nothing where the engine counts checks with operations.
  std::optional<CheckBlocks> checks;

  // Takes the blocks of checks out of the engine's requests and hits, which are those of operations
  // then. What checks read from files stays in its other counters.
  void LeaveOut(const CheckBlocks& blocks) {
    if (blocks.checks == 0 || !engine.block_requests) return;
    checks = blocks;
    const uint64_t hits = blocks.requests - std::min(blocks.misses, blocks.requests);
    *engine.block_requests -= std::min(blocks.requests, *engine.block_requests);
    if (!engine.block_hits) return;
    *engine.block_hits -= std::min(hits, *engine.block_hits);
    *engine.block_hits = std::min(*engine.block_hits, *engine.block_requests);
  }
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_MEASURE_PHASE_ACCOUNT_H_

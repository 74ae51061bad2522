// What a run measured, as values: the record of a phase and the record of the run. The run fills
// them in and decides by them (child/child_run.cc); run_json.h writes them as the parts "phase" and
// "run" of a results document (docs/results.md), and nothing else writes these parts. What the
// fields of the document mean stands there.
#ifndef TESTBED_TOOLS_RUN_RUN_RECORD_H_
#define TESTBED_TOOLS_RUN_RUN_RECORD_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/account/grade.h"
#include "device/machine/memory_budget.h"
#include "engines/disk_size.h"
#include "tools/cache/cache_tuning.h"
#include "tools/rate/rate_search.h"
#include "tools/run/memory_watch.h"
#include "tools/run/readahead_2014.h"
#include "tools/run/tasks/task_figures.h"
#include "workloads/measure/phase_account.h"
#include "workloads/measure/runner.h"

namespace testbed {

enum class PhaseKind : uint8_t {
  kLoad,     // a phase that writes a database
  kMeasure,  // the workload that the user asked for
  kWarmUp,   // runs before kMeasure, so that it begins with full caches
  kTune,     // a trial of --cache-pct auto, a step of --find-rate
  kSettle,   // a step after a phase: flush, compaction or checkpoint
  kCount,    // a step before a phase, which counts the rows when they are not known
};

// A step that counted rows.
struct CountedRows {
  std::optional<uint64_t> rows;  // nothing when the rows are still not known
  bool stopped = false;          // because the count was stopped
};

struct PhaseRecord {
  // What the clients of a workload did; a step between phases has none.
  struct Work {
    int threads = 1;
    double target_rate = 0;   // operations per second; 0 = as fast as it goes
    std::vector<OpKind> ops;  // the workload's kinds of operations
    PhaseResult result;
    nlohmann::json details;  // what the workload itself tells (Workload::Details); null = nothing
  };
  struct Held {
    MemoryWatch::Held watched;
    bool reads_page_cache = false;  // page cache answers reads of the engine
  };
  struct Memory {
    MemoryParts parts;
    MemoryUsage usage;  // `failcnt` counts the phase alone
    // The engine tells what its cache holds, or it has none. Otherwise the cache is a part of
    // `process_other`.
    bool knows_cache = true;
  };

  std::string name;
  PhaseKind kind = PhaseKind::kMeasure;
  double seconds = 0;
  // The shares of all processors that other programs and that the run took in user mode, and that
  // the hypervisor took; nothing when not known.
  std::optional<double> foreign_cpu_share, own_cpu_share, steal_share;
  std::optional<Work> work;
  std::vector<TaskFigures> tasks = {};  // each task of a run of several, in order
  std::optional<CountedRows> counted;
  std::optional<Readahead2014> readahead;
  std::optional<Held> held;      // over the phase
  std::optional<Memory> memory;  // at its end; nothing without a budget
  PhaseAccount account;
  Grade grade;
  uint64_t database_bytes = 0, log_file_bytes = 0;
  // With --cache-pct auto, which chooses anew for each workload: the share of --ram, in percent,
  // that the engine's cache had; nothing for the trials.
  std::optional<double> cache_pct;

  uint64_t operations() const { return work ? work->result.operations() : 0; }
  // Returns the operations that caused what the phase did, with those that got no answer
  // (ChargedOperations, tools/report/figures.h).
  uint64_t charged_operations() const {
    return work ? work->result.operations() + work->result.unanswered() : 0;
  }
  // Returns the reads at the device, without those of other programs (OwnDeviceIo,
  // tools/report/figures.h), divided by charged_operations(), or by 1 when there is none; 0 when
  // the device was not read.
  double DeviceReadsPerOperation() const;
  // Returns the time that the device took for these reads, in seconds: the mean time of all its
  // reads for each of them, since the device's statistics tell the time of all together.
  double DeviceReadSecondsPerOperation() const;
  // Returns the bytes in the engine's cache and in the page cache at the phase's end; 0 without a
  // budget.
  double CachedBytes() const;
};

// A RunAccounting says how exact the account of a run is.
struct RunAccounting {
  std::string depth;
  Grade grade;                       // the worst of the phases'
  bool in_kernel = false;            // the kernel account tells what operations caused
  std::vector<std::string> missing;  // figures that this machine cannot give
  double harness_ns_per_operation = 0;
  bool clock_is_tsc = false;
};

struct EngineInUse {
  std::string name, version;
  std::map<std::string, std::string> effective;  // settings as the engine reports them
};

// The trials of --cache-pct auto for a workload, and the share that it chose for that workload.
struct CacheTuning {
  std::string workload;
  double start_pct = 0, chosen_pct = 0;
  std::vector<CacheTrial> trials;
  nlohmann::json prediction;  // null when none was made
};

struct RunError {
  std::string sentence;
  int exit_code = 1;
};

// A run without its phases, which the child sends to its parent one by one. A field that is not
// known yet is empty.
struct RunRecord {
  int threads = 1;
  int repeat = 0;
  std::optional<RunAccounting> accounting;
  std::optional<EngineInUse> engine;
  std::vector<CacheTuning> cache_tunings;  // one for each workload that had a search, in order
  std::vector<FoundRate> found_rates;  // by --find-rate, one for each workload that does not load
  std::optional<DiskSize> database_size;
  std::optional<uint64_t> database_rows;   // known only with database_size
  std::optional<bool> partial;             // set when the run came to its end, or was stopped
  nlohmann::json population;               // rows of the database (Population::ToJson); null = none
  std::optional<uint64_t> writing_phases;  // number of the phase that wrote last
  std::optional<RunError> error;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_RUN_RECORD_H_

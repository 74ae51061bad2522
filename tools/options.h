// The command line of a run: the name, the accepted values and the default of every setting.
//
//   RunOptions options = ParseRunOptions({"--engine", "btree", "--cache-pct", "20"});
//   options.Resolve();
//
// An option has one name everywhere: on the command line, in JSON and in the documentation. A value
// that is not accepted makes parsing throw Error (kUsage) with one sentence that names the option
// and the accepted values, before anything is created.
#ifndef TESTBED_TOOLS_OPTIONS_H_
#define TESTBED_TOOLS_OPTIONS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/account/ledger.h"
#include "device/machine/scratch.h"
#include "engines/engine.h"
#include "tools/live/live_options.h"
#include "tools/option_values.h"
#include "tools/output/progress_options.h"
#include "tools/run/tasks/task_options.h"
#include "workloads/measure/arrivals/arrivals.h"
#include "workloads/workload.h"

namespace CLI {
class App;
}

namespace testbed {

struct EngineInfo;
struct WorkloadInfo;

struct RunOptions {
  std::string engine_name;
  std::string release;  // "10.4.2" of rocksdb@10.4.2; empty: the one that is linked in
  EngineOptions engine;
  std::string server, connect;        // Resolve moves them to engine.extra
  std::optional<IoMode> io;           // unset: the engine's default
  std::optional<uint32_t> page_size;  // in bytes; unset: the engine's default
  std::string dir;  // empty: a temporary directory below the current one, removed at the end
  bool fresh = false, reuse = false;
  std::optional<uint64_t> readahead_bytes;  // unset: the device keeps its read_ahead_kb
  uint64_t ram_bytes = 256ull << 20;        // 0 = not bounded
  double cache_pct = 50;
  bool cache_auto = false;  // search for the fastest share; the search starts at cache_pct
  bool cache_most = false;  // use the largest share that fits; rehearsals start at cache_pct
  std::optional<uint64_t> cache_bytes;  // replaces cache_pct
  bool strict = false;
  uint64_t scratch_bytes = 0;  // 0 = no scratch device
  bool scratch_auto = false;   // Resolve computes scratch_bytes from the size of the data
  FileSystem scratch_fs = FileSystem::kExt4;
  uint64_t read_iops = 0;  // most reads per second that the device answers; 0 = no limit

  DatasetOptions data;
  std::optional<uint64_t> rows;  // replaces db_ratio
  double db_ratio = 4;           // bytes of keys and values per byte of ram_bytes
  uint32_t databases = 1;        // databases that tables are spread over (engines/databases.h)

  std::vector<std::string> workloads = {"insert", "point-read"};
  // Settings that --workload gives to single workloads, by the place of each among those that do
  // not load; all four are empty when it gives none. phase_seconds and phase_rates are 0 where
  // --seconds or --rate decides. phase_curves says how a rate changes around the mean in
  // phase_rates (tools/rate/rate_text.h), or "". phase_popular is WorkloadOptions::popular_rows.
  std::vector<double> phase_seconds, phase_rates;
  std::vector<std::string> phase_curves;
  std::vector<uint32_t> phase_popular;
  // Phases follow each other at once, without a warm-up or settling that the list does not name.
  bool at_once = false;
  std::vector<int> threads = {8};
  int queue_depth = 1;
  WorkloadOptions workload;
  uint64_t operations = 0;
  std::optional<double> seconds, warmup;
  double rate = 0;
  Arrivals arrivals = Arrivals::kEven;
  std::string find_rate;  // limit of latency (tools/rate/rate_limit.h); empty: no search
  uint32_t verify_every = 64;
  Consume consume = Consume::kTouch;
  uint64_t added_delay_ns = 0;  // delay that is added to every operation
  int repeat = 1;               // loads, each with a seed of its own
  int repeat_runs = 1;          // runs on each load
  bool drop_caches = false, readahead_model = false;
  bool exclusive_device = false;  // no other program does IO on the device that dir is on

  AccountDepth account = AccountDepth::kDevice;
  // Directory in which --cache-pct most keeps its rehearsals for later runs; empty: none are kept.
  std::string rehearsals_dir;
  // Directory of the original when the database in dir, which is used with reuse, is a copy. The
  // workload writes, so the copy is made anew after each rehearsal and before each run but the
  // first. Empty: the database in dir is no copy.
  std::string copy_of;
  std::string record_file;  // file of the recorded trace; empty: no recording
  std::string json_file, csv_file, csv_series_file;  // "-" is standard output
  std::string label;  // the user's name for these runs, kept in the results
  bool wide = false;  // the report has all columns of its tables
  // Options of a sweep (tools/experiment/sweep/sweep.h): the directory of its results, the file to
  // write instead of running, the number of rounds (0: one), and whether it only prints a forecast.
  std::string out_dir, save_file;
  int rounds = 0;
  bool forecast = false, quiet = false;
  LiveOptions live;
  TaskOptions tasks;  // options of a run whose clients are several processes

  ProgressOptions progress() const { return live.Progress(quiet); }

  // Return what --workload gives to the n-th workload that does not load. When it gives nothing,
  // OwnSeconds and OwnRate are 0, OwnCurve is "" and OwnPopular is 1.
  double OwnSeconds(size_t n) const { return n < phase_seconds.size() ? phase_seconds[n] : 0; }
  double OwnRate(size_t n) const { return n < phase_rates.size() ? phase_rates[n] : 0; }
  std::string OwnCurve(size_t n) const { return n < phase_curves.size() ? phase_curves[n] : ""; }
  uint32_t OwnPopular(size_t n) const { return n < phase_popular.size() ? phase_popular[n] : 1; }

  // Computes the settings that depend on several options or on the engine: the engine's defaults,
  // the cache size, the number of rows, the size of the scratch device. Throws Error (kUsage) for
  // options that exclude each other or that the engine does not support.
  void Resolve();

  // Returns the bytes that the engine's cache has of this share of ram_bytes, in percent.
  uint64_t CacheBytesOf(double pct) const;

  // Returns the engine as --engine takes it, with its release if that is known: rocksdb@10.4.2.
  std::string EngineWithRelease() const;

  // Returns "options" of a results document (docs/results.md). Resolve has been called.
  nlohmann::json ToJson() const;

 private:
  void ResolveVariant();
  void ResolveRelease();
  void ResolveCache(const Capabilities& can);
  void CheckSearchedCache(const Capabilities& can) const;
  void CheckPhases(const Capabilities& can) const;
  void CheckQueueDepth(const Capabilities& can) const;
  void CheckDropCaches() const;
};

// These five functions add options to `app`, each in groups of its own. AddEngineOptions adds those
// of the engine, the device and the memory. Parsing stores the values in `options`, which must
// outlive `app`.
void AddEngineOptions(CLI::App& app, RunOptions& options);
void AddDataOptions(CLI::App& app, RunOptions& options);
void AddWorkloadOptions(CLI::App& app, RunOptions& options);
void AddOutputOptions(CLI::App& app, RunOptions& options);
void AddSweepOptions(CLI::App& app, RunOptions& options);

// Return the engine or the workload with this name, as FindEngine and FindWorkload do. For an
// unknown name they throw Error (kUsage), whose sentence guesses what was meant.
const EngineInfo& FindKnownEngine(const std::string& name);
const WorkloadInfo& FindKnownWorkload(const std::string& name);

// Parses the words of a command line, without the program's name. Returns `base`, or the default
// options, with what the words change; Resolve has not been called. Throws Error (kUsage) for an
// unknown option or a refused value.
RunOptions ParseRunOptions(const std::vector<std::string>& words, RunOptions base);
RunOptions ParseRunOptions(const std::vector<std::string>& words);

// Returns the bytes of the device that --scratch auto makes for `data_bytes` of keys and values. It
// has room for the database, a second copy that an engine may write beside it, `log_bytes` of log
// in each database (CheckpointLogBytes), and space that an engine allocates ahead of its writes.
uint64_t ScratchBytesFor(uint64_t data_bytes, uint32_t databases, uint64_t log_bytes);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OPTIONS_H_

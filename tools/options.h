// The command line of a run: every setting with its name, its accepted values and its default.
//
// An option has the same name everywhere: on the command line, in JSON and in the documentation.
// For a value that is not accepted, the parser throws Error (kUsage) with one sentence that names
// the option and what it accepts; nothing has been created by then.
#ifndef TESTBED_TOOLS_OPTIONS_H_
#define TESTBED_TOOLS_OPTIONS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/account/ledger.h"
#include "engines/engine.h"
#include "tools/option_values.h"
#include "workloads/measure/arrivals.h"
#include "workloads/workload.h"

namespace CLI {
class App;
}

namespace testbed {

struct RunOptions {
  std::string engine_name;
  EngineOptions engine;
  std::optional<IoMode> io;           // empty: the engine's default mode
  std::optional<uint32_t> page_size;  // empty: the engine's default size
  std::string dir;  // empty: a temporary directory below the current one, removed afterwards
  bool fresh = false, reuse = false;
  std::optional<uint64_t> readahead_bytes;
  uint64_t ram_bytes = 256ull << 20;  // 0 = unlimited
  double cache_pct = 50;
  bool cache_auto = false;              // search for the fastest share, starting at cache_pct
  bool cache_most = false;              // rehearse for the largest share that fits, starting at
                                        // cache_pct
  std::optional<uint64_t> cache_bytes;  // overrides cache_pct
  bool strict = false;
  uint64_t scratch_bytes = 0;  // 0 = no scratch device
  bool scratch_auto = false;   // derive scratch_bytes from the data
  std::string scratch_fs = "ext4";
  uint64_t read_iops = 0;  // limit of the device's reads per second; 0 = none

  DatasetOptions data;
  std::optional<uint64_t> rows;  // overrides db_ratio
  double db_ratio = 4;           // database size / ram_bytes
  uint32_t databases = 1;        // databases among which the tables are distributed
                                 // (engines/databases.h)

  std::vector<std::string> workloads = {"insert", "point-read"};
  std::vector<int> threads = {8};
  int queue_depth = 1;
  WorkloadOptions workload;
  uint64_t operations = 0;
  std::optional<double> seconds;
  std::optional<double> warmup;
  double rate = 0;
  Arrivals arrivals = Arrivals::kEven;
  uint32_t verify_every = 64;
  Consume consume = Consume::kTouch;
  int repeat = 1;
  bool drop_caches = false;
  bool readahead_model = false;
  bool exclusive_device = false;  // no other process writes to the device of `dir`

  AccountDepth account = AccountDepth::kDevice;
  // Directory where --cache-pct most stores the results of rehearsals for later runs with the same
  // settings; empty: they are not stored.
  std::string rehearsals_dir;
  std::string json_file, csv_file;
  bool quiet = false;

  // Determines the settings that depend on several options (cache size, rows, the engine's
  // defaults). Throws Error (kUsage) for combinations that are impossible.
  void Resolve();
  // Returns the settings as the results state them. Call after Resolve.
  nlohmann::json ToJson() const;

 private:
  void ResolveVariant();
  void ResolveCache(const Capabilities& can);
  void CheckSearchedCache(const Capabilities& can) const;
  void CheckQueueDepth(const Capabilities& can) const;
};

// Add the options of the engine and the device, of the data, of the workload, and of the output.
// Parsing `app` stores the values in `options`, which must outlive it.
void AddEngineOptions(CLI::App& app, RunOptions& options);
void AddDataOptions(CLI::App& app, RunOptions& options);
void AddWorkloadOptions(CLI::App& app, RunOptions& options);
void AddOutputOptions(CLI::App& app, RunOptions& options);

// Returns the options that these words of a command line give. Throws Error (kUsage).
RunOptions ParseRunOptions(const std::vector<std::string>& words);

// Returns the size that --scratch auto gives the device for `data_bytes` bytes of keys and values:
// room for the database, for an engine that writes a second copy of it, for the logs of each
// database, and for space that an engine allocates in advance.
uint64_t ScratchBytesFor(uint64_t data_bytes, uint32_t databases);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OPTIONS_H_

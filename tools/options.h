// The command line of a run: every setting, its name, its accepted values, its default.
//
// Options have one name everywhere (command line, JSON, documentation). A value that is not
// accepted throws Error (kUsage) with one sentence that names the option and what it accepts;
// nothing was created by then.
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
  std::optional<IoMode> io;           // without, what the engine does by default
  std::optional<uint32_t> page_size;  // the same
  std::string dir;  // empty: a temporary directory below the current one, removed at the end
  bool fresh = false, reuse = false;
  std::optional<uint64_t> readahead_bytes;
  uint64_t ram_bytes = 256ull << 20;  // 0 = not bounded
  double cache_pct = 50;
  bool cache_auto = false;              // cache_pct is where the search for the best share starts
  bool cache_most = false;              // the most that fits; cache_pct is where rehearsals start
  std::optional<uint64_t> cache_bytes;  // instead of cache_pct
  bool strict = false;
  uint64_t scratch_bytes = 0;  // 0 = no scratch device
  bool scratch_auto = false;   // scratch_bytes follows from the data
  std::string scratch_fs = "ext4";
  uint64_t read_iops = 0;  // the device answers at most so many reads a second; 0 = what it can

  DatasetOptions data;
  std::optional<uint64_t> rows;  // instead of db_ratio
  double db_ratio = 4;           // database size : ram
  uint32_t databases = 1;        // that tables are spread over (engines/databases.h)

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
  bool exclusive_device = false;  // dir is on a device that nobody else writes to

  AccountDepth account = AccountDepth::kDevice;
  // Where --cache-pct most keeps what it rehearsed, for runs alike; empty: nowhere.
  std::string rehearsals_dir;
  std::string json_file, csv_file;
  bool quiet = false;

  // Settles what depends on several options (cache size, rows, defaults of the engine), and throws
  // for combinations that cannot be.
  void Resolve();
  nlohmann::json ToJson() const;

 private:
  void ResolveVariant();
  void ResolveCache(const Capabilities& can);
  void CheckSearchedCache(const Capabilities& can) const;
  void CheckQueueDepth(const Capabilities& can) const;
};

// Adds the options that choose and tune an engine; those of data and workload; those of output.
void AddEngineOptions(CLI::App& app, RunOptions& options);
void AddDataOptions(CLI::App& app, RunOptions& options);
void AddWorkloadOptions(CLI::App& app, RunOptions& options);
void AddOutputOptions(CLI::App& app, RunOptions& options);

// The options of these words of a command line. Throws Error (kUsage).
RunOptions ParseRunOptions(const std::vector<std::string>& words);

// What --scratch auto makes for so many bytes of keys and values: room for the database, for an
// engine that writes all of it anew beside it, for the logs of each database, and for what an
// engine allocates before it writes.
uint64_t ScratchBytesFor(uint64_t data_bytes, uint32_t databases);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OPTIONS_H_

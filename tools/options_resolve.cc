// ParseRunOptions, and RunOptions::Resolve: options that are left open get values from the others,
// and combinations that contradict each other are refused.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "device/error.h"
#include "engines/databases.h"
#include "engines/elsewhere.h"
#include "engines/log_settings.h"
#include "engines/registry.h"
#include "tools/command/usage_text.h"
#include "tools/options.h"
#include "tools/rate/rate_options.h"
#include "tools/release/release.h"
#include "tools/server_options.h"
#include "tools/trace/trace_options.h"
#include "workloads/keys/key_set.h"
#include "workloads/registry.h"

namespace testbed {

namespace {

template <typename Info>
std::string NearestOf(const std::string& name, const std::vector<Info>& known) {
  std::vector<std::string> names;
  for (const Info& info : known) names.push_back(info.name);
  const std::string guess = NearestName(name, names);
  return guess.empty() ? "" : "; did you mean " + guess + "?";
}

}  // namespace

const EngineInfo& FindKnownEngine(const std::string& name) {
  try {
    return FindEngine(name);
  } catch (const Error& error) {
    throw Error(Error::kUsage, error.what() + NearestOf(name, Engines()));
  }
}

const WorkloadInfo& FindKnownWorkload(const std::string& name) {
  try {
    return FindWorkload(name);
  } catch (const Error& error) {
    throw Error(Error::kUsage, error.what() + NearestOf(name, Workloads()));
  }
}

// Splits the release from the engine's name: --engine rocksdb@10.4.2. The release of this program
// itself, when it is the program of a release, is left out.
void RunOptions::ResolveRelease() {
  const NamedEngine named = SplitRelease(engine_name);
  (void)FindKnownEngine(named.engine);
  const EngineRelease found = FindRelease(named.engine, named.release);
  CheckLinkedLibrary(found);
  const std::optional<EngineRelease> own = OwnRelease();
  const bool itself = own && own->engine == named.engine && own->release == found.release;
  engine_name = named.engine;
  release = itself ? "" : found.release;
}

std::string RunOptions::EngineWithRelease() const {
  std::string named = release;
  if (named.empty()) {
    const std::optional<EngineRelease> own = OwnRelease();
    if (own && own->engine == engine_name) named = own->release;
  }
  return named.empty() ? engine_name : engine_name + "@" + named;
}

// Splits a variant from the engine's name: --engine innodb:sql means --engine innodb with
// --engine-option access=sql.
void RunOptions::ResolveVariant() {
  if (engine_name.find('@') < engine_name.find(':')) ResolveRelease();
  const size_t colon = engine_name.find(':');
  if (colon == std::string::npos) return;
  const std::string name = engine_name.substr(0, colon);
  const EngineInfo& info = FindKnownEngine(name);
  if (info.variants.empty()) {
    throw Error(Error::kUsage, fmt::format("--engine {}: {} has no variants; give --engine {}",
                                           engine_name, info.name, info.name));
  }
  engine.extra[info.variants] = engine_name.substr(colon + 1);
  engine.given_as[info.variants] = fmt::format("--engine {}:", info.name);
  engine_name = info.name;
}

namespace {

// Throws Error (kUsage) when the engine takes no keys as long as the longest of the rows, or as the
// entries of their indexes.
void CheckLongestKey(const RunOptions& options, const Capabilities& can, size_t longest) {
  // The limit is that of the smallest page. Longer keys may fit where pages have several sizes, and
  // the engine refuses those that do not.
  if (can.min_page_size != can.max_page_size) return;
  const bool indexed = options.data.indexes > 0;
  const size_t bytes = longest + (indexed ? Dataset::kAttributeBytes : 0);
  if (bytes <= can.max_key_size) return;
  throw Error(Error::kUsage,
              fmt::format("{} takes keys of {} bytes at most, and {} {}; give shorter keys",
                          options.engine_name, can.max_key_size,
                          indexed ? "the entries of --indexes have" : "--keys asks for", bytes));
}

// Throws Error (kUsage) when a loader is to write rows, and the engine takes no values as long as
// the longest of them.
void CheckLongestValue(const RunOptions& options, const Capabilities& can, size_t longest) {
  if (can.longer_values || can.max_value_size == 0 || longest <= can.max_value_size) return;
  const bool loads =
      std::any_of(options.workloads.begin(), options.workloads.end(), [](const std::string& name) {
        return FindWorkload(name).loads && FindWorkload(name).loader == "insert";
      });
  if (!loads) return;
  throw Error(
      Error::kUsage,
      fmt::format("--value-size {}: {} takes values of {} bytes at most, and the longest "
                  "has {}; give a smaller --value-size",
                  ValueSizesText(options.data), options.engine_name, can.max_value_size, longest));
}

// Throws Error (kUsage) when `keys` names no file and no set of keys, but nearly a set.
void CheckKeysName(const std::string& keys) {
  std::error_code error;
  if (keys.empty() || IsKeySet(keys) || std::filesystem::exists(keys, error) || error) return;
  const std::string guess = NearestName(keys, {"words", "places", "packages", "paths"});
  if (guess.empty()) return;
  throw Error(Error::kUsage,
              fmt::format("--keys {} is no file and no set of keys ({}); did you mean {}?", keys,
                          kKeySets, guess));
}

// Returns the number of rows: the number of keys in --keys, the value of --rows, or the number that
// --db-ratio asks for. Throws Error (kUsage) when the engine takes no keys or values as long as the
// longest, when nothing tells the sizes of values (CheckValueSizes), and when --rows is not the
// number of keys, or there are more than any device holds.
uint64_t ResolvedRows(const RunOptions& options, const Capabilities& can) {
  CheckValueSizes(options.data);
  if (options.data.order == KeyOrder::kFile) {
    CheckKeysName(options.data.keys_file);
    const Dataset dataset(options.data);
    CheckLongestKey(options, can, dataset.LongestKey(options.workload.hit_ratio < 1));
    CheckLongestValue(options, can, dataset.max_value_size());
    const uint64_t keys = dataset.rows();
    if (!options.rows || *options.rows == keys) return keys;
    throw Error(Error::kUsage,
                fmt::format("--rows {} is not the number of keys in --keys {}, which is {}; leave "
                            "--rows out",
                            *options.rows, options.data.keys_file, keys));
  }
  if (options.data.indexes > 0) CheckLongestKey(options, can, options.data.key_size);
  CheckLongestValue(options, can, std::max(options.data.value_size, options.data.most_value));
  // The limit keeps sums of sizes from wrapping around; no device is that large.
  constexpr uint64_t kMostBytes = 1ull << 60;
  const uint64_t row =
      options.data.key_size + uint64_t{std::max(options.data.value_size, options.data.most_value)};
  const uint64_t most = kMostBytes / std::max<uint64_t>(1, row);
  if (options.rows) {
    if (*options.rows <= most) return *options.rows;
    throw Error(Error::kUsage,
                fmt::format("--rows {} of {} bytes each are more than any device holds; give fewer",
                            *options.rows, row));
  }
  if (options.ram_bytes == 0) {
    throw Error(Error::kUsage, "--ram 0 leaves --db-ratio without a base; give --rows");
  }
  const auto bytes = options.db_ratio * static_cast<double>(options.ram_bytes);
  const uint64_t rows = std::max<uint64_t>(
      1, static_cast<uint64_t>(bytes) / (options.data.key_size + options.data.value_size));
  if (rows <= most) return rows;
  throw Error(Error::kUsage,
              fmt::format("--db-ratio {} of --ram {} is more than any device holds; give a smaller "
                          "one",
                          options.db_ratio, ShortSize(options.ram_bytes)));
}

}  // namespace

uint64_t ScratchBytesFor(uint64_t data_bytes, uint32_t databases, uint64_t log_bytes) {
  constexpr uint64_t kLeastLogs = 640ull << 20;
  const uint64_t logs = std::max(kLeastLogs, log_bytes + log_bytes / 4);
  return (3 * data_bytes + (uint64_t{databases} + 1) * logs) >> 20 << 20;
}

namespace {

// Finds the place of this process among the tasks of the run, and refuses what several tasks cannot
// do together. Takes the directory and the output files from every task but task 0, which has the
// record of the database and writes the results of all tasks.
void ResolveTasks(RunOptions* o) {
  ResolveTask(::getenv, &o->tasks);
  if (!o->tasks.several()) return;
  if (!WorksElsewhere(o->engine_name, o->engine)) {
    throw Error(Error::kUsage,
                fmt::format("--task: several tasks work on the database of a server that runs "
                            "already, and --engine {} has none here; give --engine mysql or "
                            "postgres with --connect URL, or leave out --task",
                            o->engine_name));
  }
  const std::pair<bool, const char*> refused[] = {
      {o->threads.size() > 1, "several numbers of --threads"},
      {o->repeat > 1, "--repeat"},
      {o->repeat_runs > 1, "--repeat-runs"},
      {o->databases > 1, "--databases"},
      {o->at_once, "settle, or a length, popular rows or a rate of a phase's own, in --workload"},
      {!o->find_rate.empty(), "--find-rate"},
      {!o->record_file.empty(), "--record"},
      {o->live.any(), "--live or --metrics"},
      {o->operations != 0 && o->operations < static_cast<uint64_t>(o->tasks.count),
       "--operations that are fewer than the tasks"}};
  for (const auto& [given, what] : refused) {
    if (!given) continue;
    throw Error(Error::kUsage,
                fmt::format("--task: a run of several tasks does not take {}; leave one of them "
                            "out",
                            what));
  }
  // The block levels of the account are off: a host's device serves all of its tasks, and a
  // server's writes belong to no single task.
  o->account = std::min(o->account, AccountDepth::kFile);
  if (!o->tasks.guest()) return;
  o->dir.clear();
  o->fresh = o->reuse = false;
  o->quiet = true;
  for (std::string* file : {&o->json_file, &o->csv_file, &o->csv_series_file}) file->clear();
}

}  // namespace

void RunOptions::Resolve() {
  if (engine_name.empty()) {
    throw Error(Error::kUsage,
                "--engine is missing; `testbed list` shows the engines, and "
                "`testbed --engine btree` runs one");
  }
  ResolveVariant();
  const EngineInfo& info = ResolveServer(FindKnownEngine(engine_name), this);
  if (reuse && dir.empty())
    throw Error(Error::kUsage, "--reuse needs the --dir that holds the database");
  if (reuse && fresh)
    throw Error(Error::kUsage, "--reuse and --fresh exclude each other; give one of them");
  if (reuse && repeat > 1) {
    throw Error(Error::kUsage,
                "--repeat makes several loads, and --reuse keeps the one that is there; give "
                "--repeat-runs for several runs on it");
  }
  if ((scratch_bytes != 0 || scratch_auto) && !dir.empty()) {
    throw Error(Error::kUsage, "--scratch brings its own directory; leave out --dir");
  }
  if (const uint64_t least = ScratchDevice::MinimumBytes(scratch_fs);
      scratch_bytes != 0 && scratch_bytes < least) {
    throw Error(Error::kUsage, fmt::format("--scratch with {} takes {} and more",
                                           FileSystemName(scratch_fs), ShortSize(least)));
  }
  const EngineOptions defaults = DefaultEngineOptions(info);
  engine.io = io.value_or(defaults.io);
  engine.page_size = page_size.value_or(defaults.page_size);
  engine.ram_bytes = ram_bytes;
  ResolveCache(info.capabilities);
  data.rows = ResolvedRows(*this, info.capabilities);
  if (scratch_auto) {
    if (std::find(workloads.begin(), workloads.end(), "replay-load") != workloads.end()) {
      throw Error(Error::kUsage,
                  "--scratch auto makes room for the data, and what the trace of replay-load holds "
                  "is not known; give --scratch a size");
    }
    const auto dataset = std::make_shared<const Dataset>(data);
    scratch_bytes = ScratchBytesFor(DataBytes(workloads, dataset, workload), databases,
                                    CheckpointLogBytes(engine));
  }
  if (data.key_size > info.capabilities.max_key_size) {
    throw Error(Error::kUsage,
                fmt::format("--key-size {} is more than {} accepts, which is {}", data.key_size,
                            engine_name, info.capabilities.max_key_size));
  }
  bool mixed = std::find(workloads.begin(), workloads.end(), "mixed") != workloads.end();
  if (mixed && workload.mix.empty()) workload.mix = {{"point-read", 95}, {"update", 5}};
  if (!mixed && !workload.mix.empty()) {
    throw Error(Error::kUsage, "--mix belongs to --workload mixed; name that workload too");
  }
  CheckPhases(info.capabilities);
  CheckTraceOptions(*this);
  CheckRateOptions(*this);
  if (!seconds && operations == 0) seconds = 20;
  if (!warmup) warmup = operations != 0 || (at_once && find_rate.empty()) ? 0 : 5;
  ResolveTasks(this);
}

void RunOptions::CheckPhases(const Capabilities& can) const {
  CheckQueueDepth(can);
  CheckDropCaches();
}

void RunOptions::CheckDropCaches() const {
  if (!drop_caches || !at_once || engine.io != IoMode::kMmap) return;
  throw Error(Error::kUsage,
              fmt::format("--drop-caches closes {}, which maps its files, before each phase, and "
                          "settle, and a length, popular rows or a rate of a phase's own, in "
                          "--workload keep it open; leave one of them out",
                          engine_name));
}

void RunOptions::CheckQueueDepth(const Capabilities& can) const {
  if (queue_depth == 1) return;
  if (!can.reads_in_flight || databases > 1 || engine.io == IoMode::kMmap) {
    std::vector<std::string> able;
    for (const EngineInfo& other : Engines()) {
      if (other.capabilities.reads_in_flight) able.push_back(other.name);
    }
    throw Error(Error::kUsage,
                fmt::format("--queue-depth {} needs an engine that keeps reads in flight ({}), one "
                            "database, and --io direct or buffered",
                            queue_depth, fmt::join(able, ", ")));
  }
  if (rate > 0 || !phase_rates.empty()) {
    throw Error(Error::kUsage,
                "--queue-depth keeps as many reads in flight as it says, --rate "
                "starts them by the clock; give one of them");
  }
  for (const std::string& name : workloads) {
    const WorkloadInfo& workload_info = FindWorkload(name);
    if (!workload_info.loads && !workload_info.point_reads && !workload_info.only_settles) {
      throw Error(Error::kUsage,
                  fmt::format("--queue-depth is for workloads of point reads, not {}; "
                              "run it on its own, with --reuse on one database",
                              name));
    }
  }
}

void RunOptions::ResolveCache(const Capabilities& can) {
  if (!can.cache && (cache_bytes || cache_auto)) {
    throw Error(Error::kUsage,
                fmt::format("{} has no cache of its own, so {} has no meaning; leave it out, and "
                            "all of --ram is the page cache's",
                            engine_name, cache_bytes ? "--cache-size" : "--cache-pct auto"));
  }
  if (!can.cache) {
    engine.cache_bytes = 0;
  } else if (cache_bytes) {
    engine.cache_bytes = CacheInForce(can, *cache_bytes, databases);
  } else if (ram_bytes != 0) {
    engine.cache_bytes = CacheBytesOf(cache_pct);
  } else if (!cache_auto && !cache_most) {
    throw Error(Error::kUsage, "--ram 0 leaves --cache-pct without a base; give --cache-size");
  }
  if (ram_bytes != 0 && cache_bytes && *cache_bytes > ram_bytes) {
    throw Error(Error::kUsage, fmt::format("--cache-size {} is larger than --ram {}; give less",
                                           ShortSize(*cache_bytes), ShortSize(ram_bytes)));
  }
  CheckSearchedCache(can);
}

uint64_t RunOptions::CacheBytesOf(double pct) const {
  const auto bytes = static_cast<uint64_t>(static_cast<double>(ram_bytes) * pct / 100);
  return CacheInForce(FindEngine(engine_name).capabilities, bytes, databases);
}

// Throws Error (kUsage) when --cache-pct auto or most cannot work with the other options.
void RunOptions::CheckSearchedCache(const Capabilities& can) const {
  if (!cache_auto && !cache_most) return;
  const std::string option = cache_auto ? "--cache-pct auto" : "--cache-pct most";
  if (cache_bytes || ram_bytes == 0) {
    throw Error(Error::kUsage, option + " divides --ram; leave out --cache-size and --ram 0");
  }
  if (cache_auto && !can.resizable_cache) {
    throw Error(Error::kUsage, engine_name +
                                   " cannot resize its cache while it runs, which "
                                   "--cache-pct auto takes; give a number");
  }
  if (cache_most && WorksElsewhere(engine_name, engine)) {
    throw Error(Error::kUsage,
                "--cache-pct most measures the memory that the engine takes, and the server of "
                "--connect has memory of its own; give a number or leave it out");
  }
  if (!cache_most || !reuse || !can.cache || !copy_of.empty()) return;
  for (const std::string& name : workloads) {
    if (FindWorkload(name).reads_only) continue;
    throw Error(Error::kUsage,
                fmt::format("--cache-pct most rehearses the workload, and {} changes the database "
                            "that --reuse keeps; give a number",
                            name));
  }
}

namespace {

void AddPhasesAndTasks(const RunOptions& options, nlohmann::json* j) {
  if (options.tasks.several()) (*j)["tasks"] = options.tasks.count;
  (*j)["phase_seconds"] = options.phase_seconds;
  (*j)["phase_rates"] = options.phase_rates;
  (*j)["phase_curves"] = options.phase_curves;
  (*j)["phase_popular"] = options.phase_popular;
}

// Returns the size of a value, all fields together; when values have several sizes, the option's
// text.
nlohmann::json ValueSizeOf(const DatasetOptions& data) {
  if (data.value_sizes == ValueSizes::kOne) return data.value_size;
  return ValueSizesText(data);
}

}  // namespace

nlohmann::json RunOptions::ToJson() const {
  nlohmann::json j = {
      {"engine", engine_name},
      {"io", IoModeName(engine.io)},
      {"page_size", engine.page_size},
      {"file_advice", AdviceName(engine.file_advice)},
      {"mmap_advice", AdviceName(engine.mmap_advice)},
      {"ram", ram_bytes},
      {"cache_size", engine.cache_bytes},
      {"cache_pct", ram_bytes == 0
                        ? nlohmann::json()
                        : nlohmann::json(100.0 * static_cast<double>(engine.cache_bytes) /
                                         static_cast<double>(ram_bytes))},
      {"cache_auto", cache_auto},
      {"cache_most", cache_most},
      {"durability", DurabilityName(engine.durability)},
      {"lazy_interval_ms", engine.lazy_interval_ms},
      {"compression", engine.compression},
      {"engine_options", engine.extra},
      {"scratch", scratch_bytes},
      {"read_iops", read_iops},
      {"rows", data.rows},
      {"databases", databases},
      {"key_size", data.key_size},
      {"value_size", ValueSizeOf(data)},
      {"fields", data.fields},
      {"compressibility", data.compressibility},
      {"key_order", KeyOrderName(data.order)},
      {"keys", data.keys_file},
      {"indexes", data.indexes},
      {"seed", data.seed},
      {"workload", workloads},
      {"rows_per_transaction", workload.rows_per_transaction},
      {"distribution", DistributionName(workload.distribution)},
      {"zipf_theta", workload.zipf_theta},
      {"hot_fraction", workload.hot_fraction},
      {"hot_probability", workload.hot_probability},
      {"hit_ratio", workload.hit_ratio},
      {"scan_rows", workload.scan_rows},
      {"mix", workload.mix},
      {"workload_options", workload.extra},
      {"queue_depth", queue_depth},
      {"operations", operations},
      {"seconds", seconds ? nlohmann::json(*seconds) : nlohmann::json()},
      {"warmup", warmup.value_or(0)},
      {"rate", rate},
      {"arrivals", ArrivalsName(arrivals)},
      {"find_rate", find_rate},
      {"verify_every", verify_every},
      {"consume", ConsumeName(consume)},
      {"added_delay_ns", added_delay_ns},
      {"drop_caches", drop_caches},
      {"readahead_model", readahead_model},
  };
  AddPhasesAndTasks(*this, &j);
  j["readahead"] = readahead_bytes ? nlohmann::json(*readahead_bytes) : nlohmann::json();
  if (!release.empty()) j["release"] = release;
  if (scratch_bytes != 0) j["scratch_fs"] = FileSystemName(scratch_fs);
  return j;
}

namespace {

// The parser of a run's options. CLI11 compares each option that is added with all those before it,
// so that making a parser takes ten times as long as parsing by it.
class RunOptionsParser {
 public:
  RunOptionsParser() {
    AddEngineOptions(app_, options_);
    AddDataOptions(app_, options_);
    AddWorkloadOptions(app_, options_);
    AddOutputOptions(app_, options_);
    AddSweepOptions(app_, options_);
  }

  RunOptions Parse(const std::vector<std::string>& words, RunOptions base) {
    options_ = std::move(base);
    app_.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    return std::move(options_);
  }

 private:
  RunOptions options_;
  CLI::App app_;  // its options refer to options_
};

}  // namespace

RunOptions ParseRunOptions(const std::vector<std::string>& words, RunOptions options) {
  // A plan parses the options of each cell several times. The parser is away while it parses, since
  // an option may parse others, and after words that it refused.
  thread_local std::unique_ptr<RunOptionsParser> kept;
  std::unique_ptr<RunOptionsParser> parser = std::move(kept);
  if (parser == nullptr) parser = std::make_unique<RunOptionsParser>();
  try {
    options = parser->Parse(words, std::move(options));
  } catch (const CLI::ParseError& e) {
    throw Error(Error::kUsage, e.what());
  }
  kept = std::move(parser);
  return options;
}

RunOptions ParseRunOptions(const std::vector<std::string>& words) {
  return ParseRunOptions(words, RunOptions());
}

}  // namespace testbed

#include "tools/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cctype>
#include <charconv>
#include <functional>

#include "device/error.h"
#include "tools/option_values.h"
#include "tools/output/output_file.h"
#include "tools/rate/rate_options.h"
#include "tools/server_options.h"
#include "tools/trace/trace_options.h"
#include "tools/trace/workload_list.h"
#include "workloads/keys/key_set.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

using Setter = std::function<void(const std::string& option, const std::string& text)>;

void Add(CLI::App& app, const std::string& option, const std::string& type, const std::string& help,
         Setter set) {
  app.add_option_function<std::string>(
         option, [option, set](const std::string& text) { set(option, text); }, help)
      ->type_name(type);
}

// Adds an option whose values are settings, which go to *into.
void AddSettingsOption(CLI::App& app, const char* option, const char* help,
                       std::map<std::string, std::string>* into) {
  const auto set = [option, into](const std::vector<std::string>& settings) {
    ParseSettings(option, settings, into);
  };
  app.add_option_function<std::vector<std::string>>(option, set, help)
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

void SetCachePct(const std::string& option, const std::string& text, RunOptions* options) {
  options->cache_auto = text == "auto" || text.starts_with("auto:");
  options->cache_most = text == "most";
  if (text == "auto" || text == "most") {
    options->cache_pct = 50;
    return;
  }
  const std::string number = options->cache_auto ? text.substr(5) : text;
  const char* const end = number.data() + number.size();
  double& share = options->cache_pct;
  const auto [at, error] = std::from_chars(number.data(), end, share);
  if (error != std::errc() || at != end || !(share >= 1 && share <= 95)) {
    RefuseValue(option, text, "a number from 1 to 95, most, auto, or auto:START");
  }
}

// Adds the options that name the engine and the directory of its database.
void AddDatabaseOptions(CLI::App& app, RunOptions& o) {
  app.add_option("--engine", o.engine_name, "Storage engine, or NAME@RELEASE (`testbed list`)")
      ->type_name("NAME");
  AddServerOptions(app, o);
  AddDirectoryOption(
      app, "--dir", &o.dir,
      "Directory of the database, which the run keeps; without it the run makes a temporary one "
      "below the current directory and removes it");
  app.add_flag(
      "--fresh", o.fresh,
      "Remove the database that testbed made in --dir, and load a new one; other files there stay");
  app.add_flag("--reuse", o.reuse, "Use the loaded database in --dir as it is");
}

// Adds the options that choose how the engine reads its files.
void AddIoOptions(CLI::App& app, RunOptions& o) {
  Add(app, "--io", "MODE",
      "How data files are read: direct, buffered or mmap [buffered, or what the engine has]",
      [&o](auto& option, auto& text) {
        o.io = ParseName(option, text, {IoMode::kDirect, IoMode::kBuffered, IoMode::kMmap},
                         IoModeName);
      });
  Add(app, "--page-size", "SIZE",
      "Size of a page of a b-tree, or of a block of an LSM tree [8k, or what the engine has]",
      [&o](auto& option, auto& text) {
        o.page_size = static_cast<uint32_t>(ParseSize(option, text, 512, 16 << 20));
      });
  Add(app, "--readahead", "SIZE",
      "Readahead of the block device (read_ahead_kb) during the run; the run restores it (root) "
      "[unchanged]",
      [&o](auto& option, auto& text) {
        o.readahead_bytes = ParseSize(option, text, 0, 1 << 30);
        if (*o.readahead_bytes % 4096 != 0)
          RefuseValue(option, text, "multiples of 4k, such as 0, 4k, 16k");
      });
  Add(app, "--file-advice", "ADVICE",
      "posix_fadvise of buffered data files: normal, random, sequential [normal]",
      [&o](auto& option, auto& text) {
        o.engine.file_advice = ParseName(
            option, text, {Advice::kNormal, Advice::kRandom, Advice::kSequential}, AdviceName);
      });
  Add(app, "--mmap-advice", "ADVICE",
      "madvise of mapped data files: normal, random, sequential, willneed [normal]",
      [&o](auto& option, auto& text) {
        o.engine.mmap_advice = ParseName(
            option, text,
            {Advice::kNormal, Advice::kRandom, Advice::kSequential, Advice::kWillNeed}, AdviceName);
      });
}

// Adds the options that bound the memory and divide it between the engine's cache and the page
// cache.
void AddMemoryOptions(CLI::App& app, RunOptions& o) {
  Add(app, "--ram", "SIZE",
      "Memory budget of the run, its page cache included; 0 sets no limit [256M]",
      [&o](auto& option, auto& text) {
        o.ram_bytes = ParseSize(option, text, 0, 1ull << 50);
        if (o.ram_bytes != 0 && o.ram_bytes < (32u << 20))
          RefuseValue(option, text, "0, or 32M and more");
      });
  Add(app, "--cache-pct", "PERCENT",
      "Share of --ram for the engine's cache, from 1 to 95; the OS page cache gets the rest. most: "
      "the largest share that keeps the run within --ram, found by rehearsals; auto or auto:START: "
      "the share with the highest rate, found by trials that begin at START [50]",
      [&o](auto& option, auto& text) { SetCachePct(option, text, &o); });
  Add(app, "--cache-size", "SIZE", "Size of the engine's cache, instead of --cache-pct",
      [&o](auto& option, auto& text) {
        o.cache_bytes = ParseSize(option, text, 1 << 20, 1ull << 50);
      });
}

// Adds the options of durability and compression, and --engine-option.
void AddCommitOptions(CLI::App& app, RunOptions& o) {
  Add(app, "--durability", "LEVEL",
      "When a commit is durable: sync (at commit), lazy (within --lazy-interval), none [lazy]",
      [&o](auto& option, auto& text) {
        o.engine.durability =
            ParseName(option, text, {Durability::kSync, Durability::kLazy, Durability::kNone},
                      DurabilityName);
      });
  Add(app, "--lazy-interval", "MS",
      "Milliseconds within which a lazy commit is durable, if the device keeps up with the syncs "
      "[100]",
      [&o](auto& option, auto& text) {
        o.engine.lazy_interval_ms =
            static_cast<uint32_t>(ParseCount(option, text, 1, 60000, "milliseconds"));
      });
  Add(app, "--compression", "NAME",
      "Block compression; `testbed list` shows what each engine has [none]",
      [&o](auto&, auto& text) { o.engine.compression = text; });
  AddSettingsOption(app, "--engine-option",
                    "A setting that only this engine has; may be given again", &o.engine.extra);
}

// Adds the options of the block device that holds the database.
void AddDeviceOptions(CLI::App& app, RunOptions& o) {
  Add(app, "--scratch", "SIZE[,FS]",
      "Run on a loop device of this size (auto: with room for the data) with its own ext4 or xfs, "
      "so that the device's figures are the run's alone (root)",
      [&o](auto& option, auto& text) {
        const std::vector<std::string> parts = Split(text, ',');
        const std::string system = parts.size() == 1 ? "ext4" : parts[1];
        o.scratch_auto = parts[0] == "auto";
        const bool sized = o.scratch_auto || (!parts[0].empty() && std::isdigit(parts[0][0]) != 0);
        if (!sized || parts.size() > 2 || (system != "ext4" && system != "xfs")) {
          RefuseValue(option, text, "auto or a size, with nothing, ,ext4 or ,xfs after it");
        }
        if (!o.scratch_auto) o.scratch_bytes = ParseSize(option, parts[0], 64 << 20, 1ull << 50);
        o.scratch_fs = system == "xfs" ? FileSystem::kXfs : FileSystem::kExt4;
      });
  Add(app, "--read-iops", "N",
      "Limit the device to N reads a second for this run, as a volume with such a limit does; 0 "
      "sets no limit (root) [0]",
      [&o](auto& option, auto& text) { o.read_iops = ParseCount(option, text, 0, 1000000000); });
  app.add_flag("--strict", o.strict,
               "Refuse to run when --ram, --readahead, --read-iops, --drop-caches or --scratch "
               "cannot be enforced");
}

}  // namespace

void AddEngineOptions(CLI::App& app, RunOptions& o) {
  app.option_defaults()->group("Engine and device");
  AddDatabaseOptions(app, o);
  AddIoOptions(app, o);
  AddMemoryOptions(app, o);
  AddCommitOptions(app, o);
  AddDeviceOptions(app, o);
}

void AddDataOptions(CLI::App& app, RunOptions& o) {
  app.option_defaults()->group("Data");
  Add(app, "--databases", "N",
      "Number of databases, each with its own files, log and share of the cache; only for "
      "workloads with a table for each client (ib.* and concurrent-inserts), whose tables are "
      "spread over the databases [1]",
      [&o](auto& option, auto& text) {
        o.databases = static_cast<uint32_t>(ParseCount(option, text, 1, 1000));
      });
  Add(app, "--rows", "N", "Number of rows of the database [what --db-ratio gives]",
      [&o](auto& option, auto& text) { o.rows = ParseCount(option, text, 1, UINT64_MAX); });
  Add(app, "--db-ratio", "RATIO",
      "Size of the data (keys and values), as a multiple of --ram, which gives the number of rows; "
      "a loader with rows of its own, such as linkbench-load, takes this number too, whatever size "
      "its rows have [4]",
      [&o](auto& option, auto& text) { o.db_ratio = ParseReal(option, text, 0.01, 10000); });
  Add(app, "--key-size", "SIZE", "Bytes of a key [16, or what the workload has]",
      [&o](auto& option, auto& text) { o.data.key_size = ParseSize(option, text, 8, 4096); });
  Add(app, "--value-size", "SIZE",
      "Bytes of a value; 10x100: ten fields of 100 bytes, and an update reads the row and writes "
      "one field (mixed, ycsb-*); 100-1000: a random size for each row; column: the number that "
      "follows a tab in the row's line in the file of --keys [400, or what the workload has]",
      [&o](auto& option, auto& text) { SetValueSize(option, text, &o.data); });
  Add(app, "--compressibility", "SHARE",
      "Share of a value's bytes that a compressor can remove, 0 to 1 [0.5]",
      [&o](auto& option, auto& text) { o.data.compressibility = ParseReal(option, text, 0, 1); });
  Add(app, "--key-order", "ORDER",
      "Order of insertion: sequential, random, permuted (the keys of "
      "sequential in random order) [sequential, or what the workload has]",
      [&o](auto& option, auto& text) {
        o.data.order =
            ParseName(option, text, {KeyOrder::kSequential, KeyOrder::kRandom, KeyOrder::kPermuted},
                      KeyOrderName);
      });
  Add(app, "--keys", "FILE",
      "Insert the keys in a file, one key on each line, in the order of the file; words, places, "
      "packages, paths and paths:DIR are sets of real keys in sorted order (docs/workloads.md)",
      [&o](auto& option, auto& text) {
        if (text.empty()) RefuseValue(option, text, fmt::format("a file or a set: {}", kKeySets));
        o.data.order = KeyOrder::kFile;
        o.data.keys_file = text;
      });
  Add(app, "--indexes", "N", "Secondary indexes, 0 to 3 [0]", [&o](auto& option, auto& text) {
    o.data.indexes = static_cast<uint32_t>(ParseCount(option, text, 0, 3));
  });
  Add(app, "--seed", "N", "Seed of all randomness; the same seed gives the same operations [42]",
      [&o](auto& option, auto& text) {
        o.data.seed = o.workload.seed = ParseCount(option, text, 0, UINT64_MAX);
      });
}

namespace {

// Adds the options that choose the phases, their length and their rate.
void AddPhaseOptions(CLI::App& app, RunOptions& o) {
  Add(app, "--workload", "LIST",
      "Phases to run, in order; NAME:3 runs a workload three times, replay:FILE replays a trace, "
      "'NAME 60s ~2 @ 5000' gives a phase a length, the second set of popular rows, and a rate; a "
      "rate may change: 1k..8k is a ramp, '1k^8k 1s/10s' has bursts, 1k~8k/30s is a wave "
      "(docs/rates.md) [insert,point-read]",
      [&o](auto& option, auto& text) { SetWorkloads(option, text, &o); });
  Add(app, "--threads", "LIST",
      "Number of client threads; a list, such as 1,8,16, makes a run for each number [8, or what "
      "the workload has]",
      [&o](auto& option, auto& text) { o.threads = ParseCounts(option, text, 1, 1000); });
  Add(app, "--queue-depth", "N",
      "Point reads that each thread keeps in flight by io_uring; each is a client of its own [1]",
      [&o](auto& option, auto& text) {
        o.queue_depth = static_cast<int>(ParseCount(option, text, 1, 4096));
      });
  Add(app, "--seconds", "S", "Length of a phase that does not load [20]",
      [&o](auto& option, auto& text) { o.seconds = ParseReal(option, text, 0.1, 1e7, "seconds"); });
  Add(app, "--operations", "N",
      "End a phase that does not load after this number of operations of all threads together; a "
      "phase with a length of its own ends by that length",
      [&o](auto& option, auto& text) { o.operations = ParseCount(option, text, 1, UINT64_MAX); });
  Add(app, "--warmup", "S",
      "Seconds that a phase runs before it is measured [5; 0 with --operations, and, without "
      "--find-rate, when --workload names settle or gives any phase a length, popular rows or a "
      "rate]",
      [&o](auto& option, auto& text) { o.warmup = ParseReal(option, text, 0, 1e7, "seconds"); });
  Add(app, "--rate", "OPS",
      "Start this number of operations a second, on all threads together, by a schedule (an open "
      "loop); the report also has the latency from the intended start [no rate: a closed loop]",
      [&o](auto& option, auto& text) { o.rate = ParseReal(option, text, 0.001, 1e9); });
  Add(app, "--arrivals", "HOW",
      "Gaps between the intended starts of --rate on each thread: even, or exponential (random "
      "gaps, a Poisson process) [even]",
      [&o](auto& option, auto& text) {
        o.arrivals =
            ParseName(option, text, {Arrivals::kEven, Arrivals::kExponential}, ArrivalsName);
      });
}

// Adds the options that choose the rows of an operation and their number.
void AddRowOptions(CLI::App& app, RunOptions& o) {
  Add(app, "--rows-per-transaction", "N", "Rows that a transaction inserts [1]",
      [&o](auto& option, auto& text) {
        o.workload.rows_per_transaction =
            static_cast<uint32_t>(ParseCount(option, text, 1, 1000000));
      });
  Add(app, "--distribution", "NAME",
      "Which rows are accessed: uniform, zipfian, scrambled (zipfian as YCSB has it), latest, hot, "
      "exponential (of their ages, as YCSB has it), sequential [uniform, or what the workload has]",
      [&o](auto& option, auto& text) {
        o.workload.distribution = ParseName<Distribution>(option, text, Distributions());
      });
  Add(app, "--zipf-theta", "THETA", "Skew of zipfian, scrambled and latest, 0 to 2 [0.99]",
      [&o](auto& option, auto& text) { o.workload.zipf_theta = ParseReal(option, text, 0, 2); });
  Add(app, "--hot-fraction", "SHARE",
      "Share of the rows that are hot with --distribution hot: the first keys, or with --key-order "
      "random the rows that were inserted first [0.5]",
      [&o](auto& option, auto& text) {
        o.workload.hot_fraction = ParseReal(option, text, 1e-9, 1);
      });
  Add(app, "--hot-probability", "SHARE", "Share of the accesses that goes to the hot rows [1]",
      [&o](auto& option, auto& text) {
        o.workload.hot_probability = ParseReal(option, text, 0, 1);
      });
  Add(app, "--hit-ratio", "SHARE", "Share of point reads whose key exists [1]",
      [&o](auto& option, auto& text) { o.workload.hit_ratio = ParseReal(option, text, 0, 1); });
  Add(app, "--scan-rows", "N", "Rows of a scan [100, or what the workload has]",
      [&o](auto& option, auto& text) {
        o.workload.scan_rows = static_cast<uint32_t>(ParseCount(option, text, 1, 1000000000));
      });
  Add(app, "--mix", "LIST",
      "Shares of workload mixed, such as point-read=80,insert=20 [point-read=95,update=5]",
      [&o](auto& option, auto& text) { o.workload.mix = ParseShares(option, text); });
  AddSettingsOption(app, "--workload-option",
                    "A setting that only one of the workloads has; may be given again",
                    &o.workload.extra);
}

// Adds the options for the use and verification of values, and for repetition and comparison.
void AddCheckOptions(CLI::App& app, RunOptions& o) {
  Add(app, "--consume", "HOW",
      "What an operation does at its end with the values and scanned keys that it read: touch "
      "(reads a byte in each 64), copy (into the client's own buffer), none [touch]",
      [&o](auto& option, auto& text) {
        o.consume =
            ParseName(option, text, {Consume::kTouch, Consume::kCopy, Consume::kNone}, ConsumeName);
      });
  Add(app, "--added-delay", "NS",
      "Make every operation slower by this number of nanoseconds, by busy waiting in the timed "
      "part, to see how small a change a comparison finds [0]",
      [&o](auto& option, auto& text) {
        o.added_delay_ns = ParseCount(option, text, 0, 10000000, "nanoseconds");
      });
  Add(app, "--verify", "WHICH", "Values that are checked: none, sample (one in 64), all [sample]",
      [&o](auto& option, auto& text) {
        o.verify_every =
            ParseName<uint32_t>(option, text, {{"none", 0}, {"sample", 64}, {"all", 1}});
      });
  Add(app, "--verify-every", "N",
      "Check one value in N; 1 checks all, 0 none; --verify sets the same number by a word [64]",
      [&o](auto& option, auto& text) {
        o.verify_every = static_cast<uint32_t>(ParseCount(option, text, 0, 1000000000));
      });
  Add(app, "--repeat", "N",
      "Loads of each setting, each with the next seed; the report has their mean and its 95 % "
      "confidence interval [1]",
      [&o](auto& option, auto& text) {
        o.repeat = static_cast<int>(ParseCount(option, text, 1, 1000));
      });
  Add(app, "--repeat-runs", "N",
      "Runs on each load; a workload that writes gets a new load with the same seed for each run, "
      "or with --reuse goes on with the rows that the run before left. More runs measure one load "
      "more exactly, and say nothing about other loads [1]",
      [&o](auto& option, auto& text) {
        o.repeat_runs = static_cast<int>(ParseCount(option, text, 1, 1000));
      });
  app.add_flag(
      "--drop-caches", o.drop_caches,
      "Drop the database's pages from the page cache once before each measured phase, or before "
      "its warm-up, trials or search where it has these (with --warmup 0 it begins cold); an "
      "engine that maps its files is opened anew, with an empty cache");
  app.add_flag("--readahead-model", o.readahead_model,
               "Also report what a Linux kernel of 2014 would have read from the device for the "
               "same file reads (docs/accounting.md)");
}

}  // namespace

void AddWorkloadOptions(CLI::App& app, RunOptions& o) {
  app.option_defaults()->group("Workload");
  AddPhaseOptions(app, o);
  AddRateOptions(app, o);
  AddRowOptions(app, o);
  AddCheckOptions(app, o);
  AddTraceOptions(app, o);
  AddTaskOptions(app, o.tasks);
}

void AddOutputOptions(CLI::App& app, RunOptions& o) {
  app.option_defaults()->group("Output");
  Add(app, "--account", "DEPTH",
      "Deepest level at which IO is counted: off, file, kernel, device [device]",
      [&o](auto& option, auto& text) {
        o.account = ParseName<AccountDepth>(option, text,
                                            {{"off", AccountDepth::kOff},
                                             {"file", AccountDepth::kFile},
                                             {"kernel", AccountDepth::kKernel},
                                             {"device", AccountDepth::kDevice}});
      });
  AddFileOption(app, "--json", &o.json_file,
                "Write the whole run to a file (docs/results.md); - is standard output");
  AddFileOption(app, "--csv", &o.csv_file,
                "Write a row for each run, phase and operation to a file (docs/results.md)");
  AddFileOption(app, "--csv-series", &o.csv_series_file,
                "Write a row for each second of each phase to a file");
  Add(app, "--label", "TEXT", "A name for these runs, kept in their results",
      [&o](auto& option, auto& text) {
        const auto given = text.empty() ? text : fmt::format("of {} bytes", text.size());
        if (text.empty() || text.size() > 200) RefuseValue(option, given, "1 to 200 bytes");
        o.label = text;
      });
  app.add_flag("--wide", o.wide, "Print all columns of the tables, however wide");
  AddLiveOptions(app, o.live);
  app.add_flag("--quiet", o.quiet, "Print no progress lines");
}

void AddSweepOptions(CLI::App& app, RunOptions& o) {
  app.option_defaults()->group(
      "Sweep: an option whose values have no commas takes a list, such as "
      "--page-size 4k,8k --engine btree,rocksdb");
  AddDirectoryOption(
      app, "--out", &o.out_dir,
      "Directory of the results, where the same command continues an interrupted sweep "
      "[testbed-sweep-NUMBER]");
  AddFileOption(app, "--save", &o.save_file,
                "Write the sweep as an experiment (docs/experiments.md) and do not run it");
  Add(app, "--rounds", "N",
      "Number of rounds of the whole sweep, each on fresh databases and with another seed [1]",
      [&o](auto& option, auto& text) {
        o.rounds = static_cast<int>(ParseCount(option, text, 1, 1000));
      });
  app.add_flag("--forecast", o.forecast,
               "Only print what would run, and how much time and space it would take");
}

}  // namespace testbed

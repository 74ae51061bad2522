#include "tools/ab/option_rules.h"

#include <algorithm>
#include <utility>

namespace testbed {
namespace {

std::vector<OptionRule> TakenOptions() {
  using enum OptionUse;
  return {
      {kSide,
       "since it chooses or tunes the engine and its memory",
       {"engine", "server", "connect", "io", "page-size", "file-advice", "mmap-advice", "ram",
        "cache-pct", "cache-size", "durability", "lazy-interval", "compression", "engine-option",
        "databases", "indexes", "drop-caches"}},
      {kSide, "since it says how many work at once", {"threads", "queue-depth"}},
      {kSide, "since it is a known slowdown to be found", {"added-delay"}},
      {kWork, "which work on the same rows", OptionsOfRows()},
      {kWork,
       "which do the same operations",
       {"rows-per-transaction", "distribution", "zipf-theta", "hot-fraction", "hot-probability",
        "hit-ratio", "scan-rows", "mix", "workload-option", "speed", "arrivals", "consume"}},
      {kCommon, "which do the same operations", {"workload", "seed"}},
      {kCommon,
       "which work for the same time, at the same rate",
       {"seconds", "warmup", "operations", "rate"}},
      {kCommon, "which work on the same rows", {"db-ratio"}},
      {kCommon, "which share a device", {"scratch", "readahead", "read-iops"}},
      {kCommon, "which are bounded and counted alike", {"strict", "account"}},
      {kCommon, "whose answers are checked alike", {"verify", "verify-every"}},
      {kCommon, "which have one report", {"json", "quiet", "report-interval"}},
  };
}

std::vector<OptionRule> RefusedOptions() {
  using enum OptionUse;
  return {
      {kRefused,
       "ab makes a database of its own for each load, below the current directory; leave out "
       "--dir, --fresh and --reuse, and start it in another directory to have them elsewhere",
       {"dir", "fresh", "reuse"}},
      {kRefused,
       "ab repeats as often as the question needs; leave out --repeat and --repeat-runs, or give "
       "--loads",
       {"repeat", "repeat-runs"}},
      {kRefused, "ab has no --csv; give --json FILE", {"csv"}},
      {kRefused,
       "ab keeps figures of slices and of loads, and none of each second; leave out --csv-series, "
       "or give --json FILE",
       {"csv-series"}},
      {kRefused, "ab records no trace; leave out --record", {"record"}},
      {kRefused,
       "ab measures both sides at the same rate, and --find-rate searches for one; leave it out, "
       "or find the rate of each side in a run of its own",
       {"find-rate"}},
      {kRefused, "--readahead-model is not for ab; leave it out", {"readahead-model"}},
      {kRefused,
       "--live and --metrics show single runs, and ab interleaves several; leave them out",
       {"live", "metrics"}},
      {kRefused, "ab keeps no name for its runs; leave out --label", {"label"}},
      {kRefused,
       "the clients of ab are threads of one process for each side; leave out --task, "
       "--task-address and --task-timeout",
       {"task", "task-address", "task-timeout"}},
      {kRefused, "ab prints all columns of its table; leave out --wide", {"wide"}},
      {kRefused,
       "--out, --save, --rounds and --forecast are of a sweep, and ab is none; leave them out",
       {"out", "save", "rounds", "forecast"}},
  };
}

}  // namespace

const std::vector<OptionRule>& OptionRules() {
  static const std::vector<OptionRule> rules = [] {
    std::vector<OptionRule> all = TakenOptions();
    for (OptionRule& rule : RefusedOptions()) all.push_back(std::move(rule));
    return all;
  }();
  return rules;
}

const std::vector<const char*>& OptionsOfRows() {
  static const auto* options = new std::vector<const char*>(
      {"keys", "key-order", "key-size", "value-size", "compressibility", "rows"});
  return *options;
}

const OptionRule* FindOptionRule(const std::string& name) {
  for (const OptionRule& rule : OptionRules()) {
    if (std::find(rule.names.begin(), rule.names.end(), name) != rule.names.end()) return &rule;
  }
  return nullptr;
}

}  // namespace testbed

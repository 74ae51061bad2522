#include "tools/unused_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>

#include "device/error.h"
#include "device/file/file.h"
#include "engines/elsewhere.h"
#include "engines/registry.h"
#include "tools/command/command_words.h"
#include "tools/rate/rate_options.h"
#include "workloads/dataset.h"
#include "workloads/registry.h"
#include "workloads/workload.h"

namespace testbed {
namespace {

// Throws Error (kUsage) when an option gives the shape of a distribution that the run does not
// have.
void CheckShape(const RunOptions& options, const std::vector<std::string>& words) {
  const Distribution own = options.workload.distribution;
  const bool skewed = own == Distribution::kZipfian || own == Distribution::kScrambled ||
                      own == Distribution::kLatest;
  const auto refuse = [&](const std::string& option, const char* of) {
    if (!Gives(words, option)) return;
    throw Error(Error::kUsage,
                fmt::format("{} belongs to --distribution {}, and that of this run is {}; give "
                            "such a distribution, or leave {} out",
                            option, of, DistributionName(own), option));
  };
  if (!skewed) refuse("--zipf-theta", "zipfian, scrambled or latest");
  if (own == Distribution::kHot) return;
  refuse("--hot-fraction", "hot");
  refuse("--hot-probability", "hot");
}

// Returns whether the workload draws rows by --distribution. The test gives it a skewed
// distribution: a workload that draws rows then has popular rows.
bool DrawsRows(const WorkloadInfo& info, const std::shared_ptr<const Dataset>& dataset,
               WorkloadOptions options) {
  options.distribution = Distribution::kZipfian;
  return info.make(dataset, options)->has_popular_rows();
}

// Returns whether a share of the workload's point reads, as --hit-ratio says, asks for rows that do
// not exist.
bool ReadsAbsentRows(const WorkloadInfo& info, const std::shared_ptr<const Dataset>& dataset,
                     WorkloadOptions options) {
  options.hit_ratio = 0;
  return info.make(dataset, options)->reads_absent_rows();
}

// Returns whether the workload has scans whose length --scan-rows decides. A hit ratio makes no
// difference to them, and not every data set takes one.
bool TakesScanRows(const WorkloadInfo& info, const std::shared_ptr<const Dataset>& dataset,
                   WorkloadOptions options) {
  options.hit_ratio = 1;
  return info.make(dataset, options)->takes_scan_rows();
}

using Uses = bool(const WorkloadInfo& info, const std::shared_ptr<const Dataset>& dataset,
                  WorkloadOptions options);

// Returns whether the run measures, and none of its workloads `uses` an option. A run that only
// loads may have the options of the runs that follow it.
bool NoneUses(const RunOptions& options, Uses* uses) {
  const auto dataset = std::make_shared<const Dataset>(options.data);
  bool only_loads = true;
  for (const std::string& name : options.workloads) {
    const WorkloadInfo& info = FindWorkload(name);
    if (info.loads || info.only_settles) continue;
    only_loads = false;
    if (uses(info, dataset, options.workload)) return false;
  }
  return !only_loads;
}

// Throws Error (kUsage) when rows are to be drawn, and no workload draws any, when point reads are
// to miss, and no workload has any, or when scans get a length, and no workload has any.
void CheckDrawn(const RunOptions& options, const std::vector<std::string>& words) {
  const auto refuse = [&options](const char* option, const char* of) {
    throw Error(Error::kUsage,
                fmt::format("{} is for workloads {}, and --workload {} has none; leave it out",
                            option, of, fmt::join(options.workloads, ",")));
  };
  const bool distribution =
      Gives(words, "--distribution") && options.workload.distribution != Distribution::kUniform;
  // CheckOwnPhases checks popular rows that --workload gives to single phases.
  if (distribution && options.phase_popular.empty() && NoneUses(options, DrawsRows)) {
    refuse("--distribution", "that draw rows, such as point-read, mixed and ycsb-a");
  }
  const bool misses = Gives(words, "--hit-ratio") && options.workload.hit_ratio < 1;
  if (misses && NoneUses(options, ReadsAbsentRows)) {
    refuse("--hit-ratio", "with point reads, such as point-read, multi-get and ycsb-a");
  }
  const bool rows = Gives(words, "--scan-rows");
  const bool length = options.workload.extra.contains("scan_length");
  if ((rows || length) && NoneUses(options, TakesScanRows)) {
    refuse(rows ? "--scan-rows" : "--workload-option scan_length",
           "with scans, such as ycsb-e, seekrandom and mixed with a share of scan in --mix");
  }
}

void CheckAdvice(const RunOptions& options) {
  if (options.engine.file_advice != Advice::kNormal && options.engine.io == IoMode::kDirect) {
    throw Error(Error::kUsage,
                fmt::format("--file-advice {} is for the kernel's page cache, and this run has "
                            "--io direct; give --io buffered, or leave --file-advice out",
                            AdviceName(options.engine.file_advice)));
  }
  if (options.engine.mmap_advice == Advice::kNormal || options.engine.io == IoMode::kMmap) return;
  throw Error(Error::kUsage,
              fmt::format("--mmap-advice {} is for mapped files, and this run has --io {}; give "
                          "--io mmap, or leave --mmap-advice out",
                          AdviceName(options.engine.mmap_advice), IoModeName(options.engine.io)));
}

// Throws Error (kUsage) when --readahead-model has no reads to replay: only those that pass
// testbed's file layer are recorded.
void CheckReadaheadModel(const RunOptions& options) {
  if (!options.readahead_model || FindEngine(options.engine_name).capabilities.file_layer) return;
  throw Error(Error::kUsage,
              fmt::format("--readahead-model replays the reads of engines that read through "
                          "testbed's file layer, and {} does its IO itself; leave "
                          "--readahead-model out",
                          options.engine_name));
}

void CheckInterval(const RunOptions& options, const std::vector<std::string>& words) {
  // --durability none accepts the interval: some engines then write their log within it
  // (engines/log_settings.cc).
  if (!Gives(words, "--lazy-interval") || options.engine.durability != Durability::kSync) return;
  throw Error(Error::kUsage,
              "--lazy-interval is for --durability lazy, and this run has sync; give --durability "
              "lazy, or leave --lazy-interval out");
}

// Throws Error (kUsage) when --fresh has no database to remove: neither in a directory that the
// user named, nor on a server that runs already.
void CheckFresh(const RunOptions& options) {
  if (!options.fresh || !options.dir.empty()) return;
  if (WorksElsewhere(options.engine_name, options.engine)) return;
  throw Error(Error::kUsage,
              "--fresh removes the database in --dir, and without --dir the run makes a new "
              "directory; give --dir, or leave --fresh out");
}

// Returns whether the run has a phase that it measures.
bool Measures(const RunOptions& options) {
  for (const std::string& name : options.workloads) {
    const WorkloadInfo& info = FindWorkload(name);
    if (!info.loads && !info.only_settles) return true;
  }
  return false;
}

// Returns whether `has`, which is called with the workload and the number of each phase that the
// run measures, is true of all of them. Phases are numbered as those of RunOptions::OwnSeconds.
template <typename Has>
bool EachMeasured(const RunOptions& options, Has has) {
  size_t next = 0;
  for (const std::string& name : options.workloads) {
    const WorkloadInfo& info = FindWorkload(name);
    if (info.loads) continue;
    const size_t phase = next++;
    if (!info.only_settles && !has(info, phase)) return false;
  }
  return true;
}

// Returns those of --seconds, --operations, --warmup and --rate in `words` that no phase takes:
// each one that is measured ends by itself, or --workload gives it a length or a rate. Trials of
// --cache-pct auto take --seconds, loads take --rate, a workload that ends by itself takes
// --operations, and a run that only loads may have the options of the runs that follow it.
std::vector<std::string> TakenByNoPhase(const RunOptions& options,
                                        const std::vector<std::string>& words) {
  std::vector<std::string> untaken;
  const auto has_length = [&](const WorkloadInfo&, size_t phase) {
    return options.OwnSeconds(phase) > 0;
  };
  const auto has_rate = [&](const WorkloadInfo&, size_t phase) {
    return options.OwnRate(phase) > 0;
  };
  const bool seconds = Gives(words, "--seconds") && !options.cache_auto;
  const bool warmup = Gives(words, "--warmup") && options.warmup.value_or(0) > 0;
  if ((seconds || warmup) && Measures(options)) {
    const auto dataset = std::make_shared<const Dataset>(options.data);
    // A replay ends with its trace, which need not be there when a command is printed.
    const auto ends = [&](const WorkloadInfo& info, size_t) {
      return info.name == "replay" || info.make(dataset, options.workload)->operations() != 0;
    };
    const auto has_end = [&](const WorkloadInfo& info, size_t phase) {
      return has_length(info, phase) || ends(info, phase);
    };
    if (seconds && EachMeasured(options, has_end)) untaken.push_back("--seconds");
    if (warmup && EachMeasured(options, ends)) untaken.push_back("--warmup");
  }
  if (Gives(words, "--operations") && !options.phase_seconds.empty() &&
      EachMeasured(options, has_length)) {
    untaken.push_back("--operations");
  }
  const bool loads = std::any_of(options.workloads.begin(), options.workloads.end(),
                                 [](const std::string& name) { return FindWorkload(name).loads; });
  if (Gives(words, "--rate") && !options.phase_rates.empty() && !loads &&
      EachMeasured(options, has_rate)) {
    untaken.push_back("--rate");
  }
  return untaken;
}

void CheckTakenByPhases(const RunOptions& options, const std::vector<std::string>& words) {
  for (const std::string& option : TakenByNoPhase(options, words)) {
    const char* const of = option == "--rate"     ? "a rate"
                           : option == "--warmup" ? "an end"
                                                  : "a length";
    throw Error(
        Error::kUsage,
        fmt::format("{0} is for phases without {1} of their own, and --workload has no such phase; "
                    "leave {0} out",
                    option, of));
  }
}

// Two options of a run that decide the same thing. The winner overrides the loser.
struct Rivals {
  const char *winner, *loser, *decide;
};
constexpr Rivals kRivals[] = {
    {"--cache-size", "--cache-pct", "the size of the engine's cache"},
    {"--rows", "--db-ratio", "how many rows there are"},
    {"--keys", "--db-ratio", "how many rows there are"},
    {"--verify-every", "--verify", "how many answers are checked"},
    {"--keys", "--key-size", "how long the keys are"},
};

// Returns the words without the setting of that name, as in "--workload-option name=value".
std::vector<std::string> WithoutSetting(const std::vector<std::string>& words,
                                        const std::string& option, const std::string& name) {
  std::vector<std::string> left;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i].starts_with(option + "=" + name + "=")) continue;
    if (words[i] == option && i + 1 < words.size() && words[i + 1].starts_with(name + "=")) {
      ++i;
      continue;
    }
    left.push_back(words[i]);
  }
  return left;
}

}  // namespace

void CheckRivals(const std::vector<std::string>& words) {
  for (const Rivals& rivals : kRivals) {
    if (!Gives(words, rivals.winner) || !Gives(words, rivals.loser)) continue;
    throw Error(Error::kUsage, fmt::format("{} and {} both decide {}; leave one of them out",
                                           rivals.winner, rivals.loser, rivals.decide));
  }
}

std::string DecidedInstead(const std::string& winner, const std::string& loser) {
  for (const Rivals& rivals : kRivals) {
    if (rivals.winner == "--" + winner && rivals.loser == "--" + loser) return rivals.decide;
  }
  return "";
}

std::vector<std::string> WithoutRivals(const std::vector<std::string>& words) {
  std::vector<std::string> left = words;
  for (const Rivals& rivals : kRivals) {
    if (Gives(words, rivals.winner)) left = WithoutOption(left, rivals.loser);
  }
  return left;
}

void CheckUnusedOptions(const RunOptions& options, const std::vector<std::string>& words) {
  CheckArrivals(options);
  CheckShape(options, words);
  CheckDrawn(options, words);
  CheckAdvice(options);
  CheckReadaheadModel(options);
  CheckInterval(options, words);
  CheckFresh(options);
  CheckTakenByPhases(options, words);
  CheckRivals(words);
}

std::vector<std::string> WithoutUndrawn(const std::vector<std::string>& words) {
  constexpr std::array kOfDraws = {"--distribution", "--zipf-theta", "--hot-fraction",
                                   "--hot-probability"};
  std::vector<std::string> deciding, left = words;
  for (const char* option :
       {"--workload", "--mix", "--rate", "--find-rate", "--cache-pct", "--warmup"}) {
    if (!Gives(words, option)) continue;
    deciding.insert(deciding.end(), {option, ValueGiven(words, option)});
  }
  const bool draws = std::any_of(kOfDraws.begin(), kOfDraws.end(),
                                 [&](const char* option) { return Gives(words, option); });
  try {
    RunOptions options = ParseRunOptions(deciding);
    options.data.rows = 1000;        // any number of rows will do
    options.workload.extra.clear();  // it may name a file, which a printed command does not open
    if (!IsOpenLoop(options)) left = WithoutOption(left, "--arrivals");
    for (const std::string& option : TakenByNoPhase(options, words)) {
      left = WithoutOption(left, option);
    }
    if (Gives(words, "--hit-ratio") && NoneUses(options, ReadsAbsentRows)) {
      left = WithoutOption(left, "--hit-ratio");
    }
    const bool scans = Gives(words, "--scan-rows") || Gives(words, "--workload-option");
    if (scans && NoneUses(options, TakesScanRows)) {
      left = WithoutSetting(WithoutOption(left, "--scan-rows"), "--workload-option", "scan_length");
    }
    if (!draws || !options.phase_popular.empty() || !NoneUses(options, DrawsRows)) return left;
    for (const char* option : kOfDraws) left = WithoutOption(left, option);
  } catch (const Error&) {
    // ParseRunOptions refuses a workload of another version, and `make` one that replays a missing
    // file, or a mix that the words leave to its default.
  }
  return left;
}

}  // namespace testbed

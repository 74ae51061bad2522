#include "tools/cache/cache_rehearsal.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <utility>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/input_file.h"
#include "device/os/signal_guard.h"
#include "engines/registry.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

using nlohmann::json;

constexpr double kLeastPct = 1, kMostPct = 95;
constexpr double kUsualSlope = 1.1;  // bytes needed per byte of cache, until it is measured

// Returns whether a phase other than the loads writes.
bool ChangesRows(const RunOptions& options) {
  return std::any_of(options.workloads.begin(), options.workloads.end(),
                     [](const std::string& name) {
                       const WorkloadInfo& info = FindWorkload(name);
                       return !info.loads && !info.reads_only && !info.only_settles;
                     });
}

double Shorter(double seconds) { return std::clamp(seconds / 5, std::min(seconds, 5.0), 60.0); }

// Returns the name of the file that keeps the rehearsals of this identity.
std::string FileNameOf(const json& identity) {
  const std::string text = JsonText(identity);
  return fmt::format("{:016x}.json", XXH3_64bits(text.data(), text.size()));
}

std::string FileOf(const RunOptions& options) {
  return options.rehearsals_dir + "/" + FileNameOf(RehearsalIdentity(options));
}

// Returns whether the rehearsals have all fields that a run and a report need. A chosen share above
// the rehearsed ones is accepted: when it is too large, the kernel ends the run, and the run is
// repeated with a smaller one.
bool AreUsable(const json& rehearsals) {
  constexpr double kMostUsablePct = 1000;
  const auto has_numbers = [](const json& of, std::initializer_list<const char*> fields) {
    return of.is_object() && std::all_of(fields.begin(), fields.end(), [&of](const char* field) {
             return of.value(field, json()).is_number();
           });
  };
  if (!has_numbers(rehearsals, {"chosen_pct"})) return false;
  const double chosen = rehearsals["chosen_pct"];
  const json trials = rehearsals.value("rehearsals", json());
  return chosen > 0 && chosen <= kMostUsablePct && trials.is_array() &&
         rehearsals.value("ended_pct", json()).is_array() &&
         std::all_of(trials.begin(), trials.end(), [&](const json& trial) {
           return has_numbers(trial,
                              {"cache_pct", "engine_cache", "own_mean", "own_most", "needed"});
         });
}

// Keeps the first two phases of each workload that does not load, with the settings that the list
// of workloads gives to these phases.
void KeepTwoOfEach(RunOptions* options) {
  const RunOptions all = *options;
  const auto keep = [](const auto& from, size_t n, auto* to) {
    if (n < from.size()) to->push_back(from[n]);
  };
  options->workloads.clear();
  options->phase_seconds.clear();
  options->phase_rates.clear();
  options->phase_curves.clear();
  options->phase_popular.clear();
  std::map<std::string, int> times;
  size_t measured = 0;
  for (const std::string& name : all.workloads) {
    const bool loads = FindWorkload(name).loads;
    const size_t n = measured;
    if (!loads) ++measured;
    if (!loads && ++times[name] > 2) continue;
    options->workloads.push_back(name);
    if (loads) continue;
    keep(all.phase_seconds, n, &options->phase_seconds);
    keep(all.phase_rates, n, &options->phase_rates);
    keep(all.phase_curves, n, &options->phase_curves);
    keep(all.phase_popular, n, &options->phase_popular);
  }
}

// Returns a figure of the phase's memory in bytes; 0 when it is not known.
double MemoryOf(const json& phase, const char* figure) {
  const json value = phase.value("memory", json::object()).value(figure, json());
  return value.is_number() ? value.get<double>() : 0;
}

}  // namespace

double NeededBytes(const Rehearsal& rehearsal) {
  return std::max((rehearsal.own_mean + rehearsal.to_come) / kMeanShare,
                  (rehearsal.own_most + rehearsal.to_come) / kMostShareEver);
}

double NextShare(const std::vector<Rehearsal>& rehearsals, double ram_bytes, double goal_bytes) {
  // Only the last two shares that differ count: a curve is nearly a line close to its end.
  const Rehearsal& last = rehearsals.back();
  const double cache = ram_bytes * last.cache_pct / 100;
  double slope = kUsualSlope;
  for (auto before = rehearsals.rbegin() + 1; before != rehearsals.rend(); ++before) {
    const double apart = cache - ram_bytes * before->cache_pct / 100;
    if (std::abs(apart) < 0.02 * ram_bytes) continue;
    slope = std::clamp((NeededBytes(last) - NeededBytes(*before)) / apart, 0.7, 3.0);
    break;
  }
  const double next = cache + (goal_bytes - NeededBytes(last)) / slope;
  return std::clamp(100 * next / ram_bytes, kLeastPct, kMostPct);
}

// Returns whether a larger cache would be of no use to the run. It would even harm an engine that
// sizes its other memory by what the cache leaves, such as RocksDB's write buffers.
bool LeavesHalfEmpty(const Rehearsal& rehearsal, double ram_bytes) {
  const double cache =
      rehearsal.cache_bytes > 0 ? rehearsal.cache_bytes : ram_bytes * rehearsal.cache_pct / 100;
  return rehearsal.filled_bytes > 0 && rehearsal.filled_bytes + rehearsal.to_come < cache / 2;
}

std::vector<Rehearsal> FindMostShare(double start_pct, double ram_bytes,
                                     const std::function<Rehearsal(double cache_pct)>& rehearse,
                                     double* chosen) {
  constexpr size_t kMostRehearsals = 4;
  constexpr double kNearPct = 4;     // among shares this close, chance decides which one fits
  constexpr double kEnough = 0.965;  // share of the memory that is enough to end the search
  std::vector<Rehearsal> rehearsals;
  *chosen = 0;
  double share = start_pct, too_small = 0;  // too_small: a share with which the run failed
  for (size_t n = 0; n < kMostRehearsals; ++n) {
    try {
      rehearsals.push_back(rehearse(share));
    } catch (const Stopped&) {
      throw;  // the user's stop says nothing about the share
    } catch (const Error&) {
      if (*chosen != 0) break;
      if (rehearsals.empty() || n + 1 == kMostRehearsals) throw;
      too_small = share;
      share = (share + rehearsals.back().cache_pct) / 2;
      continue;
    }
    const double needed = NeededBytes(rehearsals.back());
    const bool within = needed <= ram_bytes;
    if (within) *chosen = std::max(*chosen, share);
    if (within &&
        (needed >= kEnough * ram_bytes || LeavesHalfEmpty(rehearsals.back(), ram_bytes))) {
      break;
    }
    // The goal lies between kEnough and all of the memory, so that the next share is unlikely to
    // exceed the memory by little.
    const double next = NextShare(rehearsals, ram_bytes, (1 + kEnough) / 2 * ram_bytes);
    // A share that needed more than the memory is lowered by at least one percent.
    share = within ? next : std::min(next, share - 1);
    if (share <= too_small) share = (too_small + rehearsals.back().cache_pct) / 2;
    if (share < kLeastPct || (within && share < *chosen + 1)) break;
  }
  if (*chosen == 0) {
    throw Error(
        Error::kUsage,
        fmt::format("--cache-pct most: this run exceeds --ram {} even with a share of {:.0f} %; "
                    "give a larger --ram",
                    ShortSize(static_cast<uint64_t>(ram_bytes)), rehearsals.back().cache_pct));
  }
  const double best = *chosen;
  for (const Rehearsal& rehearsal : rehearsals) {
    const double over = NeededBytes(rehearsal) - ram_bytes;
    if (over <= 0 || rehearsal.cache_pct - best > kNearPct) continue;
    *chosen = std::min(*chosen, rehearsal.cache_pct - 100 * over / kUsualSlope / ram_bytes);
  }
  *chosen = std::max(*chosen, kLeastPct);
  return rehearsals;
}

RunOptions RehearsalOptions(const RunOptions& options) {
  RunOptions rehearsal = options;
  rehearsal.threads = {*std::max_element(options.threads.begin(), options.threads.end())};
  rehearsal.repeat = rehearsal.repeat_runs = 1;
  rehearsal.record_file.clear();
  rehearsal.find_rate.clear();
  for (double& seconds : rehearsal.phase_seconds) {
    if (seconds > 0) seconds = Shorter(seconds);
  }
  if (rehearsal.seconds) rehearsal.seconds = Shorter(*rehearsal.seconds);
  // The length of the insert benchmark's read steps, which are phases limited by time.
  const auto steps = rehearsal.workload.extra.find("query_seconds");
  if (steps != rehearsal.workload.extra.end()) {
    steps->second = fmt::format("{}", Shorter(std::strtod(steps->second.c_str(), nullptr)));
  }
  if (options.operations == 0) KeepTwoOfEach(&rehearsal);
  return rehearsal;
}

bool IsWhole(const RunOptions& options) {
  const RunOptions rehearsal = RehearsalOptions(options);
  return options.threads.size() == 1 && options.repeat == 1 &&
         rehearsal.find_rate == options.find_rate &&
         rehearsal.phase_seconds == options.phase_seconds &&
         rehearsal.phase_rates == options.phase_rates &&
         rehearsal.phase_curves == options.phase_curves &&
         rehearsal.phase_popular == options.phase_popular && rehearsal.seconds == options.seconds &&
         rehearsal.workloads == options.workloads &&
         rehearsal.workload.extra == options.workload.extra;
}

json RehearsalIdentity(const RunOptions& options) {
  // The lengths and phases are the run's own. The rehearsals of a longer run may be equally long,
  // but a cache that is not full at their end grows further in that run.
  json all = options.ToJson();
  json identity = {{"threads", RehearsalOptions(options).threads[0]}, {"whole", IsWhole(options)}};
  for (const char* name : {"engine",
                           "release",
                           "keys",
                           "engine_options",
                           "io",
                           "page_size",
                           "ram",
                           "compression",
                           "rows",
                           "databases",
                           "key_size",
                           "value_size",
                           "fields",
                           "compressibility",
                           "key_order",
                           "indexes",
                           "workload",
                           "workload_options",
                           "rows_per_transaction",
                           "scan_rows",
                           "mix",
                           "queue_depth",
                           "distribution",
                           "zipf_theta",
                           "hot_fraction",
                           "hot_probability",
                           "hit_ratio",
                           "operations",
                           "seconds",
                           "warmup",
                           "rate",
                           "read_iops",
                           "readahead_model"}) {
    identity[name] = all[name];
  }
  for (const char* own : {"phase_seconds", "phase_rates", "phase_curves", "phase_popular"}) {
    if (!all[own].empty()) identity[own] = all[own];
  }
  // The speed of commits decides how many rows a phase changes before its time is over.
  if (ChangesRows(options)) {
    for (const char* name : {"durability", "lazy_interval_ms"}) identity[name] = all[name];
  }
  return identity;
}

bool ShowedEnough(const json& phases, const std::vector<std::string>& planned, double cache_bytes) {
  constexpr double kLongSeconds = 40;
  constexpr double kStandsStill = 0.01, kFull = 0.7;
  double seconds = 0;
  std::vector<const json*> watched;  // phases that load or measure
  for (const json& phase : phases) {
    seconds += phase.value("seconds", 0.0);
    const std::string kind = phase.value("kind", "");
    if (kind == "load" || kind == "measure") watched.push_back(&phase);
  }
  if (seconds < kLongSeconds || watched.size() < 2 || watched.size() >= planned.size())
    return false;
  for (size_t i = watched.size() - 2; i < planned.size(); ++i) {
    if (planned[i] != planned.back()) return false;
  }
  const auto figure = [&](size_t back, const char* name) {
    return MemoryOf(*watched[watched.size() - back], name);
  };
  const double now = figure(1, "own_mean"), before = figure(2, "own_mean");
  return figure(2, "engine_cache") >= kFull * cache_bytes && now > 0 &&
         std::abs(now - before) <= kStandsStill * now;
}

Rehearsal RehearsalOf(double cache_pct, double cache_bytes, const json& run) {
  constexpr double kStandsStill = 1.03;
  Rehearsal rehearsal{.cache_pct = cache_pct, .cache_bytes = cache_bytes};
  double now = 0, before = 0;  // bytes in the cache at the end of the last two phases
  for (const json& phase : run.value("phases", json::array())) {
    const double cached = MemoryOf(phase, "engine_cache");
    rehearsal.filled_bytes = std::max(rehearsal.filled_bytes, cached);
    rehearsal.own_most = std::max(rehearsal.own_most, MemoryOf(phase, "own_most"));
    if (phase.value("kind", "") != "settle") before = std::exchange(now, cached);
    if (phase.value("kind", "") == "warm-up") continue;
    rehearsal.own_mean = std::max(rehearsal.own_mean, MemoryOf(phase, "own_mean"));
  }
  if (now > kStandsStill * before) rehearsal.to_come = std::max(0.0, cache_bytes - now);
  if (run.contains("error")) {
    throw Error(run["error"].value("exit_code", 1) == 2 ? Error::kUsage : Error::kRun,
                fmt::format("the rehearsal of --cache-pct most with {:.1f} %: {}", cache_pct,
                            run["error"].value("sentence", "")));
  }
  if (rehearsal.own_most == 0) {
    throw Error(Error::kUsage,
                "--cache-pct most needs the memory that a run holds, which is not known here");
  }
  return rehearsal;
}

double ShareInForce(const RunOptions& options, double cache_pct) {
  if (!FindEngine(options.engine_name).capabilities.cache_of_power_of_two) return cache_pct;
  return 100 * static_cast<double>(options.CacheBytesOf(cache_pct)) /
         static_cast<double>(options.ram_bytes);
}

void LowerShare(const RunOptions& options, json* rehearsals) {
  constexpr double kLess = 0.97;
  const double ended = (*rehearsals)["chosen_pct"];
  (*rehearsals)["ended_pct"].push_back(ended);
  (*rehearsals)["chosen_pct"] = ShareInForce(options, kLess * ended);
}

json RehearsalsJson(const std::vector<Rehearsal>& rehearsals, double chosen_pct) {
  json trials = json::array();
  for (const Rehearsal& rehearsal : rehearsals) {
    trials.push_back({{"cache_pct", rehearsal.cache_pct},
                      {"cache_bytes", rehearsal.cache_bytes},
                      {"engine_cache", rehearsal.filled_bytes},
                      {"own_mean", rehearsal.own_mean},
                      {"own_most", rehearsal.own_most},
                      {"to_come", rehearsal.to_come},
                      {"needed", NeededBytes(rehearsal)}});
  }
  return {{"chosen_pct", chosen_pct},
          {"mean_share", kMeanShare},
          {"most_share", kMostShareEver},
          {"ended_pct", json::array()},
          {"rehearsals", trials}};
}

json KeptRehearsals(const RunOptions& options) {
  if (options.rehearsals_dir.empty()) return nullptr;
  const std::string path = FileOf(options);
  if (!IsThere(path)) return nullptr;
  InputFile file({.path = path, .name = path, .advice = "remove it"});
  const json kept = ParseJson(file.ReadAll());
  if (!kept.is_object() || kept.value("identity", json()) != RehearsalIdentity(options)) return {};
  json rehearsals = kept.value("cache_rehearsal", json());
  return AreUsable(rehearsals) ? rehearsals : json();
}

bool IsKeptRehearsals(const std::string& name, const json& document) {
  return document.is_object() && document.contains("cache_rehearsal") &&
         name == FileNameOf(document.value("identity", json()));
}

void KeepRehearsals(const RunOptions& options, const json& rehearsals) {
  if (options.rehearsals_dir.empty()) return;
  MakeDirectories(options.rehearsals_dir);
  const json kept = {{"identity", RehearsalIdentity(options)}, {"cache_rehearsal", rehearsals}};
  ReplaceFile(FileOf(options), JsonText(kept, 1) + "\n");
}

}  // namespace testbed

#include "tools/experiment/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include "tools/report/figures.h"
#include "workloads/registry.h"

namespace testbed {
namespace {

using nlohmann::json;

std::string FigureName(const std::string& name) {
  std::string figure = name;
  for (char& c : figure) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return figure;
}

// Erases the percentiles of the latency that the entry at `path` is too few operations for. The
// report of a run does not show them either (TellsPercentile).
void EraseUntold(const json& entry, const std::string& path, Figures* figures) {
  for (const std::string latency : {"latency_us", "latency_from_intended_us"}) {
    if (!entry.contains(latency) || !entry.contains("count")) continue;
    const double told = ToldOperations(entry, latency);
    for (const auto& [name, share] :
         {std::pair("p50", 0.5), std::pair("p90", 0.9), std::pair("p99", 0.99),
          std::pair("p999", 0.999), std::pair("p9999", 0.9999)}) {
      if (!TellsPercentile(told, share)) figures->erase(path + "." + latency + "." + name);
    }
  }
}

void Flatten(const json& node, const std::string& path, Figures* figures) {
  if (node.is_number()) {
    (*figures)[path] = node.get<double>();
  } else if (node.is_boolean()) {
    (*figures)[path] = node.get<bool>() ? 1 : 0;
  } else if (node.is_string()) {
    // Effective settings are strings, but many of them hold numbers.
    const std::string& text = node.get_ref<const std::string&>();
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (!text.empty() && *end == '\0') (*figures)[path] = value;
  } else if (node.is_object()) {
    for (const auto& [key, value] : node.items()) {
      Flatten(value, path + "." + FigureName(key), figures);
    }
    EraseUntold(node, path, figures);
  } else if (node.is_array() && !node.empty()) {
    const bool numbers =
        std::all_of(node.begin(), node.end(), [](const json& item) { return item.is_number(); });
    if (numbers) {
      const std::vector<double> all = node.get<std::vector<double>>();
      (*figures)[path + ".count"] = static_cast<double>(all.size());
      (*figures)[path + ".min"] = *std::min_element(all.begin(), all.end());
      (*figures)[path + ".max"] = *std::max_element(all.begin(), all.end());
      (*figures)[path + ".sum"] = std::accumulate(all.begin(), all.end(), 0.0);
    }
    for (const json& item : node) {
      if (item.is_object() && item.contains("name") && item["name"].is_string()) {
        Flatten(item, path + "." + FigureName(item["name"]), figures);
      }
    }
  }
}

// A run that held this share of --ram at some moment filled it: the kernel reclaimed page cache.
constexpr double kFull = 0.97;

using Phases = std::vector<const json*>;

// Returns the phases of the load, of which there may be none, and of the run on its database.
Phases PhasesTogether(const json* load, const json& run) {
  Phases phases;
  for (const json* part : {load, &run}) {
    if (part == nullptr) continue;
    for (const json& phase : ListOf(*part, "phases")) phases.push_back(&phase);
  }
  return phases;
}

// Returns the operation that was done most often; null without operations. Which of two about
// equally frequent kinds is done more often is chance, and would differ from cell to cell, so the
// first of them is taken: the kinds of a workload have the same order in all of its documents.
const json* MostFrequent(const json& operations) {
  constexpr double kAlike = 0.05, kDeviations = 4;
  double most = 0;
  for (const json& operation : operations) most = std::max(most, operation.value("count", 0.0));
  for (const json& operation : operations) {
    const double count = operation.value("count", 0.0);
    // The standard deviation of the difference of two equally frequent kinds is the root of their
    // sum.
    const double alike = std::max(kAlike * most, kDeviations * std::sqrt(most + count));
    // Between very few operations chance explains any difference, so a kind must also have some.
    if (most - count <= alike && (count > 0 || most == 0)) return &operation;
  }
  return nullptr;
}

// Returns the bytes that the device wrote for the phase; NaN when they were not counted.
double WriteBytesOf(const json& phase) {
  static const json::json_pointer kAt("/account/own/write_bytes");
  const bool known = phase.contains(kAt) && phase[kAt].is_number();
  return known ? phase[kAt].get<double>() : std::nan("");
}

// Adds, below `path`, the bytes that the device wrote in a phase and in the settle right behind it,
// in which the engine and the page cache write what the phase left to them.
void FlattenSettled(const Phases& phases, size_t phase, const std::string& path, Figures* figures) {
  double bytes = WriteBytesOf(*phases[phase]);
  for (size_t i = phase + 1; i < phases.size(); ++i) {
    if (phases[i]->value("kind", "") != "settle") break;
    bytes += WriteBytesOf(*phases[i]);
  }
  if (std::isfinite(bytes)) (*figures)[path + ".write_bytes_with_settle"] = bytes;
}

// Returns whether the phase did nothing but check the database.
bool OnlyChecks(const json& phase) {
  const std::string name = phase.value("name", "");
  return std::any_of(Workloads().begin(), Workloads().end(), [&name](const WorkloadInfo& info) {
    return info.only_checks && info.name == name;
  });
}

// Returns the index of the last measured phase, which is one that only checks when there is no
// other; the number of phases when none is measured.
size_t LastMeasured(const Phases& phases) {
  const size_t none = phases.size();
  size_t last = none, last_check = none;
  for (size_t i = 0; i < phases.size(); ++i) {
    if (phases[i]->value("kind", "") != "measure") continue;
    (OnlyChecks(*phases[i]) ? last_check : last) = i;
  }
  return last != none ? last : last_check;
}

// Adds the figures of the last measured phase, whatever its workload, as "measured", and those of
// its most frequent operation as "measured.operation".
void FlattenMeasured(const Phases& phases, Figures* figures) {
  const size_t index = LastMeasured(phases);
  if (index == phases.size()) return;
  const json& last = *phases[index];
  for (const auto& [key, value] : last.items()) {
    if (key != "series") Flatten(value, "measured." + FigureName(key), figures);
  }
  FlattenSettled(phases, index, "measured", figures);
  const json* most = MostFrequent(ListOf(last, "operations"));
  if (most != nullptr) Flatten(*most, "measured.operation", figures);
}

// Adds the memory that the run held: in measured phases, without those any load, and without loads
// a check. A check reads the whole database, so that the page cache fills whatever the work needs.
void FlattenHeld(const Phases& phases, Figures* figures) {
  struct Held {
    double mean = 0;        // largest mean of a phase, in bytes
    double mean_share = 0;  // the same as a share of --ram; 0: --ram is not known
    double share = 0;       // largest share of --ram held at any moment
  };
  std::map<std::string, Held> most;  // by kind of phase, or "check"
  for (const json* phase : phases) {
    const json memory = phase->value("memory", json::object());
    Held& of_kind = most[OnlyChecks(*phase) ? "check" : phase->value("kind", "")];
    const double mean = memory.value("held_mean", 0.0), limit = memory.value("limit", 0.0);
    if (mean > of_kind.mean) {
      of_kind.mean = mean;
      of_kind.mean_share = limit > 0 ? mean / limit : 0;
    }
    if (limit > 0) of_kind.share = std::max(of_kind.share, memory.value("held_most", 0.0) / limit);
  }
  const char* const kind = most["measure"].mean > 0 ? "measure"
                           : most["load"].mean > 0  ? "load"
                                                    : "check";
  const Held& held = most[kind];
  if (held.mean <= 0) return;
  (*figures)["held.bytes"] = held.mean;
  if (held.mean_share > 0) (*figures)["held.share"] = held.mean_share;
  if (held.share > 0) (*figures)["held.full"] = held.share >= kFull;
}

// Adds the share of the engine's cache that was in use at the end of a phase of the last rehearsal,
// of the phase that used most, for an engine that tells it. With direct IO nothing but this cache
// can hold what the engine reads.
void FlattenCacheUse(const json& document, Figures* figures) {
  if (!document.contains("cache_rehearsal") || !document.contains("options")) return;
  const json& rehearsals = ListOf(document["cache_rehearsal"], "rehearsals");
  if (rehearsals.empty()) return;
  const json& last = rehearsals.back();
  const double used = last.value("engine_cache", 0.0);
  // An engine may round the size of its cache down. Documents of earlier versions have the share
  // alone.
  const double share = last.value("cache_pct", 0.0) / 100;
  const double given = last.value("cache_bytes", 0.0);
  const double cache = given > 0 ? given : share * document["options"].value("ram", 0.0);
  if (used > 0 && cache > 0) (*figures)["held.cache_share"] = used / cache;
}

// Adds the rows that the loads of the run inserted. How many a load inserts is planned, by --rows
// or by an option of the workload.
void FlattenLoaded(const Phases& phases, Figures* figures) {
  double rows = 0;
  for (const json* phase : phases) {
    if (phase->value("kind", "") == "load") rows += phase->value("rows_inserted", 0.0);
  }
  if (rows > 0) (*figures)["loaded.rows"] = rows;
}

// Returns the seconds that --workload gives to each of the measured phases; 0 where it gives none.
std::vector<double> OwnSeconds(const json& options, const Phases& measured) {
  // The list has a value for each workload that does not load, `settle` among them.
  const json& own = ListOf(options, "phase_seconds");
  std::vector<double> seconds;
  size_t listed = 0;
  for (const json& name : ListOf(options, "workload")) {
    if (seconds.size() == measured.size()) break;
    const bool is_measured = name == measured[seconds.size()]->value("name", json());
    if (is_measured) seconds.push_back(listed < own.size() ? own[listed].get<double>() : 0);
    if (is_measured || name == json("settle")) ++listed;
  }
  seconds.resize(measured.size(), 0);
  return seconds;
}

// Adds the number of measured phases, and the seconds that the options plan for each. A search for
// a rate (--find-rate) measures as many phases as it needs, so it has no such figures.
void FlattenPlanned(const json& document, const json& run, Figures* figures) {
  if (!document.contains("options")) return;
  const json& options = document["options"];
  if (!options.value("find_rate", "").empty()) return;
  Phases measured;
  for (const json& phase : ListOf(run, "phases")) {
    if (phase.value("kind", "") == "measure") measured.push_back(&phase);
  }
  if (measured.empty()) return;
  (*figures)["planned.phases"] = static_cast<double>(measured.size());
  const std::vector<double> own = OwnSeconds(options, measured);
  const auto seconds = options.find("seconds");
  for (size_t i = 0; i < own.size(); ++i) {
    const std::string name = fmt::format("planned.seconds_{}", i + 1);
    if (own[i] > 0) {
      (*figures)[name] = own[i];
    } else if (seconds != options.end() && seconds->is_number()) {
      (*figures)[name] = seconds->get<double>();
    }
  }
}

// Adds the number of phases that ended before they were told to, for want of rows. A warm-up is one
// of them, because the phase after it begins with what the warm-up left.
void FlattenEnded(const json& run, Figures* figures) {
  double ended = 0;
  for (const json& phase : ListOf(run, "phases")) {
    ended += phase.contains("ended_because") && phase.value("kind", "") != "tune" ? 1 : 0;
  }
  if (ended > 0) (*figures)["planned.ended_early"] = ended;
}

// Adds the searches of --find-rate. A search that found no rate lacks that figure, and must not
// show the one of a search before it.
void FlattenSearches(const json& run, Figures* figures) {
  for (const json& search : ListOf(run, "find_rate")) {
    const std::string path = "find_rate." + FigureName(search.value("name", ""));
    std::erase_if(*figures, [begin = path + "."](const auto& figure) {
      return figure.first.starts_with(begin);
    });
    Flatten(search, path, figures);
  }
}

// Adds the figures that are of a run as a whole and not of a phase.
void FlattenWhole(const json& document, const json& run, Figures* figures) {
  for (const char* part : {"engine", "accounting", "database", "cache_tuning"}) {
    if (run.contains(part)) Flatten(run[part], part, figures);
  }
  FlattenSearches(run, figures);
  (*figures)["threads"] = run.value("threads", 0.0);
  for (const char* part : {"options", "machine", "device", "cache_rehearsal"}) {
    if (document.contains(part)) Flatten(document[part], part, figures);
  }
}

}  // namespace

const json& ListOf(const json& document, const char* name) {
  static const json none = json::array();
  const auto found = document.find(name);
  return found == document.end() ? none : *found;
}

Figures FiguresOf(const json& document, const json& run, const json& load) {
  const json* of_load = load.is_object() ? &load.at("runs").at(0) : nullptr;
  const Phases phases = PhasesTogether(of_load, run);
  Figures figures;
  FlattenMeasured(phases, &figures);
  FlattenHeld(phases, &figures);
  FlattenCacheUse(document, &figures);
  FlattenLoaded(phases, &figures);
  FlattenPlanned(document, run, &figures);
  FlattenEnded(run, &figures);
  std::map<std::string, int> seen;
  for (size_t i = 0; i < phases.size(); ++i) {
    const json& phase = *phases[i];
    std::string name = FigureName(phase.value("name", ""));
    const int n = ++seen[name];
    if (n > 1) name += fmt::format("_{}", n);
    for (const auto& [key, value] : phase.items()) {
      if (key != "series") Flatten(value, name + "." + FigureName(key), &figures);
    }
    if (phase.value("kind", "") != "settle") FlattenSettled(phases, i, name, &figures);
  }
  FlattenWhole(document, run, &figures);
  if (of_load == nullptr) return figures;
  Figures whole;
  FlattenWhole(load, *of_load, &whole);
  figures.insert(whole.begin(), whole.end());
  return figures;
}

std::string GradeOf(const json& run, const json& load) {
  const std::string own = run.at("accounting").value("grade", "");
  if (!load.is_object()) return own;
  const json of_load = load.at("runs").at(0).value("accounting", json::object());
  return std::max(own, of_load.value("grade", std::string()));
}

}  // namespace testbed

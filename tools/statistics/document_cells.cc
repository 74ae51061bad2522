#include "tools/statistics/document_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tools/output/table.h"
#include "tools/report/figures.h"
#include "tools/statistics/metrics.h"

namespace testbed {
namespace {

using nlohmann::json;

bool IsMeasured(const json& phase) {
  return phase.contains("operations") && phase.at("kind") != "warm-up" &&
         phase.at("kind") != "tune" && !phase.value("partial", false);
}

bool LoadsAndMeasures(const json& run) {
  bool loads = false, measures = false;
  for (const json& phase : run.at("phases")) {
    loads = loads || phase.at("kind") == "load";
    measures = measures || phase.at("kind") == "measure";
  }
  return loads && measures;
}

// Returns how many of the phase's operations of a kind tell its latencies. With an empty
// `operation` that is the kind of a phase that has one; a phase of several has no latencies.
double ToldOf(const json& phase, const std::string& operation, const char* latency) {
  const json& operations = phase.at("operations");
  for (const json& op : operations) {
    const bool is_it = operation.empty() ? operations.size() == 1 : op.at("name") == operation;
    if (is_it) return ToldOperations(op, latency);
  }
  return Number(phase, "/count", 0);
}

// Adds what the device wrote in the settles right behind the phase to the write amplification among
// the metrics of the phase as a whole. In a settle the engine and the page cache write what the
// phase left to them. Leaves the metric out when these bytes are not known.
void AddSettled(const json& phases, size_t phase, std::map<std::string, double>* whole) {
  const auto amplification = whole->find("write_amplification");
  if (amplification == whole->end()) return;
  double settled = 0;
  for (size_t i = phase + 1; i < phases.size(); ++i) {
    if (phases.at(i).at("kind") != "settle") break;
    settled += OwnDeviceIo(phases.at(i).at("account")).write_bytes;
  }
  amplification->second += settled / Number(phases.at(phase), "/user_bytes_written");
  if (!std::isfinite(amplification->second)) whole->erase(amplification);
}

// Returns the seed of the run's load; null when it is not known. Older documents number no loads.
json SeedOf(const json& run) {
  return run.contains("load") && run.contains("seed") ? run.at("seed") : json();
}

}  // namespace

std::vector<int> LoadsOfRuns(const json& document) {
  std::vector<int> loads;
  int fresh = -1;
  for (const json& run : document.at("runs")) {
    if (run.contains("load")) {
      loads.push_back(run.at("load"));
    } else {
      if (LoadsAndMeasures(run)) ++fresh;
      loads.push_back(std::max(0, fresh));
    }
  }
  return loads;
}

std::vector<DocumentCell> CellsOf(const json& document) {
  std::vector<DocumentCell> cells;
  std::map<std::string, size_t> index;
  const std::vector<int> loads = LoadsOfRuns(document);
  std::map<std::pair<std::string, int>, int> runs;  // runs so far, by cell and load
  for (size_t i = 0; i < loads.size(); ++i) {
    const json& run = document.at("runs").at(i);
    std::map<std::string, int> seen;
    const json& phases = run.at("phases");
    for (size_t p = 0; p < phases.size(); ++p) {
      const json& phase = phases.at(p);
      if (!IsMeasured(phase)) continue;
      std::string of_phase = phase.at("name");
      const int time = ++seen[of_phase];
      if (time > 1) of_phase += fmt::format(" ({})", time);
      std::map<std::string, std::map<std::string, double>> by_kind = MetricsOf(phase);
      AddSettled(phases, p, &by_kind.at(""));
      for (const auto& [operation, metrics] : by_kind) {
        std::string name = of_phase;
        if (!operation.empty()) name += " " + operation;
        name = OneLine(name) + ", " + ClientsText(run, phase);
        const double actual = ToldOf(phase, operation, "latency_us");
        const double intended = ToldOf(phase, operation, "latency_from_intended_us");
        if (index.emplace(name, cells.size()).second) {
          cells.push_back({name, operation, {}, actual, intended, {}});
        }
        DocumentCell& cell = cells[index[name]];
        cell.least_actual = std::min(cell.least_actual, actual);
        cell.least_intended = std::min(cell.least_intended, intended);
        json& seed = cell.seeds.try_emplace(loads[i], SeedOf(run)).first->second;
        if (seed != SeedOf(run)) seed = nullptr;
        const int number = runs[{name, loads[i]}]++;
        for (const auto& [metric, value] : metrics) {
          cell.samples[metric].push_back(
              {.side = kA, .load = loads[i], .run = number, .value = value});
        }
      }
    }
  }
  return cells;
}

std::map<int, int> LoadsOfSameSeeds(const DocumentCell& first, const DocumentCell& second) {
  std::map<json, std::pair<std::vector<int>, std::vector<int>>> loads;  // both cells' loads by seed
  for (const auto& [load, seed] : first.seeds) loads[seed].first.push_back(load);
  for (const auto& [load, seed] : second.seeds) loads[seed].second.push_back(load);
  std::map<int, int> pairs;
  for (const auto& [seed, of] : loads) {
    if (seed.is_null() || of.first.size() != 1 || of.second.size() != 1) continue;
    pairs[of.second[0]] = of.first[0];
  }
  return pairs;
}

std::vector<LackedMetric> LackedMetrics(const std::vector<DocumentCell>& first,
                                        const std::vector<DocumentCell>& second,
                                        const std::vector<std::string>& metrics) {
  std::map<std::string, const DocumentCell*> others;
  for (const DocumentCell& cell : second) others.emplace(cell.name, &cell);
  std::vector<LackedMetric> lacked;
  for (const std::string& metric : metrics) {
    LackedMetric of_metric{.metric = metric};
    for (const DocumentCell& cell : first) {
      const auto other = others.find(cell.name);
      if (other == others.end()) continue;
      const bool one = cell.samples.contains(metric), two = other->second->samples.contains(metric);
      of_metric.in_both += one && two;
      of_metric.in_first += one && !two;
      of_metric.in_second += two && !one;
    }
    const bool alone = of_metric.in_first + of_metric.in_second > 0;
    if (alone || of_metric.in_both == 0) lacked.push_back(std::move(of_metric));
  }
  return lacked;
}

std::vector<std::string> CellsWithMetricOfOne(const std::vector<DocumentCell>& first,
                                              const std::vector<DocumentCell>& second,
                                              const std::string& metric) {
  const std::string kind = KindOf(metric);
  const std::string name = kind.empty() ? metric : metric.substr(kind.size() + 1);
  std::vector<std::string> cells;
  for (const DocumentCell& cell : first) {
    if (!kind.empty() && cell.operation != kind) continue;
    const auto other = std::find_if(second.begin(), second.end(),
                                    [&](const DocumentCell& one) { return one.name == cell.name; });
    if (other == second.end()) continue;
    if (cell.samples.contains(name) != other->samples.contains(name)) cells.push_back(cell.name);
  }
  return cells;
}

std::vector<std::string> PhasesWithWrongAnswers(const json& document) {
  std::vector<std::string> phases;
  for (const json& run : document.at("runs")) {
    for (const json& phase : run.at("phases")) {
      if (!phase.contains("wrong") || phase.at("wrong") == 0) continue;
      const std::string name = phase.at("name");
      if (std::find(phases.begin(), phases.end(), name) == phases.end()) phases.push_back(name);
    }
  }
  return phases;
}

}  // namespace testbed

#include "tools/history/history_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "device/error.h"
#include "tools/output/json_text.h"
#include "tools/output/table.h"
#include "tools/report/compare_terms.h"
#include "tools/statistics/corrections.h"
#include "tools/statistics/document_cells.h"
#include "tools/statistics/metrics.h"

namespace testbed {
namespace {

using nlohmann::json;

// Returns whether the document's run chose the size of the cache by rehearsals (--cache-pct most).
bool RehearsedCache(const json& document) {
  return document.at("options").value("cache_most", false);
}

// Returns whether both documents were asked for the same data and settings, whatever the machine
// and the seed are. With --cache-pct most the rehearsals of each run find a slightly different
// size of the cache, and "options" has what they found.
bool SameAsked(const json& first, const json& second, const CompareTerms& terms) {
  std::set<std::string> excused = {"seed"};
  if (RehearsedCache(first) && RehearsedCache(second)) {
    excused.insert("cache_pct");
    excused.insert("cache_size");
  }
  return DataAskedFor(first) == DataAskedFor(second) &&
         std::all_of(terms.settings.begin(), terms.settings.end(),
                     [&](const Difference& d) { return excused.contains(d.name); });
}

Estimate OverLoads(const std::vector<Sample>& samples) {
  std::map<int, std::vector<double>> loads;
  for (const Sample& sample : samples) loads[sample.load].push_back(sample.value);
  std::vector<double> means;
  for (const auto& [load, values] : loads) means.push_back(EstimateMean(values).mean);
  return EstimateMean(means);
}

class SeriesMaker {
 public:
  explicit SeriesMaker(const std::vector<std::string>& metrics) : metrics_(metrics) {}

  void Add(const HistoryEntry& entry) {
    const size_t group = GroupOf(entry.document), result = commits_.size();
    commits_.push_back(entry.commit);
    for (const DocumentCell& cell : CellsOf(entry.document)) {
      const size_t at = CellAt(group, cell.name);
      cells_[at].newest = result;
      for (const std::string& metric : metrics_) {
        const auto samples = cell.samples.find(metric);
        if (samples == cell.samples.end()) continue;
        SeriesAt(at, metric)
            .points.push_back({result, entry.commit, entry.started(), OverLoads(samples->second)});
      }
    }
  }
  std::vector<HistorySeries> series() && {
    SetStates();
    return std::move(series_);
  }

 private:
  // Results with the same settings and the same machine.
  struct Group {
    const json* first;  // its first document
    size_t asked;       // index of the first group with these settings, on any machine
  };
  // A cell of the results of a group, whatever metrics they have.
  struct Cell {
    size_t group;
    std::string title;     // "btree point-read, 8 thr", "rocksdb@10.4.2 point-read, 8 thr"
    std::string workload;  // engine, phase and kind of operation, without the number of clients
    std::string asked;     // engine, cell and settings that were asked for
    size_t newest = 0;     // number of the last result that has the cell
  };

  size_t GroupOf(const json& document) {
    size_t asked = groups_.size();
    for (size_t i = 0; i < groups_.size(); ++i) {
      const CompareTerms terms = TermsOf(*groups_[i].first, document);
      if (!SameAsked(*groups_[i].first, document, terms)) continue;
      if (terms.comparable()) return i;
      asked = std::min(asked, groups_[i].asked);
    }
    groups_.push_back({&document, asked});
    return groups_.size() - 1;
  }
  size_t CellAt(size_t group, const std::string& name) {
    const auto [at, added] = cell_index_.emplace(std::pair(group, name), cells_.size());
    if (added) {
      const Group& of = groups_[group];
      // A title becomes a line in tables, plots and comments, and a document from elsewhere may
      // have line breaks in its names.
      const json& options = of.first->at("options");
      const auto engine = options.at("engine").get<std::string>();
      const auto release = options.value("release", std::string());
      // Results of a later release go on with the workload of an earlier one.
      const std::string measured = OneLine(engine + " " + name);
      const std::string named = release.empty() ? engine : engine + "@" + release;
      cells_.push_back({.group = group,
                        .title = OneLine(named + " " + name),
                        .workload = measured.substr(0, measured.rfind(", ")),
                        .asked = fmt::format("{} {}", measured, of.asked)});
    }
    return at->second;
  }
  HistorySeries& SeriesAt(size_t cell, const std::string& metric) {
    const auto [at, added] = series_index_.emplace(std::pair(cell, metric), series_.size());
    if (added) {
      const Cell& of = cells_[cell];
      std::string title = of.title;
      if (of.group > 0) title += fmt::format(" (settings {})", of.group + 1);
      series_.push_back(
          {.group = of.group, .title = std::move(title), .metric = metric, .points = {}});
      cell_of_series_.push_back(cell);
    }
    return series_[at->second];
  }
  // The cells decide which result is the newest, not the metrics that are asked for: of a metric
  // that the newest result lacks, the last value may be old.
  void SetStates() {
    std::map<std::string, size_t> of_workload, of_asked;  // the newest results
    for (const Cell& cell : cells_) {
      size_t& by_workload = of_workload[cell.workload];
      by_workload = std::max(by_workload, cell.newest);
      size_t& by_asked = of_asked[cell.asked];
      by_asked = std::max(by_asked, cell.newest);
    }
    for (size_t i = 0; i < series_.size(); ++i) {
      const Cell& cell = cells_[cell_of_series_[i]];
      if (cell.newest != of_asked[cell.asked] ||
          commits_[cell.newest] != commits_[of_workload[cell.workload]]) {
        series_[i].state = SeriesState::kOtherTerms;
      } else if (series_[i].points.back().result != cell.newest) {
        series_[i].state = SeriesState::kLacksMetric;
      }
    }
  }

  const std::vector<std::string>& metrics_;
  std::vector<Group> groups_;
  std::vector<std::string> commits_;  // by number of the result
  std::vector<Cell> cells_;
  std::map<std::pair<size_t, std::string>, size_t> cell_index_;  // by group and name
  std::vector<HistorySeries> series_;
  std::vector<size_t> cell_of_series_;                             // index of each series' cell
  std::map<std::pair<size_t, std::string>, size_t> series_index_;  // by cell and metric
};

}  // namespace

std::vector<HistorySeries> SeriesOf(const std::vector<HistoryEntry>& entries,
                                    const std::vector<std::string>& metrics) {
  SeriesMaker maker(metrics);
  for (const HistoryEntry& entry : entries) {
    try {
      maker.Add(entry);
    } catch (const json::exception& e) {
      throw Error(Error::kUsage, fmt::format("the result of commit {}, started {}, is damaged: {}",
                                             entry.commit, entry.started(), JsonErrorText(e)));
    }
  }
  return std::move(maker).series();
}

std::vector<HistoryChange> ChangesOf(const std::vector<HistorySeries>& series, size_t last) {
  std::vector<HistoryChange> changes;
  std::vector<Answer> answers;
  for (const HistorySeries& s : series) {
    if (!s.goes_on()) continue;
    const size_t n = s.points.size(), split = n - std::min(n, last);
    std::vector<Sample> samples;
    for (size_t i = split - std::min(split, kMostBefore); i < n; ++i) {
      samples.push_back({.side = i < split ? kA : kB,
                         .load = static_cast<int>(i),
                         .value = s.points[i].value.mean});
    }
    if (std::all_of(samples.begin(), samples.end(), [](const Sample& x) { return x.value == 0; })) {
      continue;
    }
    changes.push_back({&s, {}});
    const Metric& metric = *FindMetric(s.metric);
    answers.push_back(Compare(
        samples,
        {.pairing = Pairing::kNone, .resolution = metric.resolution, .grain = metric.grain}));
  }
  ControlFalseDiscoveries(answers);
  for (size_t i = 0; i < changes.size(); ++i) changes[i].answer = answers[i];
  return changes;
}

bool GotWorse(const HistoryChange& change) {
  return change.answer.outcome ==
         (FindMetric(change.series->metric)->speed ? Outcome::kLess : Outcome::kMore);
}

}  // namespace testbed

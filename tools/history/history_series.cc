#include "tools/history/history_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "device/error.h"
#include "tools/output/json_text.h"
#include "tools/report/compare_terms.h"
#include "tools/statistics/corrections.h"
#include "tools/statistics/document_cells.h"
#include "tools/statistics/metrics.h"

namespace testbed {
namespace {

using nlohmann::json;

bool SameSeries(const json& first, const json& second) {
  const CompareTerms terms = TermsOf(first, second);
  return terms.comparable() && first.value("data", json()) == second.value("data", json()) &&
         std::all_of(terms.settings.begin(), terms.settings.end(),
                     [](const Difference& d) { return d.name == "seed"; });
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
    const size_t group = GroupOf(entry.document);
    for (const DocumentCell& cell : CellsOf(entry.document)) {
      for (const std::string& metric : metrics_) {
        const auto samples = cell.samples.find(metric);
        if (samples == cell.samples.end()) continue;
        HistorySeries& series = SeriesAt(group, cell.name, metric);
        series.points.push_back({entry.commit, entry.started(), OverLoads(samples->second)});
      }
    }
  }
  std::vector<HistorySeries> series() && { return std::move(series_); }

 private:
  size_t GroupOf(const json& document) {
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (SameSeries(*groups_[i], document)) return i;
    }
    groups_.push_back(&document);
    return groups_.size() - 1;
  }
  HistorySeries& SeriesAt(size_t group, const std::string& cell, const std::string& metric) {
    const auto [at, added] = index_.emplace(std::tuple(group, cell, metric), series_.size());
    if (added) {
      std::string title =
          groups_[group]->at("options").at("engine").get<std::string>() + " " + cell;
      if (group > 0) title += fmt::format(" (settings {})", group + 1);
      series_.push_back({group, std::move(title), metric, {}});
    }
    return series_[at->second];
  }

  const std::vector<std::string>& metrics_;
  std::vector<const json*> groups_;  // the first document of each group
  std::vector<HistorySeries> series_;
  std::map<std::tuple<size_t, std::string, std::string>, size_t> index_;
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
    answers.push_back(Compare(
        samples, {.pairing = Pairing::kNone, .resolution = FindMetric(s.metric)->resolution}));
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

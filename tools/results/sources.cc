#include "tools/results/sources.h"

#include <filesystem>
#include <utility>

#include "device/error.h"
#include "device/file/input_file.h"
#include "device/os/signal_guard.h"
#include "tools/experiment/results.h"
#include "tools/experiment/results_dir.h"
#include "tools/output/json_text.h"
#include "tools/report/report.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Returns the metrics of the cell in its finished round number `finished`, counted from 0.
std::vector<CellMetric> MetricsOf(const ResultSet& results, size_t cell, size_t finished) {
  std::vector<CellMetric> metrics;
  for (const auto& metric : results.experiment().metrics) {
    metrics.push_back({metric.name, metric.unit, results.Values(cell, metric.name)[finished]});
  }
  return metrics;
}

void AddExperimentSources(const std::string& path, std::vector<ResultsSource>* sources) {
  const ResultSet results = ResultSet::Read(path);
  const ResultsDir dir(path);
  const std::string& name = results.experiment().name;
  const std::string scale = results.ChosenScale();
  for (size_t i = 0; i < results.cells().size(); ++i) {
    Cell cell = results.cells()[i];
    size_t finished = 0;
    for (int round = 1; round <= results.rounds(); ++round) {
      cell.round = round;
      if (!dir.HasCell(cell)) {
        if (dir.HasFailure(cell)) sources->push_back({dir.FailureFile(cell), name, scale});
        continue;
      }
      ResultsSource source{dir.CellFile(cell), name, scale};
      // A cell whose runs failed in this round has a document, but no metrics.
      if (results.finished(i, round)) source.metrics = MetricsOf(results, i, finished++);
      sources->push_back(std::move(source));
    }
  }
  const fs::path loads = fs::path(path) / "loads";
  if (!fs::is_directory(loads)) return;
  for (const std::string& file : JsonFilesIn(loads.string())) {
    sources->push_back({file, name, scale});
  }
}

std::vector<ResultsSource> SourcesOf(const std::string& path) {
  std::vector<ResultsSource> sources;
  if (!fs::is_directory(path)) {
    sources.push_back({path, "", ""});
  } else if (ResultsDir(path).Exists()) {
    AddExperimentSources(path, &sources);
  } else {
    for (const std::string& file : JsonFilesIn(path)) sources.push_back({file, "", ""});
  }
  if (sources.empty()) {
    throw Error(Error::kUsage,
                path +
                    " holds no results; give files written by --json, directories of them, or "
                    "the results of experiments");
  }
  return sources;
}

}  // namespace

// FindSources has checked the file. When it is no JSON any more, ReadResults throws the Error.
json ResultsSource::Document() const {
  if (kept != nullptr) return *kept;
  json document = ParseJson(InputFile({.path = path, .name = path}).ReadAll());
  return document.is_object() ? document : ReadResults(path);
}

std::vector<ResultsSource> FindSources(const std::vector<std::string>& paths,
                                       const std::function<void(size_t, size_t)>& progress) {
  std::vector<ResultsSource> all;
  for (const std::string& path : paths) {
    for (ResultsSource& source : SourcesOf(path)) all.push_back(std::move(source));
  }
  // Documents in memory take several times their bytes in a file.
  constexpr uintmax_t kMostBytesKept = 8 << 20;
  uintmax_t bytes = 0;
  size_t done = 0;
  for (ResultsSource& source : all) {
    if (StopRequested()) break;
    if (progress) progress(done++, all.size());
    json document = ReadResults(source.path);
    // A document is kept when it cannot be read twice, because its file is no regular file, or
    // while it fits into kMostBytesKept.
    std::error_code error;
    const bool again = fs::is_regular_file(source.path, error);
    const uintmax_t size = again ? fs::file_size(source.path, error) : 0;
    if (again && (error || bytes + size > kMostBytesKept)) continue;
    bytes += size;
    source.kept = std::make_shared<const json>(std::move(document));
  }
  return all;
}

}  // namespace testbed

#include "tools/results/sources.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "device/error.h"
#include "device/file/input_file.h"
#include "device/os/signal_guard.h"
#include "tools/experiment/results.h"
#include "tools/experiment/results_dir.h"
#include "tools/output/json_text.h"
#include "tools/output/table.h"
#include "tools/report/report.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kWhyNoComparisons[] =
    "a comparison of testbed ab has the figures of two sides and no rows of runs";

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
    for (const std::string& file : JsonFilesIn(path)) {
      sources.push_back({.path = file, .experiment = "", .scale = "", .directory = path});
    }
  }
  if (sources.empty()) {
    throw Error(Error::kUsage,
                path +
                    " holds no results; give files written by --json, directories of them, or "
                    "the results of experiments");
  }
  return sources;
}

bool IsComparison(const json& document) {
  return document.is_object() && document.value("schema", json()) == kAbSchema;
}

// Throws Error (kUsage) when a directory held comparisons and nothing else.
void RefuseComparisonsAlone(const std::vector<std::string>& left_out,
                            const std::vector<ResultsSource>& kept) {
  for (const std::string& file : left_out) {
    const std::string directory = fs::path(file).parent_path().string();
    bool others = false;
    for (const ResultsSource& source : kept) {
      others = others || fs::path(source.path).parent_path().string() == directory;
    }
    if (others) continue;
    throw Error(Error::kUsage,
                fmt::format("{} holds comparisons of testbed ab alone, and {}; `testbed report` "
                            "prints their tables",
                            directory, kWhyNoComparisons));
  }
}

}  // namespace

std::string LeftOutText(const std::vector<std::string>& left_out) {
  if (left_out.empty()) return "";
  return fmt::format("testbed: left out {}{}: {}\n", OneLine(left_out[0]),
                     left_out.size() == 1 ? "" : fmt::format(" and {} more", left_out.size() - 1),
                     kWhyNoComparisons);
}

// FindSources has checked the file. When it is no JSON any more, ReadResults throws the Error.
json ResultsSource::Document() const {
  if (kept != nullptr) return *kept;
  json document = ParseJson(InputFile({.path = path, .name = path}).ReadAll());
  return document.is_object() ? document : ReadResults(path);
}

std::vector<ResultsSource> FindSources(const std::vector<std::string>& paths,
                                       std::vector<std::string>* left_out,
                                       const std::function<void(size_t, size_t)>& progress) {
  std::vector<ResultsSource> all, found;
  std::vector<std::string> comparisons;
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
    DocumentFile file = ReadDocumentFile(source.path);
    if (!source.directory.empty() && IsComparison(file.document)) {
      comparisons.push_back(source.path);
      continue;
    }
    json document = ResultsOf(std::move(file));
    found.push_back(std::move(source));
    // A document is kept when it cannot be read twice, because its file is no regular file, or
    // while it fits into kMostBytesKept.
    std::error_code error;
    const std::string& path = found.back().path;
    const bool again = fs::is_regular_file(path, error);
    const uintmax_t size = again ? fs::file_size(path, error) : 0;
    if (again && (error || bytes + size > kMostBytesKept)) continue;
    bytes += size;
    found.back().kept = std::make_shared<const json>(std::move(document));
  }
  if (!StopRequested()) RefuseComparisonsAlone(comparisons, found);
  if (left_out != nullptr) *left_out = std::move(comparisons);
  return found;
}

}  // namespace testbed

#include "tools/html/report_page.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "tools/ab/ab_report.h"
#include "tools/experiment/results_dir.h"
#include "tools/html/comparison_data.h"
#include "tools/html/experiment_data.h"
#include "tools/html/page.h"
#include "tools/html/page_data.h"
#include "tools/html/plot_files.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"
#include "tools/output/table.h"
#include "tools/report/report.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

constexpr int kPlotWidth = 760;  // pixels; a column of a paper or a post

// Returns the JSON files of the directory. Throws Error (kUsage) when it has none.
std::vector<std::string> SomeJsonFiles(const std::string& directory) {
  std::vector<std::string> files = JsonFilesIn(directory);
  if (files.empty()) {
    throw Error(Error::kUsage,
                fmt::format("{} holds no results; give a directory with files written by --json",
                            directory));
  }
  return files;
}

// Throws Stopped when the user has asked to stop, because a page of some of the results would look
// like one of all.
void ThrowIfStopped() {
  if (StopRequested()) throw Stopped("before all results were read", "the report");
}

// Collects the data of a page. The first two documents are kept as they were read until a third one
// or the end comes, because two are compared with each other.
class PageReader {
 public:
  // Adds results, or a comparison (`testbed ab`). Throws Error (kUsage) when the file holds
  // neither.
  void AddFile(const std::string& path) {
    try {
      ThrowIfStopped();
      DocumentFile file = ReadDocumentFile(path);
      if (IsAbDocument(file.document)) {
        CheckAbDocument(file.document, path);
        data_.AddComparison(AbComparisonJson(path, file.document));
      } else {
        AddResults(path, ResultsOf(std::move(file)));
      }
    } catch (const nlohmann::json::exception& e) {
      throw Damaged(path, e);
    }
  }

  void AddExperiment(const std::string& path) { data_.AddExperiment(ExperimentJson(path, &data_)); }

  nlohmann::json Json() {
    if (first_.size() == 2) Compare();
    AddFirst();
    return data_.Json();
  }

 private:
  struct Results {
    std::string path;
    nlohmann::json document;
  };

  static Error Damaged(const std::string& path, const nlohmann::json::exception& e) {
    return Error(Error::kUsage,
                 fmt::format("{} is damaged, or not a results file of this version: {}", path,
                             JsonErrorText(e)));
  }

  void AddResults(const std::string& path, nlohmann::json document) {
    if (!many_ && first_.size() < 2) {
      first_.push_back({path, std::move(document)});
      return;
    }
    many_ = true;
    AddFirst();
    data_.AddDocument(path, std::move(document));
  }

  void AddFirst() {
    for (Results& results : first_) {
      try {
        data_.AddDocument(results.path, std::move(results.document));
      } catch (const nlohmann::json::exception& e) {
        throw Damaged(results.path, e);
      }
    }
    first_.clear();
  }

  void Compare() {
    const Results &first = first_[0], &second = first_[1];
    try {
      data_.SetCompared(
          DocumentsComparisonJson(first.path, first.document, second.path, second.document));
    } catch (const nlohmann::json::exception& e) {
      throw Error(Error::kUsage, fmt::format("{} cannot be compared with {}: {}", second.path,
                                             first.path, JsonErrorText(e)));
    }
  }

  PageData data_;
  std::vector<Results> first_;  // two at most; none once there were more
  bool many_ = false;
};

nlohmann::json ReadAll(const std::vector<std::string>& paths) {
  PageReader reader;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      reader.AddFile(path);
    } else if (ResultsDir(path).Exists()) {
      reader.AddExperiment(path);
    } else {
      for (const std::string& file : SomeJsonFiles(path)) reader.AddFile(file);
    }
    ThrowIfStopped();
  }
  return reader.Json();
}

// Returns the files of the outputs. `html` and `png` are read only when a file is written: by then
// the page and the directories have been made.
std::vector<OutputFile> FilesOf(const PageOutputs& outputs, const std::vector<PlotFile>& plots,
                                const std::string& html, const std::optional<PngMaker>& png) {
  std::vector<OutputFile> files = {{"--html", outputs.html, [&html] { return html; }}};
  const auto path = [](const std::string& directory, const std::string& name) {
    return (fs::path(directory) / name).string();
  };
  for (const PlotFile& plot : plots) {
    if (!outputs.svg.empty()) {
      files.push_back(
          {"--svg", path(outputs.svg, plot.name + ".svg"), [&plot] { return plot.svg; }});
    }
    if (!outputs.png.empty()) {
      files.push_back({"--png", path(outputs.png, plot.name + ".png"),
                       [&png, &plot] { return png->Png(plot.svg); }});
    }
  }
  return files;
}

// Returns the lines that are printed, one for each output.
std::string LinesOf(const PageOutputs& outputs, size_t plots, const std::string& html) {
  std::string text;
  if (!outputs.html.empty()) {
    text += fmt::format("{}: {:.1f} MB\n", outputs.html, static_cast<double>(html.size()) / 1e6);
  }
  for (const std::string& directory : {outputs.svg, outputs.png}) {
    if (directory.empty()) continue;
    text += plots != 0 ? fmt::format("{} in {}\n", Counted(plots, "plot"), directory)
                       : fmt::format(
                             "no plots in {}: nothing of these results is drawn; a cell of "
                             "an experiment is by its own file (in cells/)\n",
                             directory);
  }
  return text;
}

}  // namespace

void WritePages(const std::vector<std::string>& paths, const PageOutputs& outputs) {
  CheckOutputFile("--html", outputs.html, {.inputs = paths});
  CheckOutputDirectory("--svg", outputs.svg);
  CheckOutputDirectory("--png", outputs.png);
  if (!outputs.png.empty()) CheckPngProgram();
  const nlohmann::json data = ReadAll(paths);
  const bool draws = !outputs.svg.empty() || !outputs.png.empty();
  const std::vector<PlotFile> plots =
      draws ? RenderPlots(data, kPlotWidth) : std::vector<PlotFile>();
  std::string html;
  std::optional<PngMaker> png;
  const std::vector<OutputFile> files = FilesOf(outputs, plots, html, png);
  CheckOutputPlaces(files, {.inputs = paths});
  if (!outputs.html.empty()) html = PageHtml(data);
  if (!outputs.svg.empty()) MakeOutputDirectory("--svg", outputs.svg);
  if (!outputs.png.empty()) {
    MakeOutputDirectory("--png", outputs.png);
    png.emplace(outputs.png);
  }
  WriteThenSay(files, LinesOf(outputs, plots.size(), html));
}

}  // namespace testbed

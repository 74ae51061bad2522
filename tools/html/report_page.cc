#include "tools/html/report_page.h"

#include <fmt/format.h>

#include <filesystem>

#include "device/error.h"
#include "tools/experiment/results_dir.h"
#include "tools/html/experiment_data.h"
#include "tools/html/page.h"
#include "tools/html/page_data.h"
#include "tools/html/plot_files.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"
#include "tools/report/report.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

constexpr int kPlotWidth = 760;  // pixels; a column of a paper or a post

// Returns the JSON files of the directory, of which there is one at least.
std::vector<std::string> SomeJsonFiles(const std::string& directory) {
  std::vector<std::string> files = JsonFilesIn(directory);
  if (files.empty()) {
    throw Error(Error::kUsage,
                fmt::format("{} holds no results; give a directory with files written by --json",
                            directory));
  }
  return files;
}

void Add(const std::string& path, PageData* data) {
  try {
    data->AddDocument(path, ReadResults(path));
  } catch (const nlohmann::json::exception& e) {
    throw Error(Error::kUsage,
                fmt::format("{} is damaged, or not a results file of this version: {}", path,
                            JsonErrorText(e)));
  }
}

nlohmann::json ReadAll(const std::vector<std::string>& paths) {
  PageData data;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      Add(path, &data);
      continue;
    }
    if (ResultsDir(path).Exists()) {
      data.AddExperiment(ExperimentJson(path, &data));
      continue;
    }
    for (const std::string& file : SomeJsonFiles(path)) Add(file, &data);
  }
  return data.Json();
}

// Throws Error (kUsage) when a file of the outputs may not be written.
void CheckPlaces(const std::vector<PlotFile>& plots, const std::vector<std::string>& paths,
                 const PageOutputs& outputs) {
  std::vector<OutputFile> files = {{"--html", outputs.html}};
  for (const PlotFile& plot : plots) {
    const bool svg = !outputs.svg.empty(), png = !outputs.png.empty();
    if (svg) files.push_back({"--svg", (fs::path(outputs.svg) / (plot.name + ".svg")).string()});
    if (png) files.push_back({"--png", (fs::path(outputs.png) / (plot.name + ".png")).string()});
  }
  CheckOutputPlaces(files, {.inputs = paths});
}

void WritePlots(const std::vector<PlotFile>& plots, const PageOutputs& outputs) {
  if (!outputs.svg.empty()) MakeOutputDirectory("--svg", outputs.svg);
  if (!outputs.png.empty()) MakeOutputDirectory("--png", outputs.png);
  for (const PlotFile& plot : plots) {
    // An SVG that only PNG is made of lies beside it while that lasts.
    const bool kept = !outputs.svg.empty();
    const fs::path svg = fs::path(kept ? outputs.svg : outputs.png) / (plot.name + ".svg");
    WriteOutputFile(kept ? "--svg" : "--png", svg.string(), plot.svg);
    if (outputs.png.empty()) continue;
    WritePng(svg.string(), (fs::path(outputs.png) / (plot.name + ".png")).string());
    if (!kept) fs::remove(svg);
  }
  if (!outputs.svg.empty()) fmt::print("{} plots in {}\n", plots.size(), outputs.svg);
  if (!outputs.png.empty()) fmt::print("{} plots in {}\n", plots.size(), outputs.png);
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
  CheckPlaces(plots, paths, outputs);
  if (!outputs.html.empty()) {
    const std::string html = PageHtml(data);
    WriteOutputFile("--html", outputs.html, html);
    fmt::print("{}: {:.1f} MB\n", outputs.html, static_cast<double>(html.size()) / 1e6);
  }
  if (draws) WritePlots(plots, outputs);
}

}  // namespace testbed

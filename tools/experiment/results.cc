#include "tools/experiment/results.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "device/error.h"

namespace testbed {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr char kSchema[] = "testbed-experiment/1";

json ReadJson(const std::string& path) {
  std::ifstream in(path);
  if (!in) return {};
  json document = json::parse(in, nullptr, false);
  return document.is_discarded() ? json() : document;
}

// There as a whole or not at all.
void WriteJson(const std::string& path, const json& document) {
  const std::string temporary = path + ".new";
  {
    std::ofstream out(temporary);
    out << document.dump(1) << "\n";
    if (!out.flush()) throw Error(Error::kIo, path + " cannot be written");
  }
  fs::rename(temporary, path);
}

std::string FileName(const std::string& name) {
  std::string safe;
  for (char c : name)
    safe += std::isalnum(static_cast<unsigned char>(c)) || c == '=' || c == '.' ? c : '-';
  return fmt::format("{}-{:08x}", safe.substr(0, 120),
                     static_cast<uint32_t>(XXH3_64bits(name.data(), name.size())));
}

json Settings(const Experiment& e, const PlanOptions& options) {
  return {{"scale", options.scale}, {"set", options.set}, {"text", e.text}};
}

std::string FigureName(const std::string& name) {
  std::string figure = name;
  for (char& c : figure) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return figure;
}

void Flatten(const json& node, const std::string& path, Figures* figures) {
  if (node.is_number()) {
    (*figures)[path] = node.get<double>();
  } else if (node.is_boolean()) {
    (*figures)[path] = node.get<bool>() ? 1 : 0;
  } else if (node.is_string()) {
    // Effective settings are texts; many are numbers.
    const std::string& text = node.get_ref<const std::string&>();
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (!text.empty() && *end == '\0') (*figures)[path] = value;
  } else if (node.is_object()) {
    for (const auto& [key, value] : node.items()) {
      Flatten(value, path + "." + FigureName(key), figures);
    }
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

}  // namespace

bool ResultsDir::Exists() const { return fs::exists(path_ + "/experiment.json"); }

void ResultsDir::Create(const Experiment& e, const PlanOptions& options) {
  if (!Exists() && fs::exists(path_) && !fs::is_empty(path_)) {
    throw Error(Error::kUsage, fmt::format("--out {} is not empty and holds no experiment; choose "
                                           "another directory",
                                           path_));
  }
  const json wanted = Settings(e, options);
  fs::create_directories(path_);
  lock_ = DirLock();  // of an earlier call
  lock_ = DirLock(path_, "--out");
  if (Exists()) {
    const json found = ReadHeader();
    for (const char* part : {"text", "scale", "set"}) {
      if (found.value(part, json()) == wanted[part]) continue;
      throw Error(
          Error::kUsage,
          fmt::format("--out {} holds results of {}; choose another directory, or --fresh to "
                      "begin anew",
                      path_,
                      std::string(part) == "text" ? "another experiment or version of it"
                                                  : fmt::format("another --{}", part)));
    }
    return;
  }
  fs::create_directories(path_ + "/cells");
  fs::create_directories(path_ + "/loads");
  json header = wanted;
  header["schema"] = kSchema;
  header["testbed"] = TESTBED_VERSION;
  header["name"] = e.name;
  WriteJson(path_ + "/experiment.json", header);
}

json ResultsDir::ReadHeader() const {
  const json header = ReadJson(path_ + "/experiment.json");
  if (!header.is_object() || header.value("schema", "") != kSchema) {
    throw Error(Error::kUsage, path_ + " holds no results of an experiment");
  }
  return header;
}

std::string ResultsDir::CellFile(const Cell& cell) const {
  return path_ + "/cells/" + FileName(cell.name.empty() ? "only" : cell.name) + ".json";
}
std::string ResultsDir::LoadFile(const std::string& key) const {
  return path_ + "/loads/" + key + ".json";
}
bool ResultsDir::HasCell(const Cell& cell) const { return fs::exists(CellFile(cell)); }
bool ResultsDir::HasLoad(const std::string& key) const { return fs::exists(LoadFile(key)); }
void ResultsDir::WriteCell(const Cell& cell, json document) const {
  document["cell"] = {{"name", cell.name}, {"labels", cell.labels}};
  WriteJson(CellFile(cell), document);
}
void ResultsDir::WriteLoad(const std::string& key, const json& document) const {
  WriteJson(LoadFile(key), document);
}
json ResultsDir::ReadCell(const Cell& cell) const { return ReadJson(CellFile(cell)); }
json ResultsDir::ReadLoad(const std::string& key) const { return ReadJson(LoadFile(key)); }

Figures FiguresOf(const json& document, const json& run) {
  Figures figures;
  std::map<std::string, int> seen;
  for (const json& phase : run.value("phases", json::array())) {
    std::string name = FigureName(phase.value("name", ""));
    const int n = ++seen[name];
    if (n > 1) name += fmt::format("_{}", n);
    for (const auto& [key, value] : phase.items()) {
      if (key != "series") Flatten(value, name + "." + FigureName(key), &figures);
    }
  }
  for (const char* part : {"engine", "accounting", "database", "cache_tuning"}) {
    if (run.contains(part)) Flatten(run[part], part, &figures);
  }
  figures["threads"] = run.value("threads", 0.0);
  for (const char* part : {"options", "machine", "device"}) {
    if (document.contains(part)) Flatten(document[part], part, &figures);
  }
  return figures;
}

ResultSet::ResultSet(Experiment experiment, std::vector<Cell> cells, const ResultsDir& dir)
    : experiment_(std::move(experiment)), cells_(std::move(cells)), runs_(cells_.size()) {
  scale_ = dir.Exists() ? dir.ReadHeader().value("scale", "") : "";
  for (size_t i = 0; i < cells_.size(); ++i) {
    const json document = dir.ReadCell(cells_[i]);
    if (document.is_null()) continue;
    Figures load;
    if (!cells_[i].load_key.empty()) {
      const json loaded = dir.ReadLoad(cells_[i].load_key);
      if (loaded.is_object()) load = FiguresOf(loaded, loaded["runs"][0]);
    }
    for (const json& run : document.value("runs", json::array())) {
      if (run.contains("error")) {
        failures_.push_back(cells_[i].name + ": " + run["error"].value("sentence", ""));
        continue;
      }
      Figures figures = FiguresOf(document, run);
      figures.insert(load.begin(), load.end());
      runs_[i].push_back(std::move(figures));
      grades_.push_back(run["accounting"].value("grade", ""));
    }
  }
}

ResultSet ResultSet::Read(const std::string& path) {
  const ResultsDir dir(path);
  const json header = dir.ReadHeader();
  Experiment e = ParseExperiment(header["text"], header.value("name", "") + ".toml");
  PlanOptions options;
  options.scale = header["scale"];
  options.set = header["set"].get<OptionMap>();
  std::vector<Cell> cells = PlanCells(e, options);
  return ResultSet(std::move(e), std::move(cells), dir);
}

size_t ResultSet::finished_cells() const {
  size_t n = 0;
  for (size_t i = 0; i < cells_.size(); ++i) n += finished(i);
  return n;
}

std::vector<double> ResultSet::Values(size_t cell, const Metric& metric) const {
  std::vector<double> values;
  for (const Figures& figures : runs_[cell]) {
    values.push_back(EvaluateFigures(metric.expression, figures));
  }
  return values;
}

double ResultSet::Mean(size_t cell, const std::string& metric) const {
  const std::vector<double> values = Values(cell, *experiment_.FindMetric(metric));
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Statement::Groups ResultSet::Select(const Where& where) const {
  Where match = where;
  const auto mean = match.extract("mean");
  std::vector<std::map<std::string, std::string>> common;  // what the cells of a group have alike
  Statement::Groups groups;
  for (size_t i = 0; i < cells_.size(); ++i) {
    if (!finished(i) || !Matches(cells_[i].labels, match)) continue;
    std::map<std::string, std::string> labels = cells_[i].labels;
    if (!mean.empty()) {
      for (const std::string& axis : mean.mapped()) labels.erase(axis);
    }
    const auto found = std::find(common.begin(), common.end(), labels);
    if (found != common.end()) {
      groups[static_cast<size_t>(found - common.begin())].push_back(i);
      continue;
    }
    common.push_back(std::move(labels));
    groups.push_back({i});
  }
  return groups;
}

std::map<std::string, int> ResultSet::Grades() const {
  std::map<std::string, int> grades;
  for (const std::string& grade : grades_) ++grades[grade];
  return grades;
}

}  // namespace testbed

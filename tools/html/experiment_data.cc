#include "tools/html/experiment_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "tools/experiment/grid.h"
#include "tools/experiment/report.h"
#include "tools/experiment/results.h"
#include "tools/experiment/tables.h"
#include "tools/experiment/verdict/added_rounds.h"
#include "tools/experiment/verdict/advise.h"
#include "tools/experiment/verdict/equal_terms.h"
#include "tools/experiment/verdict/mixed_texts.h"
#include "tools/output/json_text.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

using nlohmann::json;

const char* MarkOf(const BestMarks& marks, const Grid::Figure& figure) {
  return &figure == marks.best ? "best" : marks.alike.contains(&figure) ? "~" : "";
}

json TableJson(const ResultSet& results, const TableSpec& spec) {
  const Grid grid = MakeGrid(results, spec);
  const BestMarks marks = MarkBest(grid, spec);
  json rows = json::array();
  for (const Grid::Row& row : grid.rows) {
    json figures = json::array();
    for (const Grid::Figure& figure : row.figures) {
      figures.push_back({{"cells", figure.cells},
                         {"mark", MarkOf(marks, figure)},
                         {"n", figure.estimate.n},
                         {"mean", FiniteJson(figure.estimate.mean)},
                         {"half_width", FiniteJson(figure.estimate.half_width)}});
    }
    rows.push_back({{"name", row.name}, {"figures", std::move(figures)}});
  }
  return {{"title", grid.title},
          {"note", spec.note},
          {"columns", grid.columns},
          {"rows", std::move(rows)},
          {"held", HeldText(results, grid.cells)},
          {"under", LinesUnder(results, grid.cells)},
          {"published_columns", spec.published_columns},
          {"published", spec.published}};
}

// Puts the document of a cell into the page, and returns its place there. A page needs more of a
// document than the tables do, so the cell may turn out to be damaged.
size_t PackCell(const std::string& file, const ResultsDir& dir, const Cell& cell, PageData* data) {
  try {
    return data->PackDocument(file, dir.ReadCell(cell));
  } catch (const json::exception& e) {
    throw dir.Damaged(cell, JsonErrorText(e));
  }
}

// Returns the cell's finished rounds, each with its file and the place of its document.
json RunsJson(const ResultSet& results, size_t i, const ResultsDir& dir, PageData* data) {
  json runs = json::array();
  Cell cell = results.cells()[i];
  for (int round = 1; round <= results.rounds(); ++round) {
    if (!results.finished(i, round)) continue;
    cell.round = round;
    const std::string file = dir.CellFile(cell);
    json packed;
    if (data->HasRoom()) packed = PackCell(file, dir, cell, data);
    runs.push_back({{"round", round},
                    {"file", std::filesystem::path(file).lexically_relative(dir.path()).string()},
                    {"packed", std::move(packed)}});
  }
  return runs;
}

json CellJson(const ResultSet& results, size_t i, const ResultsDir& dir, PageData* data) {
  const Experiment& e = results.experiment();
  const Cell& cell = results.cells()[i];
  json labels = json::array(), figures = json::array();
  for (const Axis& axis : e.axes) {
    const auto at = std::find_if(axis.values.begin(), axis.values.end(), [&](const AxisValue& v) {
      return v.label == cell.labels.at(axis.name);
    });
    labels.push_back(at - axis.values.begin());
  }
  for (const ExperimentMetric& metric : e.metrics) {
    const Estimate estimate = EstimateOf(results, {i}, metric.name);
    figures.push_back(std::isfinite(estimate.mean)
                          ? json({estimate.mean, FiniteJson(estimate.half_width)})
                          : json());
  }
  json j = {{"name", cell.name},
            {"labels", std::move(labels)},
            {"figures", std::move(figures)},
            {"runs", RunsJson(results, i, dir, data)}};
  if (!results.not_in_force(i).empty()) j["not_in_force"] = results.not_in_force(i);
  return j;
}

json MetricSeriesJson(const Experiment& e) {
  json all = json::array();
  for (const MetricSeries& series : MetricSeriesOf(e)) {
    json numbers = json::array(), metrics = json::array();
    for (const auto& [number, place] : series.places) {
      numbers.push_back(number);
      metrics.push_back(place);
    }
    all.push_back({{"stem", series.stem},
                   {"over", e.series.at(series.letters)},
                   {"numbers", std::move(numbers)},
                   {"metrics", std::move(metrics)}});
  }
  return all;
}

json HeadJson(const ResultSet& results) {
  const Experiment& e = results.experiment();
  const Circumstances& at = results.circumstances();
  json j = {{"name", e.name},
            {"title", e.title},
            {"about", e.about},
            {"source", e.source},
            {"scale", results.ChosenScale()},
            {"set", at.set},
            {"command", results.Command()},
            {"rounds", results.rounds()},
            {"finished_runs", results.finished_runs()},
            {"planned_runs", results.planned_runs()},
            {"grades", results.Grades()},
            {"machines", at.machines},
            {"devices", at.devices},
            {"versions", at.versions},
            {"first", at.first},
            {"last", at.last},
            {"failures", results.failures()},
            {"axes", json::array()},
            {"metrics", json::array()},
            {"series", MetricSeriesJson(e)}};
  for (const Axis& axis : e.axes) {
    json labels = json::array();
    for (const AxisValue& value : axis.values) labels.push_back(value.label);
    j["axes"].push_back({{"name", axis.name}, {"labels", std::move(labels)}});
  }
  for (const ExperimentMetric& metric : e.metrics) {
    j["metrics"].push_back({{"name", metric.name}, {"unit", metric.unit}, {"about", metric.about}});
  }
  if (!e.tables.empty() && !e.tables[0].metrics.empty()) {
    j["main_metric"] = e.tables[0].metrics[0];
  }
  return j;
}

json Sentence(const std::string& text, bool alarm) { return {{"text", text}, {"alarm", alarm}}; }

// Adds the runs that are missing or failed, in the words of the text report. The page names all
// failures elsewhere; here a few of them stand for the others.
void AddMissingRuns(const ResultSet& results, json* sentences) {
  constexpr size_t kMostNamed = 3;
  const size_t open = OpenRuns(results);
  if (open != 0) sentences->push_back(Sentence("not run yet: " + Counted(open, "cell"), true));
  const std::vector<std::string>& failures = results.failures();
  for (size_t i = 0; i < std::min(failures.size(), kMostNamed); ++i) {
    sentences->push_back(Sentence("failed: " + failures[i], true));
  }
  if (failures.size() > kMostNamed) {
    sentences->push_back(
        Sentence("failed: " + Counted(failures.size() - kMostNamed, "more run"), true));
  }
}

void AddRefusedSettings(const ResultSet& results, json* sentences) {
  std::map<std::string, size_t> refused;
  size_t measured = 0;
  for (size_t i = 0; i < results.cells().size(); ++i) {
    measured += results.measured(i);
    if (results.measured(i) && !results.not_in_force(i).empty()) ++refused[results.not_in_force(i)];
  }
  for (const auto& [why, n] : refused) {
    sentences->push_back(Sentence(
        fmt::format("not in force in {} of {}: {}", n, Counted(measured, "cell"), why), true));
  }
}

// Returns the warnings in lines that begin with "! ": of each the words before its figures.
std::set<std::string> WarningsIn(const std::string& lines) {
  std::set<std::string> warnings;
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("! ")) warnings.insert(line.substr(2, line.find(':') - 2));
  }
  return warnings;
}

// Adds each warning of unequal terms once, with the number of tables and of findings that carry it.
void AddUnequalTerms(const json& tables, const json& findings, json* sentences) {
  std::map<std::string, std::pair<size_t, size_t>> carriers;
  for (const json& table : tables) {
    for (const std::string& warning : WarningsIn(table.at("under"))) ++carriers[warning].first;
  }
  for (const json& finding : findings) {
    std::string lines;
    for (const json& part : finding.at("parts")) {
      lines += part.at("unequal_memory").get<std::string>() + "\n";
      lines += part.at("ended_early").get<std::string>() + "\n";
      for (const json& line : part.at("hosts")) lines += line.get<std::string>() + "\n";
    }
    for (const std::string& warning : WarningsIn(lines)) ++carriers[warning].second;
  }
  for (const auto& [warning, n] : carriers) {
    std::vector<std::string> places;
    const auto add = [&](size_t some, size_t all, const char* what) {
      if (some != 0) places.push_back(fmt::format("{} of {}", some, Counted(all, what)));
    };
    add(n.first, tables.size(), "table");
    add(n.second, findings.size(), "finding");
    sentences->push_back(Sentence(
        fmt::format("{}: {}; a line there names them", warning, fmt::join(places, " and ")), true));
  }
}

void AddCellsNotPlanned(const ResultSet& results, json* sentences) {
  for (const auto& [reason, n] : ReasonsNotRun(results)) {
    sentences->push_back(
        Sentence(fmt::format("not run: {}: {}", Counted(n, "cell"), reason), false));
  }
}

// Returns the sentences on how far the figures can be trusted, in the order in which the page of a
// run has them.
json ConfidenceJson(const ResultSet& results, const json& tables, const json& findings) {
  json sentences = json::array();
  AddMissingRuns(results, &sentences);
  AddRefusedSettings(results, &sentences);
  const Circumstances& at = results.circumstances();
  const std::string foreign = ForeignCpuText(at);
  if (!foreign.empty()) sentences.push_back(Sentence(foreign, at.foreign_runs != 0));
  for (const std::string& mixed : MixedTexts(results)) sentences.push_back(Sentence(mixed, true));
  const std::string looks = LooksText(results.looks());
  if (!findings.empty() && !looks.empty()) sentences.push_back(Sentence(looks, true));
  AddUnequalTerms(tables, findings, &sentences);
  const std::string waiting = WaitingClientsText(results);
  if (!waiting.empty()) sentences.push_back(Sentence(waiting, false));
  AddCellsNotPlanned(results, &sentences);
  return sentences;
}

}  // namespace

json ExperimentJson(const std::string& path, PageData* data) {
  const ResultSet results = ResultSet::Read(path);
  const ResultsDir dir(path);
  json j = HeadJson(results);
  j["directory"] = path;
  j["findings"] = FindingsJson(results);
  j["tables"] = json::array();
  for (const TableSpec& spec : results.experiment().tables) {
    json table = TableJson(results, spec);
    if (!table["rows"].empty()) j["tables"].push_back(std::move(table));
  }
  j["confidence"] = ConfidenceJson(results, j["tables"], j["findings"]);
  if (Advises(results)) {
    j["advice"] = AdviceText(results);
    for (const std::string& doubt : AdviceDoubts(results)) {
      j["confidence"].push_back(Sentence(doubt, true));
    }
  }
  j["cells"] = json::array();
  for (size_t i = 0; i < results.cells().size(); ++i) {
    if (results.measured(i)) {
      j["cells"].push_back(CellJson(results, i, dir, data));
    } else {
      j["cells"].push_back(nullptr);  // keeps the indexes by which figures name cells
    }
  }
  return j;
}

}  // namespace testbed

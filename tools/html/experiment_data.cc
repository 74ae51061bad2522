#include "tools/html/experiment_data.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "tools/experiment/grid.h"
#include "tools/experiment/report.h"
#include "tools/experiment/results.h"
#include "tools/experiment/tables.h"

namespace testbed {
namespace {

using nlohmann::json;

json FiniteJson(double value) { return std::isfinite(value) ? json(value) : json(); }

json TableJson(const ResultSet& results, const TableSpec& spec) {
  const Grid grid = MakeGrid(results, spec);
  json rows = json::array();
  for (const Grid::Row& row : grid.rows) {
    json figures = json::array();
    for (const Grid::Figure& figure : row.figures) {
      figures.push_back({{"cells", figure.cells},
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
          {"under", LinesUnder(results, grid.cells)},
          {"published_columns", spec.published_columns},
          {"published", spec.published}};
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
    if (data->HasRoom()) packed = data->PackDocument(file, dir.ReadCell(cell));
    runs.push_back({{"file", std::filesystem::path(file).lexically_relative(dir.path()).string()},
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

json HeadJson(const ResultSet& results) {
  const Experiment& e = results.experiment();
  const Circumstances& at = results.circumstances();
  json j = {{"name", e.name},
            {"title", e.title},
            {"about", e.about},
            {"source", e.source},
            {"scale", results.scale()},
            {"set", at.set},
            {"rounds", results.rounds()},
            {"finished_runs", results.finished_runs()},
            {"planned_runs", results.planned_runs()},
            {"grades", results.Grades()},
            {"machines", at.machines},
            {"devices", at.devices},
            {"versions", at.versions},
            {"first", at.first},
            {"last", at.last},
            {"foreign_cpu", ForeignCpuText(at)},
            {"failures", results.failures()},
            {"axes", json::array()},
            {"metrics", json::array()}};
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
  j["cells"] = json::array();
  for (size_t i = 0; i < results.cells().size(); ++i) {
    if (results.measured(i)) {
      j["cells"].push_back(CellJson(results, i, dir, data));
    } else {
      j["cells"].push_back(nullptr);  // figures name cells by their index
    }
  }
  return j;
}

}  // namespace testbed

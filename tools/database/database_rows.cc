#include "tools/database/database_rows.h"

#include "workloads/registry.h"
#include "workloads/workload.h"

namespace testbed {
namespace {

using nlohmann::json;

// Returns whether it is known how the phase changed the number of rows; a phase without operations
// did not change it.
bool Tells(const json& phase) {
  return !phase.contains("operations") || phase.contains("rows_inserted");
}

double Added(const json& phase) {
  return phase.value("rows_inserted", 0.0) - phase.value("rows_erased", 0.0);
}

std::optional<double> RowsBefore(const json& document, const json& run) {
  const json& phases = run.at("phases");
  const json& first = phases.at(0);
  if (first.at("kind") == "load" && first.contains("rows_inserted")) {
    // "table_rows" is the number of all rows, when the load adds rows to existing ones.
    return first.value("/details/table_rows"_json_pointer, Added(first)) - Added(first);
  }
  const std::string loader = LoaderOf(document);
  const json::json_pointer rows("/database/rows");
  if ((loader != "insert" && loader != "document-load") || !run.contains(rows)) return {};
  double before = run[rows];
  for (const json& phase : phases) {
    if (!Tells(phase)) return {};
    before -= Added(phase);
  }
  return before;
}

}  // namespace

std::string LoaderOf(const json& document) {
  for (const json& name : document.value("/options/workload"_json_pointer, json::array())) {
    for (const WorkloadInfo& info : Workloads()) {
      if (name == info.name && !info.loader.empty()) return info.loader;
    }
  }
  return "";
}

std::vector<std::optional<double>> RowsAfterPhases(const json& document, const json& run) {
  std::vector<std::optional<double>> after;
  if (run.at("phases").empty()) return after;
  std::optional<double> rows = RowsBefore(document, run);
  for (const json& phase : run.at("phases")) {
    const json::json_pointer counted("/details/table_rows");
    if (!Tells(phase)) rows.reset();
    if (phase.value("kind", "") == "count" && phase.contains("rows")) {
      rows = phase["rows"].get<double>();
    } else if (rows) {
      *rows += Added(phase);
    }
    if (!rows && phase.contains(counted)) rows = phase[counted].get<double>();
    after.push_back(rows && *rows >= 0 ? rows : std::nullopt);
  }
  return after;
}

std::optional<double> MeanRowBytes(const json& document) {
  constexpr double kIndexAttribute = 8;  // in an entry, before the row's key (Dataset::IndexKey)
  const json data = document.value("data", json::object());
  if (!data.contains("rows") || LoaderOf(document) != "insert") return {};
  const double rows = data.at("rows");
  const double key = data.at("key_bytes").get<double>() / rows;
  const double value = data.at("value_bytes").get<double>() / rows;
  const double indexes = document.value("/options/indexes"_json_pointer, 0.0);
  return key + value + indexes * (kIndexAttribute + key);
}

}  // namespace testbed

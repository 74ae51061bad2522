#include "tools/report/csv.h"

#include "tools/output/csv.h"
#include "tools/report/rows.h"

namespace testbed {
namespace {

using nlohmann::json;

std::string CsvOf(const RowTable& table, const std::vector<const json*>& documents) {
  std::vector<std::string> names;
  for (const RowColumn& column : table.columns) names.push_back(column.name);
  Csv csv(names);
  std::vector<std::string> row;
  for (const json* document : documents) {
    ForEachRow(table, *document, [&](const std::vector<json>& cells) {
      row.clear();
      for (const json& cell : cells) row.push_back(CsvValue(cell));
      csv.Row(row);
    });
  }
  return csv.Text();
}

}  // namespace

std::string RunsCsv(const std::vector<const json*>& documents) {
  return CsvOf(ResultRows(), documents);
}

std::string SeriesCsv(const std::vector<const json*>& documents) {
  return CsvOf(SeriesRows(), documents);
}

}  // namespace testbed

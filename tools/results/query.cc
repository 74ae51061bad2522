#include "tools/results/query.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <utility>

#include "device/error.h"
#include "tools/output/csv.h"
#include "tools/output/json_text.h"
#include "tools/output/table.h"
#include "tools/results/store.h"

namespace testbed {
namespace {

using nlohmann::json;

std::string TableCell(const json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return Utf8Text(value.get_ref<const std::string&>());
  if (value.is_number_integer()) return JsonText(value);
  // Six digits are enough on a terminal, but a large number keeps all digits before its decimal
  // point. Six digits of 999999.7 would be 1e+06.
  const auto number = value.get<double>();
  const double size = std::abs(number);
  return size >= 1e5 && size < 1e15 ? fmt::format("{:.0f}", number) : fmt::format("{:.6g}", number);
}

}  // namespace

QueryAnswer Ask(SqliteFile* store, const std::string& sql) {
  const auto statement = store->Prepare(sql);
  QueryAnswer answer{statement->columns(), {}};
  while (statement->Step()) {
    std::vector<json>& row = answer.rows.emplace_back();
    row.reserve(answer.columns.size());
    for (size_t c = 0; c < answer.columns.size(); ++c) row.push_back(statement->Value(c));
  }
  return answer;
}

QueryAnswer AskStore(const std::string& path, const std::string& sql) {
  return Ask(OpenStore(path).get(), sql);
}

std::string AnswerTable(const QueryAnswer& answer, size_t most) {
  std::vector<std::string> names;
  for (const std::string& column : answer.columns) names.push_back(Utf8Text(column));
  std::set<size_t> words;
  for (const std::vector<json>& row : answer.rows) {
    for (size_t c = 0; c < row.size(); ++c) {
      if (row[c].is_string()) words.insert(c);
    }
  }
  Table table(Counted(answer.rows.size(), "row"), names);
  table.Words(std::move(words));
  for (const std::vector<json>& row : answer.rows) {
    std::vector<std::string> cells;
    for (const json& value : row) cells.push_back(TableCell(value));
    table.Row(std::move(cells));
  }
  return table.Text(most);
}

std::string AnswerCsv(const QueryAnswer& answer) {
  Csv csv(answer.columns);
  for (const std::vector<json>& row : answer.rows) {
    std::vector<std::string> cells;
    for (const json& value : row) cells.push_back(CsvValue(value));
    csv.Row(cells);
  }
  return csv.Text();
}

std::string AnswerJson(const QueryAnswer& answer) {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const std::string& column : answer.columns) {
    if (!known.insert(column).second) {
      throw Error(
          Error::kUsage,
          fmt::format("two columns are called {}; give them names of their own by AS", column));
    }
    names.push_back(JsonText(column));
  }
  // The text is put together here, because a JSON object of the library would sort the columns by
  // name.
  std::string text = "[";
  for (const std::vector<json>& row : answer.rows) {
    text += text.size() == 1 ? "\n {" : ",\n {";
    for (size_t c = 0; c < row.size(); ++c) {
      text += (c == 0 ? "" : ", ") + names[c] + ": " + JsonText(row[c]);
    }
    text += "}";
  }
  return text + (answer.rows.empty() ? "]\n" : "\n]\n");
}

}  // namespace testbed

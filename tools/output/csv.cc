#include "tools/output/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/output/json_text.h"

namespace testbed {

using nlohmann::json;

std::string CsvText(std::string_view raw) {
  std::string text = Utf8Text(raw);
  const bool edge = !text.empty() && (text.front() == ' ' || text.back() == ' ');
  if (!edge && text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string CsvNumber(double number) {
  return std::isfinite(number) ? fmt::format("{}", number) : std::string();
}

std::string CellText(const json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return CsvNumber(value.get<double>());
  const bool plain =
      value.is_array() &&
      std::none_of(value.begin(), value.end(), [](const json& e) { return e.is_structured(); });
  if (!plain) return value.is_object() && value.empty() ? "" : JsonText(value);
  std::string joined;
  for (const json& element : value) {
    joined += (joined.empty() ? "" : " ") +
              (element.is_string() ? element.get<std::string>() : JsonText(element));
  }
  return joined;
}

std::string CsvValue(const json& value) { return CsvText(CellText(value)); }

Csv::Csv(const std::vector<std::string>& columns) {
  std::vector<std::string> cells;
  for (const std::string& column : columns) cells.push_back(CsvText(column));
  Row(cells);
}

void Csv::Row(const std::vector<std::string>& cells) {
  for (size_t i = 0; i < cells.size(); ++i) text_ += (i == 0 ? "" : ",") + cells[i];
  text_ += '\n';
}

}  // namespace testbed

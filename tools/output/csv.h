// Comma-separated values as RFC 4180 has them: a header with the names of the columns, a record a
// line, text with commas, quotes or line breaks in quotes. Numbers are raw: no units, no grouping
// of digits. What is not known is empty. Bytes that are no UTF-8 stand as \xHH, as in JSON.
//
//   Csv csv({"phase", "rate"});
//   csv.Row({CsvText("insert"), CsvNumber(204447.25)});
//   std::string text = csv.Text();
//
// Not thread-safe.
#ifndef TESTBED_TOOLS_OUTPUT_CSV_H_
#define TESTBED_TOOLS_OUTPUT_CSV_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace testbed {

// Returns the value as the text of one cell, not quoted: a list of scalars is joined by spaces, an
// object is JSON text; null, NaN, infinity and an empty object are empty.
std::string CellText(const nlohmann::json& value);

// These return a cell: a text in quotes where it needs them; a number that reads back as the same
// double, empty for NaN and infinity; CellText of a JSON value.
std::string CsvText(std::string_view text);
std::string CsvNumber(double number);
std::string CsvValue(const nlohmann::json& value);

class Csv {
 public:
  explicit Csv(const std::vector<std::string>& columns);
  // Adds a record. `cells` has a cell for each column, in their order.
  void Row(const std::vector<std::string>& cells);
  const std::string& Text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_CSV_H_

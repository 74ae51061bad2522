// A table of a report, printed with aligned columns for a terminal or as comma-separated values.
#ifndef TESTBED_TOOLS_OUTPUT_TABLE_H_
#define TESTBED_TOOLS_OUTPUT_TABLE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace testbed {

class Table {
 public:
  // kNumbers aligns the first column to the left and the others to the right; kWords aligns all
  // columns to the left.
  enum Cells { kNumbers, kWords };
  Table(std::string title, std::vector<std::string> columns, Cells cells = kNumbers)
      : title_(std::move(title)), columns_(std::move(columns)), cells_(cells) {}
  void Row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  // Returns the title, the names of the columns and the rows as aligned lines.
  std::string Text() const;
  // Returns comma-separated lines, each with the table's title as its first cell.
  std::string Csv() const;

 private:
  std::string title_;
  std::vector<std::string> columns_;
  Cells cells_;
  std::vector<std::vector<std::string>> rows_;
};

// These return numbers as a report shows them: about three significant digits, and "-" for NaN and
// infinity, which stand for a figure that is not known.
std::string Short(double x);
std::string Count(uint64_t n);      // 1234567 -> "1,234,567"
std::string Percent(double share);  // 0.1234 -> "12.3 %"

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_TABLE_H_

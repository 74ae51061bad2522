// Tables of a report, as aligned text for a terminal or as comma-separated values.
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
  std::string Text() const;
  std::string Csv() const;

 private:
  std::string title_;
  std::vector<std::string> columns_;
  Cells cells_;
  std::vector<std::vector<std::string>> rows_;
};

// Formats a number for a reader, with about three significant digits, or "-" when it is not finite.
std::string Short(double x);
std::string Count(uint64_t n);      // 1234567 -> "1,234,567"
std::string Percent(double share);  // 0.1234 -> "12.3 %"

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_TABLE_H_

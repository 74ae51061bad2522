// A table of a report, printed with aligned columns for a terminal or as GitHub draws it. Data for
// programs is in csv.h.
#ifndef TESTBED_TOOLS_OUTPUT_TABLE_H_
#define TESTBED_TOOLS_OUTPUT_TABLE_H_

#include <cstdint>
#include <set>
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
  // Marks columns that only a wide table has: not the figures that decide first.
  Table& Wide(std::set<std::string> names) {
    wide_ = std::move(names);
    return *this;
  }
  // Marks columns that are left out last where lines are too short.
  Table& Keep(std::set<std::string> names) {
    kept_ = std::move(names);
    return *this;
  }
  // Aligns these columns, by their places from 0, to the left, and the others to the right.
  Table& Words(std::set<size_t> places) {
    words_ = std::move(places);
    return *this;
  }
  void Row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const { return rows_.empty(); }
  const std::string& title() const { return title_; }
  const std::vector<std::string>& columns() const { return columns_; }
  const std::vector<std::vector<std::string>>& rows() const { return rows_; }

  static constexpr size_t kNarrow = 100;  // characters of a line
  // Returns the title, the names of the columns and the rows as aligned lines. With `most` it
  // leaves out the columns that Wide marked, and then the last ones, until no line is longer than
  // that many characters or two columns are left. When some of the last ones are left out, a line
  // under the table counts all that are. A longer title goes on in the next line.
  std::string Text(size_t most = SIZE_MAX) const;
  // Returns the table in GitHub's Markdown, under a heading; `all` includes the columns that Wide
  // marked. What would be markup in a cell is escaped.
  std::string Markdown(bool all) const;

 private:
  bool IsLeft(size_t column) const { return cells_ == kWords || words_.contains(column); }
  std::vector<size_t> Shown(bool all) const;
  std::vector<size_t> Widths() const;

  std::string title_;
  std::vector<std::string> columns_;
  Cells cells_;
  std::set<std::string> wide_, kept_;
  std::set<size_t> words_ = {0};
  std::vector<std::vector<std::string>> rows_;
};

// Returns the number as a report shows it: about three significant digits below 100, and a whole
// number from 100 on; "-" for NaN and infinity, which stand for a figure that is not known.
std::string Short(double x);
std::string Count(uint64_t n);  // 1234567 -> "1,234,567"
// Returns the number with its noun: Counted(1, "row") -> "1 row", Counted(1234, "row") -> "1,234
// rows". Only a plural that does not end in "s" alone is given.
std::string Counted(uint64_t n, const std::string& noun, const std::string& plural = "");
// Returns a number that is text already, such as from Whole, with its noun.
std::string WithNoun(const std::string& number, const std::string& noun,
                     const std::string& plural = "");
// 0.1234 -> "12.3 %". What is not 0 is never "0.0 %", and what is less than 1 never "100.0 %": they
// are "<0.1 %" and ">99.9 %".
std::string Percent(double share);

// Returns the text with spaces in place of control characters: a name that a user chose may have
// line breaks, or what a terminal takes for commands.
std::string OneLine(const std::string& text);
// Returns the text with spaces in place of control characters other than line breaks.
std::string SeveralLines(const std::string& text);

// Returns the first `most` characters of UTF-8 text, each of which may be several bytes.
std::string FirstCharacters(const std::string& text, size_t most);

// Returns the text with line breaks at spaces, so that no line is longer than `most` characters if
// its words allow that; lines that continue one are indented by two more spaces.
std::string Wrapped(const std::string& text, size_t most);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_TABLE_H_

// What each column of each table of a report means: `testbed explain` prints it, and
// docs/columns.md is made from it. A test compares the list with the tables. Thread-safe.
#ifndef TESTBED_TOOLS_REPORT_COLUMNS_H_
#define TESTBED_TOOLS_REPORT_COLUMNS_H_

#include <string>
#include <vector>

namespace testbed {

struct ColumnMeaning {
  const char* table;    // title of the table, as the report prints it
  const char* column;   // name of the column
  const char* meaning;  // sentences: what it is, in which unit, where the figure comes from
};
// Returns the columns in the order of the tables.
const std::vector<ColumnMeaning>& ColumnMeanings();

// Returns the explanation of what `asked` names: a column, a table, or a part of their names,
// whatever the case of its letters. An empty text asks for all. Throws Error (kUsage) with a guess
// when nothing is named so.
std::string ExplainText(const std::string& asked);

// Returns docs/columns.md.
std::string ColumnsPage();

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_COLUMNS_H_

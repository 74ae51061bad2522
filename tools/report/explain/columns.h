// What each column of each table of figures means: `testbed explain` prints it, and docs/columns.md
// is made from it. Tests compare the list with the tables that are printed. Thread-safe.
#ifndef TESTBED_TOOLS_REPORT_EXPLAIN_COLUMNS_H_
#define TESTBED_TOOLS_REPORT_EXPLAIN_COLUMNS_H_

#include <string>
#include <vector>

namespace testbed {

struct ColumnMeaning {
  std::string table;    // title of the table as it is printed, without what differs from run to run
  std::string column;   // name of the column
  std::string meaning;  // sentences: what it is, in which unit, where the figure comes from
};
// Returns the columns in the order of the tables: those of a report, those of other commands, and
// behind them the metrics that two sides are compared by (tools/statistics/metrics.h).
const std::vector<ColumnMeaning>& ColumnMeanings();

// Returns the explanation of what `asked` names: a column, a table, a word (words.h), or a part of
// their names, whatever the case of its letters. An empty text asks for all. Throws Error (kUsage)
// with a guess when nothing is named so.
std::string ExplainText(const std::string& asked);

// Returns docs/columns.md.
std::string ColumnsPage();

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_EXPLAIN_COLUMNS_H_

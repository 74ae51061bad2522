// What the words of reports mean: labels of rows, words of the lines under the tables, causes,
// levels, marks and verdicts, and the figures that each sweep has. `testbed explain` prints them
// beside the columns, and docs/columns.md has them behind these. Tests compare the list with the
// words that are printed. Thread-safe.
#ifndef TESTBED_TOOLS_REPORT_EXPLAIN_WORDS_H_
#define TESTBED_TOOLS_REPORT_EXPLAIN_WORDS_H_

#include <vector>

#include "tools/report/explain/columns.h"

namespace testbed {

// Returns the words in groups, each of which has a title in place of a table's. A word that ends in
// " ..." stands for all that begin as it does: "data by ..." for "data by flush".
const std::vector<ColumnMeaning>& WordMeanings();

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_EXPLAIN_WORDS_H_

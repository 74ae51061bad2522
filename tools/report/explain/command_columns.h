// What each column means in the tables of commands that show no results of a run: `tree`, `trace
// info`, `history`, `experiment`, `check`, `backup`, `compact` and `list`. Thread-safe.
#ifndef TESTBED_TOOLS_REPORT_EXPLAIN_COMMAND_COLUMNS_H_
#define TESTBED_TOOLS_REPORT_EXPLAIN_COMMAND_COLUMNS_H_

#include <vector>

#include "tools/report/explain/columns.h"

namespace testbed {

// Returns the columns in the order of the tables. ColumnMeanings has them, too.
const std::vector<ColumnMeaning>& CommandColumns();

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_EXPLAIN_COMMAND_COLUMNS_H_

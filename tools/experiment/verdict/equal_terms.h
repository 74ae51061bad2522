// Checks whether the engines of a table were compared on equal terms: they held the same memory,
// and their rounds had the same length.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_EQUAL_TERMS_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_EQUAL_TERMS_H_

#include <string>
#include <vector>

#include "tools/experiment/results.h"

namespace testbed {

// Returns lines to print under a table that shows these cells; an empty string when the terms were
// equal. Only cells that differ in nothing but the engine are compared. When one of them held more
// than 10 % less memory than another, or when their planned rows, operations or seconds differ, a
// line names each cell with its figure. An engine that could have used more memory, but never
// filled it, is marked.
std::string UnequalTerms(const ResultSet& results, const std::vector<size_t>& cells);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_EQUAL_TERMS_H_

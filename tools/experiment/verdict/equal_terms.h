// Checks whether the engines in a table were compared on equal terms: with the same memory, and
// with rounds of the same length.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_EQUAL_TERMS_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_EQUAL_TERMS_H_

#include <string>
#include <vector>

#include "tools/experiment/results.h"

namespace testbed {

// Returns lines to print under a table that shows these cells, or "" when the terms are equal.
// Compares cells that differ only in the engine. A line names each engine with its figure where one
// held more than 10 % less memory than another, or where the planned rows, operations or seconds
// differ. It marks an engine that never filled memory that it could have used.
std::string UnequalTerms(const ResultSet& results, const std::vector<size_t>& cells);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_EQUAL_TERMS_H_

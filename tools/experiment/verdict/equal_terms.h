// Whether the engines of a table met on equal terms: held the same memory, and had rounds of the
// same length.
#ifndef TESTBED_TOOLS_EXPERIMENT_VERDICT_EQUAL_TERMS_H_
#define TESTBED_TOOLS_EXPERIMENT_VERDICT_EQUAL_TERMS_H_

#include <string>
#include <vector>

#include "tools/experiment/results.h"

namespace testbed {

// Lines for under a table that shows these cells; empty when all is equal. Cells are compared that
// differ in the engine alone: where one held more than 10 % less memory than another, or where the
// rows, operations or seconds that were planned differ, a line names each with its figure. An engine
// that left memory unused throughout, though it could have had it, is marked.
std::string UnequalTerms(const ResultSet& results, const std::vector<size_t>& cells);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_VERDICT_EQUAL_TERMS_H_

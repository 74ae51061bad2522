// Prints the tables of an experiment. A table has a row for each combination of the axes that it
// names, the means over the rounds with their spread, and the published figures below.
#ifndef TESTBED_TOOLS_EXPERIMENT_TABLES_H_
#define TESTBED_TOOLS_EXPERIMENT_TABLES_H_

#include <string>

#include "tools/experiment/results.h"

namespace testbed {

std::string TablesText(const ResultSet& results);

// Returns the tables as comma-separated values, with full precision and the spread in columns of
// its own.
std::string TablesCsv(const ResultSet& results);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_TABLES_H_

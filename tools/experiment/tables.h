// The tables of an experiment: a row for each combination of the axes that a table names, the mean
// over the rounds with its spread, and the published figures below.
#ifndef TESTBED_TOOLS_EXPERIMENT_TABLES_H_
#define TESTBED_TOOLS_EXPERIMENT_TABLES_H_

#include <string>

#include "tools/experiment/results.h"

namespace testbed {

std::string TablesText(const ResultSet& results);
// Returns the tables with numbers for programs; the spreads are in separate columns.
std::string TablesCsv(const ResultSet& results);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_TABLES_H_

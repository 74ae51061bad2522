// The number of rows that a database held after each phase of a run, and their size, as far as the
// results (docs/results.md) tell.
#ifndef TESTBED_TOOLS_DATABASE_DATABASE_ROWS_H_
#define TESTBED_TOOLS_DATABASE_DATABASE_ROWS_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace testbed {

// Returns the rows after each phase of the run, or nothing where they are not known. They are known
// for a run that loads, from what its phases inserted and erased, and for a run that counted its
// rows (`database`, or `table_rows` of a phase).
std::vector<std::optional<double>> RowsAfterPhases(const nlohmann::json& document,
                                                   const nlohmann::json& run);

// Returns the mean bytes of a row's key and value. Known only for the rows of --rows and --keys:
// other workloads make their own rows.
std::optional<double> MeanRowBytes(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_DATABASE_DATABASE_ROWS_H_

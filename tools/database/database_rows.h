// How many rows a database held after each phase of a run, and how many bytes they are, as far as
// the results (docs/results.md) tell.
#ifndef TESTBED_TOOLS_DATABASE_DATABASE_ROWS_H_
#define TESTBED_TOOLS_DATABASE_DATABASE_ROWS_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace testbed {

// One for each phase of the run. Known of a run that loads, from what its phases inserted and
// erased; of others, when the run counted its rows (`database`, or `table_rows` of a phase).
std::vector<std::optional<double>> RowsAfterPhases(const nlohmann::json& document,
                                                   const nlohmann::json& run);

// Mean bytes of a row's key and value. Of the rows of --rows and --keys only: other workloads make
// rows of their own.
std::optional<double> MeanRowBytes(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_DATABASE_DATABASE_ROWS_H_

// The number of rows that a database held after each phase of a run, and their size, derived from a
// results document (docs/results.md).
#ifndef TESTBED_TOOLS_DATABASE_DATABASE_ROWS_H_
#define TESTBED_TOOLS_DATABASE_DATABASE_ROWS_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace testbed {

// Returns the loader of the database that the document's workloads used: "insert", whose rows are
// those that --rows, --key-size, --value-size and --keys describe, or one that makes rows of its
// own. Returns an empty string when no workload tells, or this build knows none of them.
std::string LoaderOf(const nlohmann::json& document);

// Returns the number of rows after each phase of the run; nothing where it is not known. For a run
// that loads, it follows from the rows that its phases inserted and erased. For another run it is
// known when the run counted its rows ("database", "table_rows" of a phase, or a phase of the kind
// "count", which tells the rows of any run).
std::vector<std::optional<double>> RowsAfterPhases(const nlohmann::json& document,
                                                   const nlohmann::json& run);

// Returns the mean size of a row's key, value and index entries in bytes, as user_bytes_written
// counts them; nothing unless --rows or --keys made the rows, since other workloads make rows of
// their own.
std::optional<double> MeanRowBytes(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_DATABASE_DATABASE_ROWS_H_

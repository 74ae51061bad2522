// The tables of a results document: rates and latencies, reads level by level, bytes written by
// cause, memory, sizes. columns.h explains each of their columns.
#ifndef TESTBED_TOOLS_REPORT_RUN_TABLES_H_
#define TESTBED_TOOLS_REPORT_RUN_TABLES_H_

#include <nlohmann/json.hpp>
#include <vector>

#include "tools/output/table.h"

namespace testbed {

// Returns all tables in the order of the report; those that the document has nothing for are empty.
std::vector<Table> RunTables(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_RUN_TABLES_H_

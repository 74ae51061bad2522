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

// Returns the tables whose figures a page with plots (tools/html/) has in no other form: tasks, a
// server's addresses and what clients exchanged with it, log writes, the shares of the memory that
// were tried, and the insert benchmark. None of them is empty.
std::vector<Table> TablesWithoutPlots(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_RUN_TABLES_H_

// Formats the results of `testbed tree` for one database, as tables for a terminal or as JSON.
#ifndef TESTBED_TOOLS_INSPECT_TREE_REPORT_H_
#define TESTBED_TOOLS_INSPECT_TREE_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "engines/inspect.h"

namespace testbed {

// Returns the tables. The first line begins with `name`.
std::string TreeText(const std::string& name, const Inspection& inspection);
// Returns the figures as JSON.
nlohmann::json TreeJson(const Inspection& inspection);

}  // namespace testbed

#endif  // TESTBED_TOOLS_INSPECT_TREE_REPORT_H_

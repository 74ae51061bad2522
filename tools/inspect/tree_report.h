// The output of `testbed tree`: tables for a terminal, or a JSON document.
#ifndef TESTBED_TOOLS_INSPECT_TREE_REPORT_H_
#define TESTBED_TOOLS_INSPECT_TREE_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>

#include "engines/inspect.h"

namespace testbed {

// Returns the tables; `name` is in the first line.
std::string TreeText(const std::string& name, const Inspection& inspection);
nlohmann::json TreeJson(const Inspection& inspection);

}  // namespace testbed

#endif  // TESTBED_TOOLS_INSPECT_TREE_REPORT_H_

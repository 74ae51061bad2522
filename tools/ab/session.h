// A comparison from its first load to its answer: runs the sides in the chosen way, load by load,
// until the question is answered, the time is over, a side fails, or the user stops it.
#ifndef TESTBED_TOOLS_AB_SESSION_H_
#define TESTBED_TOOLS_AB_SESSION_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/ab/ab_options.h"

namespace testbed {

// Executes the comparison and returns its document (docs/results.md, "testbed-ab"). The options are
// resolved. Throws Error (kUsage) before the first load when a side's engine or the machine does
// not allow the runs. No exception is thrown when a side fails: the document then has the side's
// error in "errors", and what the other sides measured.
nlohmann::json ExecuteAb(const AbOptions& options, const std::vector<std::string>& command_line);

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_SESSION_H_

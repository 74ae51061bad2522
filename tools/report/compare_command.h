// `testbed compare` says which of two results is faster, and how sure that is: of two files, or of
// two directories of experiments or sweeps.
#ifndef TESTBED_TOOLS_REPORT_COMPARE_COMMAND_H_
#define TESTBED_TOOLS_REPORT_COMPARE_COMMAND_H_

#include <functional>

namespace CLI {
class App;
}

namespace testbed {

// Adds the command to `app`. When the command line names it, parsing sets *command to a function
// that executes it and returns the exit code: 0, or kCompareConditionHolds or
// kCompareConditionUnknown (compare.h) of --fail-if. `command` must outlive `app`.
void AddCompareCommand(CLI::App& app, std::function<int()>* command);

}  // namespace testbed

#endif  // TESTBED_TOOLS_REPORT_COMPARE_COMMAND_H_

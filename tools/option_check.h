// Looks up and checks the options of a run by name, for code that has them as data: experiments and
// sweeps.
//
//   if (IsRunOption("page-size")) CheckOptionValue("page-size", "8k");   // throws for "3q"
//
// Names are without dashes in front; "engine-option.NAME" is the setting NAME of --engine-option.
// Thread-safe.
#ifndef TESTBED_TOOLS_OPTION_CHECK_H_
#define TESTBED_TOOLS_OPTION_CHECK_H_

#include <string>
#include <vector>

namespace testbed {

// Returns the names of all options of a run.
const std::vector<std::string>& RunOptionNames();
bool IsRunOption(const std::string& name);
bool IsRunFlag(const std::string& name);  // it takes no value
// Throws Error (kUsage) when the option does not take the value, or there is no such option.
// Whether an engine or a workload is in this build is not checked.
void CheckOptionValue(const std::string& name, const std::string& value);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OPTION_CHECK_H_

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
bool IsRunFlag(const std::string& name);  // true: the option takes no value
// Returns whether the option is about a single run, its database, its loads or its document. A cell
// of a sweep or an experiment cannot have it: the cells have databases and documents of their own.
bool BelongsToOneRun(const std::string& name);
// Returns whether the option is about what the command prints and writes, and not about what it
// runs. It is the sweep's, and not one of its cells'.
bool BelongsToOutput(const std::string& name);
// Returns why no cell of a sweep or an experiment can have the option, and what to do instead; ""
// when a cell can have it.
std::string WhyNoCellHas(const std::string& name);
// Throws Error (kUsage) when no cell of an experiment can have the option, or when it does not take
// the value. `option` is what the user gave it by, such as "--set".
void CheckCellOption(const std::string& option, const std::string& name, const std::string& value);
// Throws Error (kUsage) when the option does not take the value, or there is no such option.
// Whether an engine or a workload is in this build is not checked.
void CheckOptionValue(const std::string& name, const std::string& value);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OPTION_CHECK_H_

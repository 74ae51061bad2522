// Gives each side of a comparison processors of its own.
#ifndef TESTBED_TOOLS_AB_TURNS_PROCESSORS_H_
#define TESTBED_TOOLS_AB_TURNS_PROCESSORS_H_

#include <sys/types.h>

#include <vector>

namespace testbed {

// Returns `parts` equal shares of the processors, without those that are left over.
std::vector<std::vector<int>> Shares(const std::vector<int>& processors, size_t parts);

// Makes all threads of the process run on these processors alone. Threads that they start later
// do, too. Threads that end meanwhile are no error.
void BindProcess(pid_t process, const std::vector<int>& processors);

}  // namespace testbed

#endif  // TESTBED_TOOLS_AB_TURNS_PROCESSORS_H_

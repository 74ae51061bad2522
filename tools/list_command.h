// `testbed list`: engines, workloads, IO modes and what each supports, from the registries.
#ifndef TESTBED_TOOLS_LIST_COMMAND_H_
#define TESTBED_TOOLS_LIST_COMMAND_H_

#include <string>

namespace testbed {

std::string ListText();

}  // namespace testbed

#endif  // TESTBED_TOOLS_LIST_COMMAND_H_

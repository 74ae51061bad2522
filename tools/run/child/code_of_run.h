// Reads the code of a run into memory before the run enters its memory budget
// (device/machine/resident_code.h).
#ifndef TESTBED_TOOLS_RUN_CHILD_CODE_OF_RUN_H_
#define TESTBED_TOOLS_RUN_CHILD_CODE_OF_RUN_H_

#include "engines/registry.h"

namespace testbed {

// Reads the code of the program and of its libraries, and what the engine's opening with these
// options needs beside them (EngineInfo::read_code).
void ReadCodeOfRun(const EngineInfo& info, const EngineOptions& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_CHILD_CODE_OF_RUN_H_

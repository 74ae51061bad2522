// Tells whether an engine can be opened on this machine, for tests of the experiments that name it.
#ifndef TESTBED_TESTS_UNIT_TOOLS_EXPERIMENT_ENGINE_HERE_H_
#define TESTBED_TESTS_UNIT_TOOLS_EXPERIMENT_ENGINE_HERE_H_

#include "device/error.h"
#include "engines/registry.h"

namespace testbed {

// Returns whether the engine's library is here, and the program of one that is a server.
inline bool IsEngineHere(const EngineInfo& info) {
  if (info.missing != nullptr && !info.missing().empty()) return false;
  if (!info.capabilities.server) return true;
  try {
    CheckEngineOptions(info, DefaultEngineOptions(info));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_TOOLS_EXPERIMENT_ENGINE_HERE_H_

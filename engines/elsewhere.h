// Whether an engine's work is done by a server that the run does not start: its memory, processor time
// and files are then not the run's, and no figure of the run may be taken for theirs.
#ifndef TESTBED_ENGINES_ELSEWHERE_H_
#define TESTBED_ENGINES_ELSEWHERE_H_

#include <string>

#include "engines/engine.h"

namespace testbed {

// Returns whether the options name such a server: --engine-option connect of an engine whose work
// servers do (Capabilities::server). False for an engine that is not known. Thread-safe.
bool WorksElsewhere(const std::string& engine, const EngineOptions& options);

}  // namespace testbed

#endif  // TESTBED_ENGINES_ELSEWHERE_H_

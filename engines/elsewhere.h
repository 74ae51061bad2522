// Tells whether a server that the run does not start does the engine's work. The memory, processor
// time and files of such a server are not the run's, and no figure of the run includes them.
#ifndef TESTBED_ENGINES_ELSEWHERE_H_
#define TESTBED_ENGINES_ELSEWHERE_H_

#include <string>

#include "engines/engine.h"

namespace testbed {

// Returns whether the options name such a server: whether they have --engine-option connect, and
// `engine` is one whose work a server does (Capabilities::server). False for an unknown engine.
// Thread-safe.
bool WorksElsewhere(const std::string& engine, const EngineOptions& options);
bool WorksElsewhere(const Capabilities& can, const EngineOptions& options);

// Returns the id of the schema that an engine of a server has made for the directory; empty when it
// has made none. Another process opens that schema as a guest (EngineOptions::guest_of).
std::string SchemaIdIn(const std::string& engine, const std::string& dir);

// This is the value of the effective setting "charged" of an engine whose server runs already, when
// the blocks that the server reads and writes for a client are charged to the client's operations.
// A setting with any other value says why they are not; the value then completes the sentence "they
// are charged ...".
inline constexpr char kChargedToOperations[] = "to operations";

}  // namespace testbed

#endif  // TESTBED_ENGINES_ELSEWHERE_H_

// An engine that does nothing: it forgets what it is given and finds every key with a fixed value.
// A run on it measures the harness alone.
#ifndef TESTBED_ENGINES_NULL_NULL_ENGINE_H_
#define TESTBED_ENGINES_NULL_NULL_ENGINE_H_

#include "engines/registry.h"

namespace testbed {

EngineInfo NullEngineInfo();

}  // namespace testbed

#endif  // TESTBED_ENGINES_NULL_NULL_ENGINE_H_

// The engine "null" does nothing: writes are forgotten, and Get finds every key with a fixed value.
// Its cursors find no rows. A run on it measures the harness alone.
#ifndef TESTBED_ENGINES_NULL_NULL_ENGINE_H_
#define TESTBED_ENGINES_NULL_NULL_ENGINE_H_

#include "engines/registry.h"

namespace testbed {

EngineInfo NullEngineInfo();

}  // namespace testbed

#endif  // TESTBED_ENGINES_NULL_NULL_ENGINE_H_

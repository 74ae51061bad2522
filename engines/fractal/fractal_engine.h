// This engine is the fractal tree of this project: a Be-tree with message buffers (tree.h), nodes
// copied on write, checkpoints and a write-ahead log (store.h). docs/engines/fractal.md is its page
// for users.
#ifndef TESTBED_ENGINES_FRACTAL_FRACTAL_ENGINE_H_
#define TESTBED_ENGINES_FRACTAL_FRACTAL_ENGINE_H_

#include "engines/registry.h"

namespace testbed {

EngineInfo FractalEngineInfo();

}  // namespace testbed

#endif  // TESTBED_ENGINES_FRACTAL_FRACTAL_ENGINE_H_

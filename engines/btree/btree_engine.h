// Engine "btree": the page-based b-tree of this project, every part of it our own code, so that
// each knob exists and each block can be explained. store.h is the database behind it.
#ifndef TESTBED_ENGINES_BTREE_BTREE_ENGINE_H_
#define TESTBED_ENGINES_BTREE_BTREE_ENGINE_H_

#include "engines/registry.h"

namespace testbed {

EngineInfo BtreeEngineInfo();

}  // namespace testbed

#endif  // TESTBED_ENGINES_BTREE_BTREE_ENGINE_H_

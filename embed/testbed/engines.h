// All engines of the build as a library behind one interface, target testbed::engines.
//
//   for (const EngineInfo& info : Engines()) Use(info.name);
//   std::unique_ptr<Engine> engine =
//       OpenEngine("rocksdb", dir, DefaultEngineOptions(FindEngine("rocksdb")));
//
// A program adds an engine of its own by AddEngine. Its classes derive from Engine, Session and
// Cursor.
//
// Public here: Engines, FindEngine, AddEngine, DefaultEngineOptions, CheckEngineOptions,
// OpenEngine, EngineInfo and Capabilities, as engines/registry.h and engines/engine.h describe
// them, and all names that testbed/btree.h lists.
#ifndef TESTBED_ENGINES_H_
#define TESTBED_ENGINES_H_

// The macros of the headers below stay within this one (device/os/mutex.h).
#define TESTBED_MARKS_BEGIN
#include "device/os/mutex.h"
#undef TESTBED_MARKS_BEGIN

#include "device/error.h"
#include "engines/engine.h"
#include "engines/registry.h"

#define TESTBED_MARKS_END
#include "device/os/mutex.h"
#undef TESTBED_MARKS_END

#endif  // TESTBED_ENGINES_H_

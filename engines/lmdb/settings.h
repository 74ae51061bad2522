// MakeSettings turns EngineOptions into LMDB's flags and sizes. docs/engines/lmdb.md explains the
// options.
#ifndef TESTBED_ENGINES_LMDB_SETTINGS_H_
#define TESTBED_ENGINES_LMDB_SETTINGS_H_

#include <string>

#include "engines/data_file/mapped_settings.h"
#include "engines/engine.h"

namespace testbed::lmdb {

using Settings = MappedSettings;

// Throws Error (kUsage) for a value that an extra option does not accept. Opens nothing.
Settings MakeSettings(const EngineOptions& options);

Capabilities LmdbCapabilities();

// Returns the names of the flags that are set: "MDB_NOTLS|MDB_NORDAHEAD".
std::string FlagNames(unsigned flags);

}  // namespace testbed::lmdb

#endif  // TESTBED_ENGINES_LMDB_SETTINGS_H_

// MakeSettings turns EngineOptions into libmdbx's flags and sizes. docs/engines/mdbx.md explains
// the options.
#ifndef TESTBED_ENGINES_MDBX_SETTINGS_H_
#define TESTBED_ENGINES_MDBX_SETTINGS_H_

#include <cstdint>
#include <string>

#include "engines/data_file/mapped_settings.h"
#include "engines/engine.h"

namespace testbed::mdbx {

using Settings = MappedSettings;

// Throws Error (kUsage) for a value that an extra option does not accept. Opens nothing.
Settings MakeSettings(const EngineOptions& options);

Capabilities MdbxCapabilities();

// Returns the names of the flags that are set: "MDBX_SAFE_NOSYNC|MDBX_NORDAHEAD".
std::string FlagNames(unsigned flags);

// Returns the default size of the mapping in bytes: the size of the file system of `dir`, but from
// 1 GiB to 4 TiB, and no more than libmdbx can address with pages of that size.
uint64_t DefaultMapSize(const std::string& dir, uint32_t page_size);

}  // namespace testbed::mdbx

#endif  // TESTBED_ENGINES_MDBX_SETTINGS_H_

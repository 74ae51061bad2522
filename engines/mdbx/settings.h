// MakeSettings turns EngineOptions into libmdbx's flags and sizes. docs/engines/mdbx.md explains
// the options.
#ifndef TESTBED_ENGINES_MDBX_SETTINGS_H_
#define TESTBED_ENGINES_MDBX_SETTINGS_H_

#include <cstdint>
#include <string>

#include "engines/engine.h"

namespace testbed::mdbx {

struct Settings {
  unsigned flags = 0;     // MDBX_env_flags_t, for mdbx_env_open
  uint64_t map_size = 0;  // bytes of address space; 0 = DefaultMapSize
  uint32_t max_tables = 0;
  uint32_t max_readers = 0;
  uint32_t page_size = 0;
  Durability durability = Durability::kLazy;
  uint32_t lazy_interval_ms = 0;
  Advice advice = Advice::kNormal;
};

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

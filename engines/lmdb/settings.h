// EngineOptions as LMDB's flags and sizes. docs/lmdb.md says what each means for a user.
#ifndef TESTBED_ENGINES_LMDB_SETTINGS_H_
#define TESTBED_ENGINES_LMDB_SETTINGS_H_

#include <cstdint>
#include <string>

#include "engines/engine.h"

namespace testbed::lmdb {

struct Settings {
  unsigned flags = 0;     // of mdb_env_open
  uint64_t map_size = 0;  // bytes of address space; 0 = as the file system has room
  uint32_t max_tables = 0;
  uint32_t max_readers = 0;
  uint32_t page_size = 0;
  Durability durability = Durability::kLazy;
  uint32_t lazy_interval_ms = 0;
  Advice advice = Advice::kNormal;
};

// Throws Error (kUsage) for an extra option with a value that is not its kind. Touches nothing.
Settings MakeSettings(const EngineOptions& options);

Capabilities LmdbCapabilities();

// The names of LMDB's flags that are set, as in "MDB_NOTLS|MDB_NORDAHEAD".
std::string FlagNames(unsigned flags);

// What the mapping takes by default: as much as the file system of `dir` has in all, within bounds
// that let a process open some databases at once.
uint64_t DefaultMapSize(const std::string& dir);

}  // namespace testbed::lmdb

#endif  // TESTBED_ENGINES_LMDB_SETTINGS_H_

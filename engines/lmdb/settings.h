// MakeSettings turns EngineOptions into LMDB's flags and sizes. docs/engines/lmdb.md explains the
// options.
#ifndef TESTBED_ENGINES_LMDB_SETTINGS_H_
#define TESTBED_ENGINES_LMDB_SETTINGS_H_

#include <cstdint>
#include <string>

#include "engines/engine.h"

namespace testbed::lmdb {

struct Settings {
  unsigned flags = 0;     // for mdb_env_open
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

Capabilities LmdbCapabilities();

// Returns the names of the flags that are set: "MDB_NOTLS|MDB_NORDAHEAD".
std::string FlagNames(unsigned flags);

// Returns the default size of the mapping in bytes: the size of the file system of `dir`, but from
// 1 GiB to 4 TiB, so that a process has address space for several databases.
uint64_t DefaultMapSize(const std::string& dir);

}  // namespace testbed::lmdb

#endif  // TESTBED_ENGINES_LMDB_SETTINGS_H_

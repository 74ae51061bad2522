// This header has the settings that the engines lmdb and mdbx have in common. Their libraries map
// the whole data file into memory; the settings say how large it may grow, and how many tables and
// readers a database may have.
#ifndef TESTBED_ENGINES_DATA_FILE_MAPPED_SETTINGS_H_
#define TESTBED_ENGINES_DATA_FILE_MAPPED_SETTINGS_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "engines/engine.h"
#include "engines/extra_options.h"

namespace testbed {

struct MappedSettings {
  unsigned flags = 0;     // flags of the library's call that opens the database
  uint64_t map_size = 0;  // bytes of address space; 0 = DefaultMapSize
  uint32_t max_tables = 0;
  uint32_t max_readers = 0;
  uint32_t page_size = 0;
  Durability durability = Durability::kLazy;
  uint32_t lazy_interval_ms = 0;
  Advice advice = Advice::kNormal;
};

// Returns the settings with flags = 0. `most` is the largest number of tables, and also of readers,
// that the library accepts. Throws Error (kUsage) for a value that an extra option does not accept.
MappedSettings MakeMappedSettings(const ExtraOptions& extra, const EngineOptions& options,
                                  uint64_t most);

// Returns the capabilities that both engines have. The caller adds the sizes of pages, keys and
// values. The extra options are map_size, writemap, max_tables and max_readers, in this order.
Capabilities MappedCapabilities();

// Returns the names of the flags that are set: "MDB_NOTLS|MDB_NORDAHEAD". A flag that combines the
// bits of others must come before them in `names`, and is named in their place.
std::string FlagNames(unsigned flags, std::span<const std::pair<unsigned, const char*>> names);

// Returns the default size of the mapping in bytes: the size of the file system of `dir`, but from
// 1 GiB to 4 TiB, so that a process has address space for several databases.
uint64_t DefaultMapSize(const std::string& dir);

}  // namespace testbed

#endif  // TESTBED_ENGINES_DATA_FILE_MAPPED_SETTINGS_H_

// OpenDatabases opens several databases of one engine as a single Engine. Each database has its own
// files, log and share of the cache, and the tables are spread over the databases. A comparison
// with a single database shows what clients pay for sharing the lock, the log or the checkpoint
// that an engine has per database.
//
//   std::unique_ptr<Engine> engine = OpenDatabases("btree", dir, options, 10);   // DIR/0 ... DIR/9
//   engine->OpenTable("pi3");          // in DIR/2
//   engine->OpenTable("pi3_market");   // in DIR/2 too
//
// The first number N in a table's name selects database (N - 1) modulo `count`; a table without a
// number, or with number 0, is in the first database. So all tables of a client are in one database
// when their names contain the client's number. A transaction writes to one database only: a write
// to a second one throws Error (kUsage).
#ifndef TESTBED_ENGINES_DATABASES_H_
#define TESTBED_ENGINES_DATABASES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engines/engine.h"
#include "engines/registry.h"

namespace testbed {

// Opens `count` databases in DIR/0, DIR/1, ... and returns an engine over all of them. With `count`
// 1 it opens a single database in `dir` itself. Each database is opened with OpenEngine
// (registry.h) and throws what OpenEngine throws. The databases share `cache_bytes`,
// `most_cache_bytes` and `ram_bytes` of the options in equal parts, also those that hold no table.
// EffectiveSettings are those of one database.
std::unique_ptr<Engine> OpenDatabases(const std::string& name, const std::string& dir,
                                      const EngineOptions& options, uint32_t count);

// Throws Error (kUsage), as CheckEngineOptions (registry.h) does, when one of `count` databases
// cannot honour the options with its part of the cache. Opens and creates nothing.
void CheckDatabaseOptions(const std::string& name, const EngineOptions& options, uint32_t count);

// Returns how many of `cache_bytes` the caches of `count` databases have together, where the engine
// may round the size of each down (Capabilities::cache_of_power_of_two).
uint64_t CacheInForce(const Capabilities& can, uint64_t cache_bytes, uint32_t count);

// Returns the files of the tables (EngineInfo::table_files) of all databases of the engine `info`
// in `dir` and in DIR/0, DIR/1, ..., relative to `dir`. Throws Error (kIo) when the system does not
// tell.
std::vector<std::string> TableFilesIn(const EngineInfo& info, const std::string& dir);

// Returns which of `count` databases, counted from 0, holds a table of that name.
uint32_t DatabaseOfTable(const std::string& table, uint32_t count);

}  // namespace testbed

#endif  // TESTBED_ENGINES_DATABASES_H_

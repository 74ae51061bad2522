// Settings are the EngineOptions of the innodb engine, from which the server's arguments and the
// SQL of tables follow. EffectiveSettings reports the values that the server has in force.
#ifndef TESTBED_ENGINES_INNODB_SETTINGS_H_
#define TESTBED_ENGINES_INNODB_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engines/engine.h"

namespace testbed::innodb {

// Access says how rows are read: by HANDLER ... READ, which bypasses SQL's optimiser, or by SELECT.
enum class Access : uint8_t { kHandler, kSql };

struct Settings {
  Durability durability = Durability::kLazy;
  Access access = Access::kHandler;
  uint32_t page_size = 16384;
  uint32_t lazy_interval_ms = 100;
  uint64_t key_block_size = 0;  // page size with ROW_FORMAT=COMPRESSED; 0 = another format
  uint32_t conflict_wait_ms = 0;
  bool compressed = false;  // whether tables have PAGE_COMPRESSED, with zlib
  bool adaptive_hash_index = false, flush_neighbors = false, random_read_ahead = false;
  uint64_t read_ahead_threshold = 0;  // innodb_read_ahead_threshold; 0 = no linear read-ahead
  std::string change_buffering = "none";
  // These are arguments of the server, as --name=value: `shared` are those that the engine mysql
  // gives, too, and server_options those of --engine-option server_option.
  std::vector<std::string> shared, server_options;
};

// Throws Error (kUsage) for a value that an option does not accept, and for a cache below
// mariadb::LeastPool.
Settings MakeSettings(const EngineOptions& options);
Capabilities InnodbCapabilities();
// kServiceThread is the name of the thread that starts the server's threads.
inline constexpr char kServiceThread[] = "innodb";

// Returns the arguments of the server for a database in `dir`, an absolute path. The server writes
// its temporary files in `temporary`, which must exist and have no colon in its name.
std::vector<std::string> ServerArguments(const Settings& settings, const std::string& dir,
                                         const std::string& temporary);

// Returns the arguments that the user chose and that a release may ignore without an error at the
// server's start: server_options, and the change buffering if it is not none.
std::vector<std::string> GivenArguments(const Settings& settings);

// Sets key_block_size to that of an existing table, whose definition (SHOW CREATE TABLE) is
// `table`. key_block_size is a property of the database, and the engine computes bytes from it.
// Throws Error (kUsage) when the settings ask for another value.
void TakeKeyBlockSize(const std::string& table, Settings* settings);

}  // namespace testbed::innodb

#endif  // TESTBED_ENGINES_INNODB_SETTINGS_H_

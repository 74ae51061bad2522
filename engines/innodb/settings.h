// Settings are the EngineOptions of the innodb engine, from which the server's arguments and the
// SQL of tables follow. EffectiveSettings reports the values that the server has in force.
#ifndef TESTBED_ENGINES_INNODB_SETTINGS_H_
#define TESTBED_ENGINES_INNODB_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engines/engine.h"

namespace testbed::innodb {

// How rows are read: by HANDLER ... READ, which bypasses SQL's optimiser, or by SELECT.
enum class Access : uint8_t { kHandler, kSql };

struct Settings {
  IoMode io = IoMode::kDirect;
  Durability durability = Durability::kLazy;
  Access access = Access::kHandler;
  uint32_t page_size = 16384;
  uint32_t lazy_interval_ms = 100;
  uint64_t cache_bytes = 0;
  uint64_t log_file_size = 0, log_buffer_size = 0;
  uint64_t key_block_size = 0;  // page size with ROW_FORMAT=COMPRESSED; 0 = not compressed so
  uint32_t conflict_wait_ms = 10000;
  bool compressed = false;  // PAGE_COMPRESSED, zlib
  bool doublewrite = true, adaptive_hash_index = false, flush_neighbors = false;
  bool random_read_ahead = false;
  uint64_t read_ahead_threshold = 0;  // innodb_read_ahead_threshold; 0 = no linear read-ahead
  std::string change_buffering = "none";
  uint64_t io_capacity = 2000;
  uint64_t lru_scan_depth = 1536;           // pages that are kept free
  std::vector<std::string> server_options;  // --name=value
};

// Throws Error (kUsage) for a value that an option does not accept, and for a cache below
// LeastPool.
Settings MakeSettings(const EngineOptions& options);
Capabilities InnodbCapabilities();

// Returns the arguments of the server for a database in `dir`, an absolute path.
std::vector<std::string> ServerArguments(const Settings& settings, const std::string& dir);

// Makes key_block_size that of a table that is there, whose definition (SHOW CREATE TABLE) is
// `table`: it is a property of the database, on which the engine's counts of bytes rest. Throws Error
// (kUsage) when the settings ask for another one.
void TakeKeyBlockSize(const std::string& table, Settings* settings);

// Returns the value of innodb_flush_log_at_trx_commit for a durability.
int FlushLogAtCommit(Durability durability);

// Returns the size in bytes of the smallest buffer pool that InnoDB accepts.
uint64_t LeastPool(uint32_t page_size);

// The longest key in bytes with every page size: InnoDB's limit for an index column at 4k pages.
inline constexpr size_t kMaxKeySize = 768;
inline constexpr size_t kMaxValueSize = 16 << 20;

}  // namespace testbed::innodb

#endif  // TESTBED_ENGINES_INNODB_SETTINGS_H_

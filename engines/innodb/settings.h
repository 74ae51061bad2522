// What the innodb engine makes of EngineOptions: the server's arguments and SQL. They are applied
// where they are read; EffectiveSettings prints what the server says is in force.
#ifndef TESTBED_ENGINES_INNODB_SETTINGS_H_
#define TESTBED_ENGINES_INNODB_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engines/engine.h"

namespace testbed::innodb {

// How rows are looked up: below SQL's optimiser, or through it.
enum class Access : uint8_t { kHandler, kSql };

struct Settings {
  IoMode io = IoMode::kDirect;
  Durability durability = Durability::kLazy;
  Access access = Access::kHandler;
  uint32_t page_size = 16384;
  uint32_t lazy_interval_ms = 100;
  uint64_t cache_bytes = 0;
  uint64_t log_file_size = 0, log_buffer_size = 0;
  uint64_t key_block_size = 0;  // of ROW_FORMAT=COMPRESSED; 0 = not
  uint32_t conflict_wait_ms = 10000;
  bool compressed = false;  // PAGE_COMPRESSED, zlib
  bool doublewrite = true, adaptive_hash_index = false, flush_neighbors = false;
  bool random_read_ahead = false;
  uint64_t read_ahead_threshold = 0;  // pages of an extent of 64; 0 = none
  std::string change_buffering = "none";
  uint64_t io_capacity = 2000;
  std::vector<std::string> server_options;  // --name=value
};

// Throws Error (kUsage) for values that it does not accept.
Settings MakeSettings(const EngineOptions& options);
Capabilities InnodbCapabilities();

// Arguments of the server for a database in `dir`, an absolute path.
std::vector<std::string> ServerArguments(const Settings& settings, const std::string& dir);

// innodb_flush_log_at_trx_commit.
int FlushLogAtCommit(Durability durability);

// The pool that InnoDB accepts at least.
uint64_t LeastPool(uint32_t page_size);

// The longest key of every page size: InnoDB's limit for an index column at 4k pages.
inline constexpr size_t kMaxKeySize = 768;
inline constexpr size_t kMaxValueSize = 16 << 20;

}  // namespace testbed::innodb

#endif  // TESTBED_ENGINES_INNODB_SETTINGS_H_

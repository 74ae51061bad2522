// MakeSettings turns EngineOptions into SQLite's settings. docs/engines/sqlite.md explains the options and
// gives the sources of what is chosen here.
#ifndef TESTBED_ENGINES_SQLITE_SETTINGS_H_
#define TESTBED_ENGINES_SQLITE_SETTINGS_H_

#include <cstdint>
#include <string>

#include "engines/engine.h"

namespace testbed::sqlite {

struct Settings {
  std::string journal;      // PRAGMA journal_mode: "wal", "delete", "truncate", "persist"
  std::string synchronous;  // PRAGMA synchronous of the writing connection
  std::string table;        // layout of the tables: "rowid", "without-rowid"; "": as they are there
  uint32_t page_size = 0;   // bytes
  uint64_t cache_bytes = 0;
  uint64_t checkpoint_log_bytes = 0;  // a commit that finds so much WAL begins a checkpoint
  uint32_t busy_wait_ms = 0;
  IoMode io = IoMode::kBuffered;
  Advice advice = Advice::kNormal;  // for the database file in that mode
  bool create = true;               // a file that is absent or empty becomes a database
  Durability durability = Durability::kLazy;
  uint32_t lazy_interval_ms = 0;

  bool wal() const { return journal == "wal"; }
};

// Throws Error (kUsage) for a value that an extra option does not accept. Opens nothing.
Settings MakeSettings(const EngineOptions& options);

Capabilities SqliteCapabilities();

// Sets the library up for the process, which must be before any other use of it: each connection is
// used by one thread at a time, and no statistics of memory are kept, which cost a lock for each
// allocation. Has no effect when another part of the process uses SQLite already.
void ConfigureLibrary();

// Bytes of the longest key. SQLite has no such limit apart from that of a row.
inline constexpr size_t kLongestKey = 64 << 10;
// Bytes of a row that are neither key nor value, at most: the header of SQLite's record.
inline constexpr size_t kRecordHeader = 32;

}  // namespace testbed::sqlite

#endif  // TESTBED_ENGINES_SQLITE_SETTINGS_H_

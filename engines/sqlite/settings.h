// MakeSettings turns EngineOptions into SQLite's settings. docs/engines/sqlite.md explains the
// options and gives the sources of the choices made here.
#ifndef TESTBED_ENGINES_SQLITE_SETTINGS_H_
#define TESTBED_ENGINES_SQLITE_SETTINGS_H_

#include <cstdint>
#include <string>

#include "engines/engine.h"

namespace testbed::sqlite {

struct Settings {
  std::string journal;      // PRAGMA journal_mode: "wal", "delete", "truncate", "persist"
  std::string synchronous;  // PRAGMA synchronous of the writing connection
  std::string table;        // "rowid" or "without-rowid"; empty: as in existing tables
  uint32_t page_size = 0;   // bytes
  uint64_t cache_bytes = 0;
  uint64_t checkpoint_log_bytes = 0;  // length of the WAL at which a commit begins a checkpoint
  uint32_t busy_wait_ms = 0;
  IoMode io = IoMode::kBuffered;
  Advice advice = Advice::kNormal;  // advice for the database file
  bool create = true;               // a database is made in a file that is absent or empty
  Durability durability = Durability::kLazy;
  uint32_t lazy_interval_ms = 0;

  bool wal() const { return journal == "wal"; }
};

// Throws Error (kUsage) for a value that an extra option does not accept. Opens nothing.
Settings MakeSettings(const EngineOptions& options);

Capabilities SqliteCapabilities();

// Configures the library for the process: SQLite keeps no statistics of memory, which would cost a
// lock for each allocation. Must be called before any other use of the library; has no effect when
// another part of the process uses SQLite already. The process's threading mode stays as it is,
// because the program's own connections have it, too. The engine's connections ask for another mode
// (SQLITE_OPEN_NOMUTEX).
void ConfigureLibrary();

// This is the length of the longest key in bytes. SQLite itself limits only the length of a row.
inline constexpr size_t kLongestKey = 64 << 10;
// Returns the length in bytes of the longest value that this build of the library takes together
// with the longest key.
size_t LongestValue();

}  // namespace testbed::sqlite

#endif  // TESTBED_ENGINES_SQLITE_SETTINGS_H_

#include "engines/sqlite/settings.h"

#include <sqlite3.h>

#include <algorithm>

#include "engines/extra_options.h"

namespace testbed::sqlite {
namespace {

constexpr uint32_t kSmallestPage = 512, kLargestPage = 65536;
constexpr size_t kLongestRow = 1'000'000'000;  // SQLITE_MAX_LENGTH, by default
// This is the most bytes of a row that are neither key nor value: the header of SQLite's record.
constexpr size_t kRecordHeader = 32;

// Returns the bytes of write-ahead log between two checkpoints: half of what the memory budget
// leaves to the page cache. SQLite reads its log again for a checkpoint, and for every page that is
// not copied to the database yet. It also overwrites the log in parts of pages. Each of these costs
// a read of the device if the page cache does not hold the log.
uint64_t CheckpointLogBytes(const EngineOptions& options) {
  constexpr uint64_t kLeast = 4 << 20, kMost = 256 << 20, kUnbounded = 64 << 20;
  if (options.ram_bytes == 0) return kUnbounded;
  const uint64_t page_cache = options.ram_bytes - std::min(options.ram_bytes, options.cache_bytes);
  return std::clamp<uint64_t>(page_cache / 2 >> 20 << 20, kLeast, kMost);
}

// Returns the bytes of the longest row that this build of the library takes.
size_t LongestRow() {
  ConfigureLibrary();
  sqlite3* db = nullptr;
  int longest = 0;
  if (::sqlite3_open(":memory:", &db) == SQLITE_OK) {
    longest = ::sqlite3_limit(db, SQLITE_LIMIT_LENGTH, -1);
  }
  ::sqlite3_close(db);
  return longest > 0 ? static_cast<size_t>(longest) : kLongestRow;
}

std::string Synchronous(const std::string& journal, Durability durability) {
  if (durability == Durability::kNone) return "OFF";
  // EXTRA also syncs the directory after the journal was removed from it. Without that, a power cut
  // can bring the journal back, which undoes the commit.
  if (journal == "delete") return "EXTRA";
  // With NORMAL, the WAL is synced before a checkpoint only; the engine's thread syncs it within
  // the interval. With a rollback journal that is not possible: commits that are not synced could
  // leave half a transaction behind.
  return journal == "wal" && durability == Durability::kLazy ? "NORMAL" : "FULL";
}

}  // namespace

void ConfigureLibrary() {
  static const bool once = [] {
    ::sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    return ::sqlite3_initialize() == SQLITE_OK;
  }();
  static_cast<void>(once);
}

size_t LongestValue() {
  static const size_t longest = LongestRow() - kLongestKey - kRecordHeader;
  return longest;
}

Settings MakeSettings(const EngineOptions& options) {
  const ExtraOptions extra("sqlite", options.extra);
  Settings s;
  s.journal = extra.Choice("journal", "wal", {"wal", "delete", "truncate", "persist"});
  s.synchronous = Synchronous(s.journal, options.durability);
  s.table = extra.Choice("table", "", {"without-rowid", "rowid"});
  s.page_size = options.page_size;
  s.cache_bytes = options.cache_bytes;
  s.checkpoint_log_bytes =
      extra.Bytes("checkpoint_log_bytes", CheckpointLogBytes(options), 64 << 10, 1ull << 40);
  s.busy_wait_ms = static_cast<uint32_t>(extra.Integer("busy_wait_ms", 10000, 0, 1000000));
  s.io = options.io;
  s.advice = options.io == IoMode::kMmap ? options.mmap_advice : options.file_advice;
  s.create = options.create;
  s.durability = options.durability;
  s.lazy_interval_ms = options.lazy_interval_ms;
  return s;
}

Capabilities SqliteCapabilities() {
  Capabilities can;
  can.io_modes = {IoMode::kBuffered, IoMode::kDirect, IoMode::kMmap};
  can.durabilities = {Durability::kSync, Durability::kLazy, Durability::kNone};
  can.compressions = {"none"};
  can.min_page_size = kSmallestPage;
  can.max_page_size = kLargestPage;
  can.max_key_size = kLongestKey;
  can.max_value_size = LongestValue();
  can.resizable_cache = true;
  can.min_cache_bytes = 1 << 20;
  can.checksums = false;
  can.extra_options = {
      {"journal", "wal, delete, truncate, persist: how commits are made atomic (wal)"},
      {"table",
       "without-rowid, rowid: layout of the tables; rowid suits rows of more than a twentieth of a "
       "page (without-rowid)"},
      {"checkpoint_log_bytes",
       "bytes of WAL at which a commit begins a checkpoint (half of --ram without the cache, 4M to "
       "256M)"},
      {"busy_wait_ms", "milliseconds for which a call waits for other sessions' locks (10000)"},
  };
  return can;
}

}  // namespace testbed::sqlite

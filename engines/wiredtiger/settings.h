// MakeSettings turns EngineOptions into strings of WiredTiger's configuration language.
//
// The strings state every setting that affects IO or memory. For other settings WiredTiger's own
// defaults hold, with these exceptions, which --engine-option can change:
//
//   log_file_max       a tenth of the cache, from 4 MB to WiredTiger's 100 MB, so that a small run
//                      is not dominated by two preallocated log files; --ram / 64 when --ram is
//                      below 160 MB, so that log buffers do not fill the memory
//   checkpoint_*       a checkpoint every 60 s or CheckpointLogBytes of log (log_settings.h);
//                      WiredTiger itself takes none
//   internal_page_max  the page size
//   leaf_value_max     64 MB, as MongoDB sets it. WiredTiger's default is half of a leaf after a
//                      split; it reads each larger value from the file at every access, because an
//                      overflow item is in no cache
//   allocation_size    4096, which direct IO needs
//
// WiredTiger reads neither the database's WiredTiger.basecfg nor the environment, so that all
// settings of a run come from its own options.
#ifndef TESTBED_ENGINES_WIREDTIGER_SETTINGS_H_
#define TESTBED_ENGINES_WIREDTIGER_SETTINGS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engines/engine.h"
#include "engines/wiredtiger/file_system.h"

namespace testbed::wiredtiger {

// These are the lengths of the longest key and value in bytes. WiredTiger itself takes almost 4 GiB
// of each.
inline constexpr size_t kLongestKey = size_t{1} << 20, kLongestValue = size_t{1} << 30;

struct Settings {
  std::string connection;  // configuration for wiredtiger_open
  std::string table;       // configuration for WT_SESSION::create
  // These are the keys of `table` that the user gave and tables keep, with dots in the names of
  // nested ones.
  std::vector<std::string> given_of_table;
  FileSystem::Options files;
  uint32_t page_size = 0;  // bytes
  std::string compressor;  // WiredTiger's name of the compressor, or "none"
  bool log = true;
  bool log_direct = false;
  uint32_t flush_interval_ms = 0;  // interval of lazy durability; 0 = no flush thread
  uint64_t checkpoint_interval_s = 0;
  uint64_t checkpoint_log_bytes = 0;
  uint64_t conflict_wait_ms = 0;
};

// Throws Error (kUsage) for a cache below 1 MiB, and for a value that an extra option does not
// accept.
Settings MakeSettings(const EngineOptions& options);

// Throws Error (kUsage) when the user gave a value for tables that a table of the database in `dir`
// does not have: WiredTiger keeps what a table was made with, which is the configuration `made`.
void CheckMadeWith(const Settings& settings, const std::string& made, const std::string& dir);

// Throws Error (kUsage) when MakeSettings throws it, when options contradict each other, and when
// WiredTiger does not accept the configuration strings. Opens nothing.
void CheckSettings(const EngineOptions& options);

// Returns the names and meanings of the extra options.
std::vector<std::pair<std::string, std::string>> KnownExtraOptions();

// Returns the compressors of the WiredTiger that is linked in, "none" first.
std::vector<std::string> Compressors();

// Returns the value of `key` in a configuration string; empty when the string does not have the
// key. A nested key is written with dots: "log.enabled".
std::string ConfigValue(const std::string& config, const std::string& key);
// Returns the value of `key` as a number, with sizes in bytes; 0 when the string does not have the
// key.
int64_t ConfigNumber(const std::string& config, const std::string& key);
// Returns the size at which WiredTiger writes or splits a page in memory (__btree_page_sizes in its
// sources): memory_page_max of a table, at most a tenth of the dirty bytes at which writers stall,
// which are a fifth of the cache by default, and at least a leaf page. 0 when `table` does not have
// memory_page_max.
uint64_t MostPageInMemory(const std::string& connection, const std::string& table);
// Returns all top-level keys of a configuration string with their values, in order.
std::vector<std::pair<std::string, std::string>> ConfigItems(const std::string& config);
// Appends the settings in `config` to *out, with `prefix` before their names. Nested settings get
// names with dots.
void Flatten(const std::string& prefix, const std::string& config,
             std::vector<std::pair<std::string, std::string>>* out);
// Returns whether WiredTiger keeps counters with this configuration of a connection.
bool StatisticsOn(const std::string& connection);
// Returns whether a value from ConfigItems is in brackets. WiredTiger knows the brackets (, [ and
// {.
bool IsNested(const std::string& value);
// Returns what the brackets of a nested value enclose.
std::string Inside(const std::string& value);

}  // namespace testbed::wiredtiger

#endif  // TESTBED_ENGINES_WIREDTIGER_SETTINGS_H_

// EngineOptions in WiredTiger's configuration language.
//
// Everything is said explicitly that decides about IO or memory; for the rest WiredTiger's own
// defaults are in force, with these exceptions, each of which --engine-option can change:
//
//   log_file_max       a tenth of the cache, from 4 MB to WiredTiger's 100 MB, so that a small run
//                      is not dominated by two preallocated log files
//   checkpoint_*       a checkpoint every 60 s or 2 GB of log (WiredTiger alone takes none)
//   internal_page_max  the page size; allocation_size 4096, which direct IO needs
//
// The database's own WiredTiger.basecfg and the environment are not read: a run's settings are
// what the run says.
#ifndef TESTBED_ENGINES_WIREDTIGER_SETTINGS_H_
#define TESTBED_ENGINES_WIREDTIGER_SETTINGS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engines/engine.h"
#include "engines/wiredtiger/file_system.h"

namespace testbed::wiredtiger {

struct Settings {
  std::string connection;  // for wiredtiger_open
  std::string table;       // for WT_SESSION::create
  FileSystem::Options files;
  uint32_t page_size = 0;
  std::string compressor;  // "none", or as WiredTiger names it
  bool log = true;
  bool log_direct = false;
  uint32_t flush_interval_ms = 0;  // of lazy durability; 0 = no flush thread
  uint64_t checkpoint_interval_s = 0;
  uint64_t checkpoint_log_bytes = 0;
  uint64_t conflict_wait_ms = 0;
};

// Throws Error (kUsage) for an extra option with a value that is not its kind.
Settings MakeSettings(const EngineOptions& options);

// The extra options and what they mean.
std::vector<std::pair<std::string, std::string>> KnownExtraOptions();

// Compressors in the WiredTiger that is linked in, "none" first.
std::vector<std::string> Compressors();

// The value of `key` in a configuration string; empty when it has none. Nested keys by dots.
std::string ConfigValue(const std::string& config, const std::string& key);
// The same as a number, sizes in bytes.
int64_t ConfigNumber(const std::string& config, const std::string& key);
// All top-level keys with their values, in order.
std::vector<std::pair<std::string, std::string>> ConfigItems(const std::string& config);

}  // namespace testbed::wiredtiger

#endif  // TESTBED_ENGINES_WIREDTIGER_SETTINGS_H_

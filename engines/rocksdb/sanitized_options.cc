#include "engines/rocksdb/sanitized_options.h"

#include <rocksdb/convenience.h>
#include <rocksdb/utilities/options_util.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <unordered_map>

#include "device/error.h"
#include "engines/rocksdb/versions.h"

namespace testbed {
namespace {

[[noreturn]] void RefuseSanitized(const std::string& setting, const std::string& why) {
  throw Error(Error::kUsage, "rocksdb cannot honour " + setting + " " + why);
}

// A recycled log has old records behind its newest one. A recovery that must tell the end of the
// log from damage cannot do so then, and RocksDB recycles none.
void CheckRecycling(Durability durability, const rocksdb::DBOptions& db) {
  using Mode = rocksdb::WALRecoveryMode;
  if (db.recycle_log_file_num == 0) return;
  const std::string setting = "recycle_log_file_num=" + std::to_string(db.recycle_log_file_num);
  if (durability == Durability::kNone) {
    RefuseSanitized(setting, "with --durability none, which has no log: leave it out");
  }
  if (db.WAL_ttl_seconds > 0 || db.WAL_size_limit_MB > 0) {
    RefuseSanitized(setting,
                    "with WAL_ttl_seconds or WAL_size_limit_MB, by which it keeps old logs: leave "
                    "one of them out");
  }
  const Mode mode = db.wal_recovery_mode;
  if (mode == Mode::kTolerateCorruptedTailRecords || mode == Mode::kAbsoluteConsistency) {
    RefuseSanitized(setting,
                    "with this wal_recovery_mode, which takes old records for damage: leave one of "
                    "them out");
  }
  if (mode == Mode::kPointInTimeRecovery && !kRocksdbRecyclesLogs) RefuseForRelease(setting, "0");
}

// RocksDB raises a trigger to the one before it.
void CheckTriggers(const ExtraOptions& extra, const rocksdb::ColumnFamilyOptions& table) {
  const int compaction = table.level0_file_num_compaction_trigger;
  const int slowdown = table.level0_slowdown_writes_trigger;
  const int stop = table.level0_stop_writes_trigger;
  if (extra.Has("level0_slowdown_trigger") && slowdown < compaction) {
    RefuseSanitized("level0_slowdown_trigger=" + std::to_string(slowdown),
                    "below level0_compaction_trigger, which is " + std::to_string(compaction) +
                        ": give that or more");
  }
  const int least = std::max(compaction, slowdown);
  if (extra.Has("level0_stop_trigger") && stop < least) {
    RefuseSanitized("level0_stop_trigger=" + std::to_string(stop),
                    "below the triggers of compactions and of the slowdown, of which the higher "
                    "is " +
                        std::to_string(least) + ": give that or more");
  }
}

// RocksDB's options with numbers and flags that options of testbed's own override.
struct Overridden {
  const char *rocksdbs, *own;
};
constexpr Overridden kOverridden[] = {
    {"max_write_buffer_number", "max_write_buffer_number"},
    {"write_buffer_size", "write_buffer_size"},
    {"max_bytes_for_level_base", "max_bytes_for_level_base"},
    {"target_file_size_base", "target_file_size"},
    {"level0_file_num_compaction_trigger", "level0_compaction_trigger"},
    {"level0_slowdown_writes_trigger", "level0_slowdown_trigger"},
    {"level0_stop_writes_trigger", "level0_stop_trigger"},
    {"compaction_readahead_size", "compaction_readahead"},
    {"max_background_jobs", "max_background_jobs"},
    {"max_subcompactions", "max_subcompactions"},
    {"bytes_per_sync", "bytes_per_sync"},
    {"wal_bytes_per_sync", "wal_bytes_per_sync"},
    {"recycle_log_file_num", "recycle_log_file_num"},
    {"cache_index_and_filter_blocks", "index_filter_in_cache"},
    {"block_align", "block_align"},
    {"partition_filters", "partitioned_index_filter"}};

bool IsOverridden(const EngineOptions& options, const std::string& name) {
  return std::any_of(std::begin(kOverridden), std::end(kOverridden), [&](const Overridden& o) {
    return name == o.rocksdbs && options.extra.contains(o.own);
  });
}

// Returns whether the value is one in whose place RocksDB is asked to choose a number.
bool IsAutomatic(const std::string& name, const std::string& value) {
  if (value == "-1") {
    return name == "max_write_buffer_size_to_maintain" ||
           name == "max_write_buffer_number_to_maintain";
  }
  if (value == "18446744073709551614") {  // UINT64_MAX - 1
    return name == "ttl" || name == "periodic_compaction_seconds";
  }
  return value == "0" && (name == "arena_block_size" || name == "delayed_write_rate" ||
                          name == "max_compaction_bytes");
}

// Adds the options of `text`, which has RocksDB's own syntax, and those of its tables to *all.
void SplitOptions(const std::string& text, std::unordered_map<std::string, std::string>* all) {
  std::unordered_map<std::string, std::string> parts;
  if (!rocksdb::StringToMap(text, &parts).ok()) return;
  for (const auto& [name, value] : parts) {
    if (name == "block_based_table_factory" || name == "table_factory") {
      SplitOptions(value, all);
    } else {
      all->emplace(name, value);
    }
  }
}

}  // namespace

void CheckSanitized(const ExtraOptions& extra, Durability durability, const rocksdb::DBOptions& db,
                    const rocksdb::ColumnFamilyOptions& table) {
  CheckRecycling(durability, db);
  CheckTriggers(extra, table);
}

std::vector<std::pair<std::string, std::string>> RocksdbOptionsInForce(rocksdb::DB* db) {
  std::vector<std::pair<std::string, std::string>> out;
  // The file has lines "name=value" under the names of their sections. The options of the default
  // column family stand for all families.
  std::string name;
  if (rocksdb::GetLatestOptionsFileName(db->GetName(), db->GetEnv(), &name).ok()) {
    std::ifstream file(db->GetName() + "/" + name);
    bool wanted = false;
    for (std::string line; std::getline(file, line);) {
      const size_t begin = line.find_first_not_of(' ');
      if (begin == std::string::npos || line[begin] == '#') continue;
      if (line[begin] == '[') {
        wanted = line.find("DBOptions") != std::string::npos ||
                 line.find("\"default\"") != std::string::npos;
        continue;
      }
      const size_t equals = line.find('=');
      if (!wanted || equals == std::string::npos) continue;
      out.emplace_back(line.substr(begin, equals - begin), line.substr(equals + 1));
    }
  }
  return out;
}

void CheckInForce(const EngineOptions& options,
                  const std::vector<std::pair<std::string, std::string>>& in_force) {
  const auto text = options.extra.find("options");
  if (text == options.extra.end()) return;
  std::unordered_map<std::string, std::string> given;
  SplitOptions(text->second, &given);
  for (const auto& [name, value] : in_force) {
    const auto asked = given.find(name);
    if (asked == given.end() || IsOverridden(options, name)) continue;
    if (IsAutomatic(name, asked->second) || !IsAnotherValue(asked->second, value)) continue;
    RefuseSanitized(name + "=" + asked->second,
                    "of --engine-option options: RocksDB replaces it by " + value +
                        ", alone or because of other options; give a value that it keeps, or leave "
                        "it out");
  }
}

}  // namespace testbed

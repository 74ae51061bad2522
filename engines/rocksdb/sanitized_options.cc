#include "engines/rocksdb/sanitized_options.h"

#include <rocksdb/convenience.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/options_util.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>
#include <unordered_map>

#include "device/error.h"
#include "engines/rocksdb/options.h"
#include "engines/rocksdb/versions.h"

namespace testbed {
namespace {

// This is the RocksdbGivenOption::source of what the extra option `options` gives.
constexpr char kSourceText[] = " options";

[[noreturn]] void RefuseSanitized(const std::string& setting, const std::string& why) {
  throw Error(Error::kUsage, "rocksdb cannot honour " + setting + " " + why);
}

// A recycled log has old records behind its newest record. A recovery mode that must tell the end
// of the log from damage cannot work with that, and then RocksDB recycles no log.
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

// RocksDB keeps these values and never starts a write-back: direct IO leaves nothing in the page
// cache, and a log that is not written has nothing there.
void CheckWriteBack(const ExtraOptions& extra, const RocksdbGivenOptions& given,
                    Durability durability, const rocksdb::DBOptions& db) {
  // A file has all options, which nobody need have chosen for this run.
  const auto is_chosen = [&](const char* name) {
    if (extra.Has(name)) return true;
    const auto found = given.find(name);
    return found != given.end() && std::string_view(found->second.source) == kSourceText;
  };
  if (db.bytes_per_sync != 0 && db.use_direct_io_for_flush_and_compaction &&
      is_chosen("bytes_per_sync")) {
    RefuseSanitized("bytes_per_sync=" + std::to_string(db.bytes_per_sync),
                    "with --io direct, which leaves nothing to write back: give 0 or leave it out");
  }
  if (db.wal_bytes_per_sync != 0 && durability == Durability::kNone &&
      is_chosen("wal_bytes_per_sync")) {
    RefuseSanitized("wal_bytes_per_sync=" + std::to_string(db.wal_bytes_per_sync),
                    "with --durability none, which has no log: give 0 or leave it out");
  }
}

// RocksDB raises each trigger to at least the trigger before it.
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

[[noreturn]] void RefuseReplaced(const std::string& setting, const std::string& source,
                                 const std::string& by) {
  RefuseSanitized(setting, "of --engine-option" + source + ": RocksDB replaces it by " + by +
                               ", alone or because of other options; give a value that it keeps, "
                               "or leave it out");
}

// These are testbed's own options that set one of RocksDB's, with both names. Options of blocks are
// not among them: RocksDB replaces these when they are read, and never when it opens the database.
struct OwnOption {
  const char *rocksdbs, *own;
};
constexpr OwnOption kOwnOptions[] = {
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
    {"recycle_log_file_num", "recycle_log_file_num"}};

// Returns whether RocksDB's headers say that RocksDB chooses a value in place of this one.
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

// Options are options by RocksDB's names. The values are RocksDB's own texts, so two texts are
// equal where the options are. Options of blocks are in one map with those of the database and of
// tables: no two options have the same name.
using WrittenOptions = std::unordered_map<std::string, std::string>;

WrittenOptions WriteOut(const rocksdb::DBOptions& db, const rocksdb::ColumnFamilyOptions& table) {
  rocksdb::ConfigOptions config;
  WrittenOptions all;
  const auto add = [&all](const rocksdb::Status& status, const std::string& text) {
    WrittenOptions part;
    if (!status.ok() || !rocksdb::StringToMap(text, &part).ok()) return;
    all.insert(part.begin(), part.end());
  };
  std::string text;
  rocksdb::Status status = rocksdb::GetStringFromDBOptions(config, db, &text);
  add(status, text);
  status = rocksdb::GetStringFromColumnFamilyOptions(config, table, &text);
  add(status, text);
  status = table.table_factory->GetOptionString(config, &text);
  add(status, text);
  return all;
}

// RocksDB replaces options of blocks when it makes a table factory of them.
WrittenOptions WriteOut(const RocksdbOptions& options) {
  rocksdb::ColumnFamilyOptions table = options.table;
  table.table_factory.reset(rocksdb::NewBlockBasedTableFactory(options.blocks));
  return WriteOut(options.db, table);
}

// These are options as the user wrote them, by name.
using OptionTexts = std::map<std::string, std::string>;

// Adds to *all the options of `text`, which has RocksDB's own syntax, and those of its nested table
// options.
void SplitOptions(const std::string& text, OptionTexts* all) {
  std::unordered_map<std::string, std::string> parts;
  if (!rocksdb::StringToMap(text, &parts).ok()) return;
  for (const auto& [name, value] : parts) {
    const size_t dot = name.find('.');
    const std::string first = name.substr(0, dot);
    const bool of_blocks = first == "block_based_table_factory" || first == "table_factory";
    if (of_blocks && dot == std::string::npos) {
      SplitOptions(value, all);
    } else {
      all->emplace(of_blocks ? name.substr(dot + 1) : name, value);
    }
  }
}

// Returns the options of the database, of the default column family, which stands for all, and of
// its blocks in an OPTIONS file, which RocksDB or a user has written. The file has lines
// "name=value" under the names of their sections.
std::vector<std::pair<std::string, std::string>> ReadOptionsFile(const std::string& path) {
  std::vector<std::pair<std::string, std::string>> out;
  std::ifstream file(path);
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
  return out;
}

bool IsIn(const WrittenOptions& all, const std::string& name, const std::string& value) {
  const auto found = all.find(name);
  return found != all.end() && found->second == value;
}

// Adds options of `after`: those that `texts` names with another number, size or flag; with
// `named`, all that `texts` names; and those that `before` does not have with the same value.
void AddGiven(const OptionTexts& texts, bool named, const char* source,
              const WrittenOptions& before, const WrittenOptions& after,
              RocksdbGivenOptions* given) {
  for (const auto& [name, value] : after) {
    const auto text = texts.find(name);
    const bool has = text != texts.end(), replaced = has && IsAnotherValue(text->second, value);
    if (!replaced && !(has && named) && IsIn(before, name, value)) continue;
    (*given)[name] = {value, replaced ? text->second : "", source};
  }
}

}  // namespace

void CheckSanitized(const ExtraOptions& extra, const RocksdbGivenOptions& given,
                    Durability durability, const rocksdb::DBOptions& db,
                    const rocksdb::ColumnFamilyOptions& table) {
  CheckRecycling(durability, db);
  CheckWriteBack(extra, given, durability, db);
  CheckTriggers(extra, table);
}

std::vector<std::pair<std::string, std::string>> RocksdbOptionsInForce(rocksdb::DB* db) {
  std::string name;
  if (!rocksdb::GetLatestOptionsFileName(db->GetName(), db->GetEnv(), &name).ok()) return {};
  return ReadOptionsFile(db->GetName() + "/" + name);
}

std::string FirstDifference(const RocksdbOptions& one, const RocksdbOptions& other) {
  // RocksDB leaves out empty texts, so an option may be on one side alone.
  const WrittenOptions ones = WriteOut(one), others = WriteOut(other);
  std::string first;
  const auto compare = [&first](const WrittenOptions& from, const WrittenOptions& to) {
    for (const auto& [name, value] : from) {
      if (!IsIn(to, name, value) && (first.empty() || name < first)) first = name;
    }
  };
  compare(ones, others);
  compare(others, ones);
  return first;
}

void AddGivenFile(const std::string& path, const RocksdbOptions& read, RocksdbGivenOptions* given) {
  const WrittenOptions defaults = WriteOut(rocksdb::DBOptions(), rocksdb::ColumnFamilyOptions());
  OptionTexts texts;
  for (const auto& [name, text] : ReadOptionsFile(path)) texts.emplace(name, text);
  AddGiven(texts, false, " options_file", defaults, WriteOut(read), given);
}

void AddGivenText(const std::string& text, const RocksdbOptions& before, const RocksdbOptions& read,
                  RocksdbGivenOptions* given) {
  OptionTexts texts;
  SplitOptions(text, &texts);
  // A name may be one of several names of its option (memtable). So an option also counts as given
  // when its value has changed.
  AddGiven(texts, true, kSourceText, WriteOut(before), WriteOut(read), given);
}

void CheckRead(const RocksdbOptions& made) {
  if (made.given.empty()) return;
  const WrittenOptions wanted = WriteOut(made);
  for (const auto& [name, given] : made.given) {
    if (given.replaced.empty() || !IsIn(wanted, name, given.value)) continue;
    RefuseReplaced(name + "=" + given.replaced, given.source, given.value);
  }
}

void CheckInForce(const EngineOptions& options, const RocksdbOptions& made, rocksdb::DB* db) {
  if (options.extra.empty()) return;
  const rocksdb::Options opened = db->GetOptions();
  const WrittenOptions wanted = WriteOut(made), in_force = WriteOut(opened, opened);
  for (const auto& [name, given] : made.given) {
    if (!IsIn(wanted, name, given.value)) continue;  // another option of testbed's decided it
    const auto found = in_force.find(name);
    if (found == in_force.end() || found->second == given.value) continue;
    if (IsAutomatic(name, given.value)) continue;
    RefuseReplaced(name + "=" + given.value, given.source, found->second);
  }
  for (const OwnOption& option : kOwnOptions) {
    const auto own = options.extra.find(option.own);
    const auto asked = wanted.find(option.rocksdbs), found = in_force.find(option.rocksdbs);
    if (own == options.extra.end() || asked == wanted.end() || found == in_force.end()) continue;
    if (asked->second == found->second) continue;
    RefuseReplaced(std::string(option.own) + "=" + own->second, "", found->second);
  }
}

}  // namespace testbed

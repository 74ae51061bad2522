// RocksDB changes some options without an error, where it cannot honour them alone or together:
// when it reads them (options of blocks) and when it opens a database (SanitizeOptions in its
// sources).
//
// CheckSanitized refuses what testbed can tell before, in the words of testbed's own options. The
// others have no list of what RocksDB replaces: they compare RocksDB's own texts of what it read,
// of what it was opened with, and of what the open database runs with, so they hold in each
// release. What the user wrote is compared with what RocksDB read as numbers, sizes and flags; a
// text may be the same value in other words.
//
//   AddGivenText(text, before, options, &options.given);
//   ... options with names of testbed's own ...
//   CheckRead(options);                    // refuses what was replaced in reading
//   ... opening ...
//   CheckInForce(requested, options, db);  // refuses what was replaced in opening
#ifndef TESTBED_ENGINES_ROCKSDB_SANITIZED_OPTIONS_H_
#define TESTBED_ENGINES_ROCKSDB_SANITIZED_OPTIONS_H_

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engines/engine.h"
#include "engines/extra_options.h"

namespace testbed {

struct RocksdbOptions;  // engines/rocksdb/options.h

// An option that the user gave in RocksDB's own syntax.
struct RocksdbGivenOption {
  std::string value;        // what RocksDB has read, as it writes it
  std::string replaced;     // what the user wrote when that is another number, size or flag
  const char* source = "";  // the extra option that gave it, after a space
};
using RocksdbGivenOptions = std::map<std::string, RocksdbGivenOption>;  // by RocksDB's names

// Throws Error (kUsage) for a number of recycled logs, or a trigger of level 0, that RocksDB would
// replace by another one. `extra` are the options of which `db` and `table` were made.
void CheckSanitized(const ExtraOptions& extra, Durability durability, const rocksdb::DBOptions& db,
                    const rocksdb::ColumnFamilyOptions& table);

// Returns the options in the OPTIONS file of the open database, as RocksDB writes them: those that
// it runs with.
std::vector<std::pair<std::string, std::string>> RocksdbOptionsInForce(rocksdb::DB* db);

// Adds what the extra option `options_file` gives to *given: the options of `read`, made of that
// file alone, that are not RocksDB's defaults, and those that RocksDB has replaced in reading it. A
// file that RocksDB wrote has all options, and nobody chose the others.
void AddGivenFile(const std::string& path, const RocksdbOptions& read, RocksdbGivenOptions* given);

// Adds what the extra option `options` gives to *given: the options that `text` names, and those
// that are others in `read` than in `before`.
void AddGivenText(const std::string& text, const RocksdbOptions& before, const RocksdbOptions& read,
                  RocksdbGivenOptions* given);

// Throws Error (kUsage) for a number, size or flag that RocksDB has replaced in reading it. Another
// option of testbed's may have decided the option since; the user's value is none then.
void CheckRead(const RocksdbOptions& made);

// Throws Error (kUsage) when the database runs with another value than `made`, with which it was
// opened, has for an option that the user gave: in RocksDB's own syntax (made.given) or by an extra
// option of testbed's own. A value that asks RocksDB to choose one is never refused.
void CheckInForce(const EngineOptions& options, const RocksdbOptions& made, rocksdb::DB* db);

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_SANITIZED_OPTIONS_H_

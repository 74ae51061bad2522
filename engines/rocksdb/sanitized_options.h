// RocksDB changes some options without an error, where it cannot honour them alone or together:
// when it reads them (options of blocks) and when it opens a database (SanitizeOptions in its
// sources).
//
// CheckSanitized refuses those values of which testbed knows before the opening that RocksDB
// replaces them, in the words of testbed's own options. The other functions have no list of what
// RocksDB replaces. They compare RocksDB's own texts of the options: as it read them, as they were
// when it was opened, and as the open database has them. So these functions hold in each release.
// Numbers, sizes and flags that the user wrote are compared with what RocksDB read. Other texts are
// not compared, because a text may be the same value in other words.
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

// A RocksdbGivenOption is an option that the user gave in RocksDB's own syntax.
struct RocksdbGivenOption {
  std::string value;        // the value that RocksDB has read, as RocksDB writes it
  std::string replaced;     // what the user wrote, if RocksDB has read another value
  const char* source = "";  // a space and the extra option that gave it
};
using RocksdbGivenOptions = std::map<std::string, RocksdbGivenOption>;  // by RocksDB's names

// Throws Error (kUsage) for a number of recycled logs, or a trigger of level 0, that RocksDB would
// replace by another one, and for a distance of write-backs that it would keep without effect.
// `extra` and `given` are the options of which `db` and `table` were made.
void CheckSanitized(const ExtraOptions& extra, const RocksdbGivenOptions& given,
                    Durability durability, const rocksdb::DBOptions& db,
                    const rocksdb::ColumnFamilyOptions& table);

// Returns the options with which the open database runs: those in its OPTIONS file, as RocksDB
// writes them.
std::vector<std::pair<std::string, std::string>> RocksdbOptionsInForce(rocksdb::DB* db);

// Returns the first name, by the alphabet, of an option that has another value in `one` than in
// `other`, or that only one of them has; "" if there is none. Objects that RocksDB does not write
// out, such as caches, are not compared.
std::string FirstDifference(const RocksdbOptions& one, const RocksdbOptions& other);

// Adds what the extra option `options_file` gives to *given: the options of `read`, made of that
// file alone, that are not RocksDB's defaults, and those that RocksDB has replaced in reading it. A
// file that RocksDB wrote has all options, and nobody chose those that are defaults.
void AddGivenFile(const std::string& path, const RocksdbOptions& read, RocksdbGivenOptions* given);

// Adds what the extra option `options` gives to *given: the options that `text` names, and those
// that have other values in `read` than in `before`.
void AddGivenText(const std::string& text, const RocksdbOptions& before, const RocksdbOptions& read,
                  RocksdbGivenOptions* given);

// Throws Error (kUsage) for a number, size or flag that RocksDB has replaced in reading it. It
// passes over an option that another option of testbed's has decided since, because the user's
// value has no effect then.
void CheckRead(const RocksdbOptions& made);

// Throws Error (kUsage) when the database runs with another value than `made`, with which it was
// opened, for an option that the user gave, be it in RocksDB's own syntax (made.given) or by an
// extra option of testbed's own. A value that asks RocksDB to choose a value is never refused.
void CheckInForce(const EngineOptions& options, const RocksdbOptions& made, rocksdb::DB* db);

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_SANITIZED_OPTIONS_H_

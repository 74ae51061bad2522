// RocksDB changes some options when it opens a database, without an error, where it cannot honour
// them together (SanitizeOptions in its sources). CheckSanitized refuses values of testbed's own
// options that RocksDB would replace. CheckInForce refuses values of RocksDB's own syntax that the
// open database has replaced.
#ifndef TESTBED_ENGINES_ROCKSDB_SANITIZED_OPTIONS_H_
#define TESTBED_ENGINES_ROCKSDB_SANITIZED_OPTIONS_H_

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <string>
#include <utility>
#include <vector>

#include "engines/engine.h"
#include "engines/extra_options.h"

namespace testbed {

// Throws Error (kUsage) for a number of recycled logs, or a trigger of level 0, that RocksDB would
// replace by another one. `extra` are the options of which `db` and `table` were made.
void CheckSanitized(const ExtraOptions& extra, Durability durability, const rocksdb::DBOptions& db,
                    const rocksdb::ColumnFamilyOptions& table);

// Returns the options in the OPTIONS file of the open database, as RocksDB writes them: those that
// it runs with.
std::vector<std::pair<std::string, std::string>> RocksdbOptionsInForce(rocksdb::DB* db);

// Throws Error (kUsage) for a number, size or flag of the extra option `options` that is another
// one in `in_force`, the options that the database runs with.
void CheckInForce(const EngineOptions& options,
                  const std::vector<std::pair<std::string, std::string>>& in_force);

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_SANITIZED_OPTIONS_H_

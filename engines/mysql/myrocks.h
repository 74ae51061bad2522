// MyRocks is the storage engine of MariaDB that keeps tables in RocksDB. These functions are for a
// private server that keeps its tables in MyRocks (--engine mysql:rocksdb) and whose InnoDB is off.
//
// MyRocks has neither the generated columns of which engines/mysql/dialect.h makes indexes, nor
// HANDLER. It is a plugin of the server, which Debian has as a package of its own.
#ifndef TESTBED_ENGINES_MYSQL_MYROCKS_H_
#define TESTBED_ENGINES_MYSQL_MYROCKS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/account/operations.h"
#include "engines/engine.h"
#include "engines/extra_options.h"

namespace testbed::mysql::myrocks {

// This is the directory of RocksDB's files, in the server's directory.
inline constexpr std::string_view kDirectory = "#rocksdb";

// Returns the arguments of a private server. The cache is RocksDB's block cache. The memtables are
// memory in addition to it, as in the rocksdb engine. `program` is the path of the server, whose
// plugins are used unless the option `plugins` names their directory. Throws Error (kUsage) when
// the plugin is not installed, and for options that MyRocks does not have. An empty `program`
// stands for that of another machine, and the plugin is not looked for.
std::vector<std::string> Arguments(const EngineOptions& options, const ExtraOptions& extra,
                                   const std::string& program);
// Reads the plugin that these arguments name, if any, into memory.
void ReadCode(const std::vector<std::string>& arguments);
// These are the options of the server that the run's own options decide, as mariadb::ServerOptions
// takes them.
extern const std::vector<std::string_view> kOwnOptions;

// Returns the kind of a file in kDirectory by its name.
FileKind KindOfFile(std::string_view name);
// Returns the patterns of RocksDB's files in the server's directory, as EngineInfo::files has them.
std::vector<std::string> Files();
// Throws Error (kCorruption), which names the file, when `cluster`, the server's directory, has no
// database of RocksDB.
void CheckFilesThere(const std::string& cluster);
// Returns the size in bytes of the blocks with which the database in `cluster` was last opened;
// nothing when there is none.
std::optional<uint32_t> BlockSizeOf(const std::string& cluster);
// Syncs the logs in `cluster`, which the server has written. Throws Error (kIo). Thread-safe.
void SyncLogs(const std::string& cluster);

// Returns the counters that follow from `status`, the server's status, whose names are without
// "Rocksdb_".
EngineCounters Counters(const std::map<std::string, uint64_t>& status);

// Makes the server write its memtables, and waits until no compaction runs or is due. `ask` runs a
// statement and returns the first value of its answer.
void Settle(const std::function<std::string(const std::string&)>& ask);

}  // namespace testbed::mysql::myrocks

#endif  // TESTBED_ENGINES_MYSQL_MYROCKS_H_

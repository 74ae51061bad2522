// This header has the settings of MariaDB that two engines share: innodb, which has MariaDB in its
// process, and mysql, which speaks to a server. Runs of the two with the same options differ in
// nothing else.
//
// `engine` begins the sentences of errors. Functions throw Error (kUsage) for a value that an
// option does not accept.
#ifndef TESTBED_ENGINES_SQL_MARIADB_SETTINGS_H_
#define TESTBED_ENGINES_SQL_MARIADB_SETTINGS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/engine.h"
#include "engines/extra_options.h"

namespace testbed::mariadb {

// This is the length of the longest key, in bytes, at every page size. It is InnoDB's limit for an
// index column with 4k pages.
inline constexpr size_t kMaxKeySize = 768;
inline constexpr size_t kMaxValueSize = 16 << 20;

// By these settings of a session a statement outside of a transaction is a transaction of its own.
// Each connection sets them: a server may begin its sessions with others, which commit nothing by
// themselves, or begin the next transaction with each COMMIT. Such writes would then be lost.
inline constexpr char kCommitsOfSession[] = "autocommit = 1, completion_type = 0";

// Returns the value of innodb_flush_log_at_trx_commit that gives this durability.
int FlushLogAtCommit(Durability durability);

// Returns the size in bytes of the smallest buffer pool that InnoDB accepts.
uint64_t LeastPool(uint32_t page_size);

// CheckCache throws for a cache below `least` bytes. CheckFileAdvice throws for advice for files,
// because the server itself opens them.
void CheckCache(const std::string& engine, const EngineOptions& options, uint64_t least);
void CheckFileAdvice(const std::string& engine, const EngineOptions& options);

// Sizes are the sizes that have an --engine-option of their own.
struct Sizes {
  uint64_t log_file_size = 0, log_buffer_size = 0;  // bytes
  uint64_t io_capacity = 2000;                      // pages a second
  uint64_t lru_scan_depth = 1536;                   // number of pages that are kept free
  bool doublewrite = true;
};
Sizes MakeSizes(const EngineOptions& options, const ExtraOptions& extra);
// Returns the names and meanings of the engine options for Sizes, ServerOptions and
// conflict_wait_ms.
std::vector<std::pair<std::string, std::string>> SharedOptions();

// Returns the server's arguments "--name=value" that are the same in each run, whatever storage
// engine keeps the tables.
std::vector<std::string> GeneralArguments();
// Returns the GeneralArguments and the InnoDB arguments that follow from the options.
std::vector<std::string> SharedArguments(const EngineOptions& options, const Sizes& sizes);

// Turns `text`, the value "name=value;name=value" of --engine-option server_option, into arguments.
// Throws for options that the run's own options decide, and for those in `own`.
std::vector<std::string> ServerOptions(const std::string& engine, const std::string& text,
                                       std::span<const std::string_view> own);

// Without an error, a server takes the beginning of an option's name for the name, accepts words
// before it (skip, enable, disable, maximum), and replaces values that it does not accept. Throws
// Error (kUsage) for such a name or value in `given`, the arguments of ServerOptions, and when
// `given` has changed the run's own innodb_io_capacity. `arguments` are all arguments of the
// server, and `variables` what it has in force (SHOW GLOBAL VARIABLES).
void CheckServerOptions(const std::string& engine, const std::vector<std::string>& arguments,
                        const std::vector<std::string>& given,
                        const std::map<std::string, std::string>& variables);

// Returns the variables that effective settings have: those that begin with `prefix`, those that
// arguments name, and a few more. An option in `given` that is no variable of the server is listed,
// too, with a value that says so.
std::vector<std::pair<std::string, std::string>> ToldVariables(
    const std::map<std::string, std::string>& variables, std::string_view prefix,
    const std::vector<std::string>& arguments, const std::vector<std::string>& given);

// A DataFileIo says how a server reads and writes its data files, and which of its variables says
// so.
struct DataFileIo {
  std::string variable, value;
  bool is_direct = false;
};
// Returns the DataFileIo of a server with these variables. Up to MariaDB 10.11 innodb_flush_method
// decides it. From 11.0 on that variable only tells how the server was started, and another one,
// which can change while the server runs, is in force.
DataFileIo DataFileIoOf(const std::map<std::string, std::string>& variables);

// A PurgeState is what the server reports about its purge of old row versions.
struct PurgeState {
  uint64_t history = 0;     // Innodb_history_list_length
  uint64_t pages_read = 0;  // Innodb_pages_read, by all threads of the server
};
// This is longer than a pause of the purge, which the server wakes once a second, and later when
// the machine is busy.
inline constexpr std::chrono::milliseconds kPurgePatience(5000);
// After the purge has removed the last version, it still reads the headers of the 128 rollback
// segments (trx_purge_truncate_history). Only when the server has read no page for this time has it
// finished.
inline constexpr std::chrono::milliseconds kPurgeRest(100);
// Waits until the purge has removed all versions of rows that no transaction sees, and the server
// has read no page for `rest`. Also returns when the purge has made no progress for `patience`.
// `look` returns the present state.
void AwaitPurge(const std::function<PurgeState()>& look,
                std::chrono::milliseconds patience = kPurgePatience,
                std::chrono::milliseconds rest = kPurgeRest);

// Returns the counters that follow from InnoDB's status variables, named without "Innodb_".
EngineCounters BlockCounters(std::map<std::string, uint64_t>* status, uint64_t page_size);
// Adds the variables to the counters under their own names: those of `totals`, as far as the server
// has them, and the ones that rise and fall (EngineCounters::now).
void AddStatus(const std::map<std::string, uint64_t>& status,
               std::initializer_list<const char*> totals, EngineCounters* counters);

}  // namespace testbed::mariadb

#endif  // TESTBED_ENGINES_SQL_MARIADB_SETTINGS_H_

// This header has what a private server needs that is older than those of distributions
// (versions.h): other arguments, and another source for the state of its log.
#ifndef TESTBED_ENGINES_MYSQL_OLD_SERVER_H_
#define TESTBED_ENGINES_MYSQL_OLD_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engines/mysql/versions.h"
#include "engines/sql/mariadb_pages.h"

namespace testbed::mysql::old_server {

// This is the number of files that the log has before MariaDB 10.5. InnoDB 5.6 needs two at least.
inline constexpr int kLogFiles = 2;

// Returns the size in bytes of the smallest buffer pool that the version accepts.
uint64_t LeastPool(Version version, uint32_t page_size);

// Returns the longest value that the version accepts when the files of its log have `log_bytes`
// together: InnoDB 5.6 refuses a value that is longer than a tenth of the log. Sizes are in bytes.
size_t MaxValueSize(Version version, uint64_t log_bytes);

// Changes the arguments "--name=value" of the newest server to those of the version. A server that
// gets an option that it does not know ends. `pool_bytes` is the size of the buffer pool.
void FitArguments(Version version, uint64_t pool_bytes, std::vector<std::string>* arguments);

// Returns the number that follows `words` in `status`, the answer to SHOW ENGINE INNODB STATUS.
// Throws Error (kRun) when `status` does not have the words.
uint64_t ParseStatus(const std::string& status, const char* words);

using mariadb::Ask;

// Returns how many versions of rows wait for the purge. MariaDB 10.2.11 tells this in SHOW ENGINE
// INNODB STATUS alone.
uint64_t HistoryLength(const Ask& ask);

// Sets the log sequence numbers of *state. MariaDB 10.2.11 tells them in SHOW ENGINE INNODB STATUS
// alone.
void ReadLog(const Ask& ask, mariadb::PageState* state);

}  // namespace testbed::mysql::old_server

#endif  // TESTBED_ENGINES_MYSQL_OLD_SERVER_H_

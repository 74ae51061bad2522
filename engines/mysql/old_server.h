// What a private server needs that is older than those of distributions (versions.h): other
// arguments, and another way to have its pages written.
#ifndef TESTBED_ENGINES_MYSQL_OLD_SERVER_H_
#define TESTBED_ENGINES_MYSQL_OLD_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engines/mysql/versions.h"
#include "engines/sql/changed_variables.h"

namespace testbed::mysql::old_server {

// The number of files that the log has before MariaDB 10.5. InnoDB 5.6 has two at least.
inline constexpr int kLogFiles = 2;

// Returns the size in bytes of the smallest buffer pool that the version accepts.
uint64_t LeastPool(Version version, uint32_t page_size);

// Returns the longest value that the version accepts with logs of this size altogether: InnoDB 5.6
// refuses a value above a tenth of the log. Sizes are in bytes.
size_t MaxValueSize(Version version, uint64_t log_bytes);

// Changes the arguments "--name=value" of the newest server to those of the version: an option that
// a server does not know ends it. `pool_bytes` is the size of the buffer pool.
void FitArguments(Version version, uint64_t pool_bytes, std::vector<std::string>* arguments);

// Returns the number behind the words in the answer to SHOW ENGINE INNODB STATUS. Throws Error
// (kRun) when the answer does not have them.
uint64_t ParseStatus(const std::string& status, const char* words);

using mariadb::Ask;

// Returns how many versions of rows wait for the purge, which 10.2.11 tells in that answer alone.
uint64_t HistoryLength(const Ask& ask);

// Has the server write all pages that were changed before the call, and returns once its checkpoint
// lies behind these changes. Such a server has no statement for it: its page cleaner writes the
// pages when it may keep none, as many a second as innodb_io_capacity allows. Both variables have
// their values again when the function returns. Returns early when the run should end.
void WritePages(const Ask& ask);

}  // namespace testbed::mysql::old_server

#endif  // TESTBED_ENGINES_MYSQL_OLD_SERVER_H_

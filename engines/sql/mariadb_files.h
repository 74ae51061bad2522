// The files of a data directory of MariaDB, and functions that inspect it without a server. A
// server would write as soon as it runs, even if it then finds that a file is missing.
#ifndef TESTBED_ENGINES_SQL_MARIADB_FILES_H_
#define TESTBED_ENGINES_SQL_MARIADB_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/account/operations.h"

namespace testbed::mariadb {

inline constexpr char kTemporary[] = "tmp";  // directory of temporary files, in the data directory
// The beginning of the names of the binary log's files, in the data directory of a private server.
inline constexpr char kBinaryLog[] = "binlog";

// Returns the kind of a file, by its path in the data directory.
FileKind KindOf(const std::string& path);

// Returns the page size that the directory's InnoDB was made with; nothing when it has none.
std::optional<uint32_t> PageSizeOf(const std::string& directory);

// Returns the version, as 100200 for 10.2, from which on MariaDB writes a log as that of the
// directory; 0 when there is no log, or one of an unknown format.
unsigned LogVersionOf(const std::string& directory);

// Returns the files of the schemas in `directory`, relative to it, as in "testbed/default.ibd". A
// directory is a schema when it has the file that CREATE DATABASE makes. Throws Error (kIo) when
// the system does not tell.
std::vector<std::string> SchemaFiles(const std::string& directory);

// Throws Error (kCorruption), which names the file, when a file is missing that the existing tables
// need: InnoDB's system file or log, or one of the two files of a table. A table that was being
// made or changed when the server was ended may lack a file, as the server has yet to complete
// that. With `loaded` there must be a database, and so a system file. `log_files` is how many files
// the log has. Throws Error (kIo) when the system does not tell.
void CheckFilesThere(const std::string& directory, bool loaded, int log_files = 1);

}  // namespace testbed::mariadb

#endif  // TESTBED_ENGINES_SQL_MARIADB_FILES_H_

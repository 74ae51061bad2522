// This header has the names of the files in a data directory of MariaDB, and functions that inspect
// the directory without a server. A server would write as soon as it runs, even if it then finds
// that a file is missing.
#ifndef TESTBED_ENGINES_SQL_MARIADB_FILES_H_
#define TESTBED_ENGINES_SQL_MARIADB_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/account/operations.h"

namespace testbed::mariadb {

inline constexpr char kTemporary[] = "tmp";  // directory of temporary files, in the data directory
// The names of the binary log's files begin with this, in the data directory of a private server.
inline constexpr char kBinaryLog[] = "binlog";
// The names of a table's two files end with these: its rows, and its definition.
inline constexpr std::string_view kRowsEnd = ".ibd", kDefinitionEnd = ".frm";

// Returns the kind of a file, by its path in the data directory.
FileKind KindOf(const std::string& path);

// Returns the page size of the InnoDB in the directory; nothing when the directory has no InnoDB.
std::optional<uint32_t> PageSizeOf(const std::string& directory);

// Returns the first version of MariaDB that writes logs in the format of the directory's log, as
// 100200 for 10.2; 0 when there is no log, or a log of an unknown format.
unsigned LogVersionOf(const std::string& directory);

// Returns the files of the schemas in `directory`, relative to it, as in "testbed/default.ibd". A
// directory is a schema when it has the file that CREATE DATABASE makes. Throws Error (kIo) when
// the system does not tell.
std::vector<std::string> SchemaFiles(const std::string& directory);

// Throws Error (kCorruption), which names the file, when a file is missing that the existing tables
// need: InnoDB's system file or log, or one of the two files of a table. A table that was being
// made or changed when the server was ended may lack a file, because the server completes the
// change when it starts. With `loaded` there must be a database, and so a system file. `log_files`
// is how many files the log has. Throws Error (kIo) when the system does not tell.
void CheckFilesThere(const std::string& directory, bool loaded, int log_files = 1);

}  // namespace testbed::mariadb

#endif  // TESTBED_ENGINES_SQL_MARIADB_FILES_H_

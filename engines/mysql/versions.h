// The versions of MariaDB that servers have, and what differs between them.
//
// A run starts the MariaDB of the distribution, or one of the older servers whose programs
// tools/setup/fetch_mariadb.sh fetches: their InnoDB is 5.6 and 5.7, on which results were
// published.
//
//   if (const OldServer* old = FindOldServer("mariadb@10.1.23")) program = ProgramOf(*old);
#ifndef TESTBED_ENGINES_MYSQL_VERSIONS_H_
#define TESTBED_ENGINES_MYSQL_VERSIONS_H_

#include <string>
#include <string_view>
#include <vector>

namespace testbed::mysql {

// A version as a number: 100123 is 10.1.23.
using Version = unsigned;
// Stands for the version of the distribution's server, which nobody asked for.
inline constexpr Version kNewest = 999999;

// Versions from which on MariaDB has what their names say.
inline constexpr Version kInnodb57 = 100200;          // before it InnoDB is 5.6
inline constexpr Version kInvisibleColumns = 100300;  // columns that an index can cover
inline constexpr Version kOneLogFile = 100500;        // before it the log has several files
inline constexpr Version kAtomicTables = 100600;      // a table is made as a whole or not at all
inline constexpr Version kOldestVersion = 100100;     // the oldest that testbed works with

// Returns the first version in `text`, as in "10.1.23-MariaDB"; 0 when there is none.
Version ParseVersion(std::string_view text);
// Returns 10.1.23 for 100123.
std::string VersionName(Version version);

// OldServer is an older server than the distribution's.
struct OldServer {
  std::string name;     // as --server has it: mariadb@10.1.23
  std::string release;  // 10.1.23
  std::string from;     // the month in which it was released
  std::string innodb;   // which InnoDB it has
};
const std::vector<OldServer>& OldServers();
// Returns the server of that name, or the newest one of that major version (mariadb@10.1); null
// when there is none.
const OldServer* FindOldServer(std::string_view name);
// Returns the server that opens a database of the version, for sentences: mariadb@10.1.23 for
// 100100, mariadb for one that is not old.
std::string ServerFor(Version version);

// Returns the folder of the server's programs and files, whether or not it is there. It lies in the
// folder that the environment variable TESTBED_CACHE_DIR names, or else where the script fetched it
// to when testbed was built.
std::string FolderOf(const OldServer& server);
std::string ProgramOf(const OldServer& server);
// Returns the command that fetches the server.
std::string FetchCommand(const OldServer& server);

// Asks the program, once in a process, for its version. Throws Error (kUsage) when it is no server
// of MariaDB. Thread-safe.
Version VersionOfProgram(const std::string& program);

}  // namespace testbed::mysql

#endif  // TESTBED_ENGINES_MYSQL_VERSIONS_H_

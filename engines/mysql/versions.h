// This header has the versions of MariaDB, and what differs between them.
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

// A Version is a version as a number: 100123 is 10.1.23.
using Version = unsigned;
// kNewest stands for the version of a server that was not asked for it, as it may be on another
// machine.
inline constexpr Version kNewest = 999999;

// Each constant is the first version that has what its name says.
inline constexpr Version kInnodb57 = 100200;          // InnoDB is 5.6 before it
inline constexpr Version kInvisibleColumns = 100300;  // columns that an index can cover
inline constexpr Version kOneLogFile = 100500;        // the log has several files before it
inline constexpr Version kAtomicTables = 100600;      // a table is made as a whole or not at all
inline constexpr Version kOldestVersion = 100100;     // the oldest that testbed works with

// Returns the first version in `text`, such as 100123 in "10.1.23-MariaDB"; 0 when there is none.
Version ParseVersion(std::string_view text);
// Returns 10.1.23 for 100123.
std::string VersionName(Version version);

// OldServer is an older server than the distribution's.
struct OldServer {
  std::string name;     // name for --server: mariadb@10.1.23
  std::string release;  // 10.1.23
  std::string from;     // month of its release
  std::string innodb;   // version of its InnoDB
};
const std::vector<OldServer>& OldServers();
// Returns the server of that name, or the newest one of that major version (mariadb@10.1); null
// when there is none.
const OldServer* FindOldServer(std::string_view name);
// Returns the name of the server that opens a database of the version, for sentences:
// mariadb@10.1.23 for 100100, mariadb for a version that is not old.
std::string ServerFor(Version version);

// Returns the folder of the server's programs and files, whether or not it is there. It lies in the
// folder that the environment variable TESTBED_CACHE_DIR names, or else where the script fetched it
// to when testbed was built.
std::string FolderOf(const OldServer& server);
std::string ProgramOf(const OldServer& server);
// Returns the command that fetches the server.
std::string FetchCommand(const OldServer& server);

// Asks the program for its version, once in a process. Throws Error (kUsage), whose sentence begins
// with `what`, when the program is no server of MariaDB, or one older than kOldestVersion.
// Thread-safe.
Version VersionOfProgram(const std::string& program, const std::string& what);

}  // namespace testbed::mysql

#endif  // TESTBED_ENGINES_MYSQL_VERSIONS_H_

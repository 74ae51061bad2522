// The versions of PostgreSQL, the one home of what differs between them: names of settings and of
// files, arguments of initdb, and where a server has its statistics.
//
// A run starts a PostgreSQL that is installed, or a release whose programs
// tools/setup/fetch_postgres.sh fetches: from 9.6 on, the oldest that testbed works with.
//
//   if (const Release* release = FindRelease("18.6")) programs = ProgramsOf(*release);
//   FitConfiguration(version, &configuration);
#ifndef TESTBED_ENGINES_POSTGRES_VERSIONS_H_
#define TESTBED_ENGINES_POSTGRES_VERSIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace testbed::postgres {

// A version as a number, as the server has it in server_version_num: 90624 is 9.6.24, 150020 is
// 15.20.
using Version = int;

// Versions from which on PostgreSQL has what their names say.
inline constexpr Version kOldestVersion = 90600;            // the oldest that testbed works with
inline constexpr Version kPgWal = 100000;                   // before it pg_wal is named pg_xlog
inline constexpr Version kJit = 110000;                     // compilation, turned off by testbed
inline constexpr Version kSegmentSizes = 110000;            // before it a segment has 16 MiB
inline constexpr Version kOneCheckpointOfLog = 110000;      // before it the log of 2 checkpoints
inline constexpr Version kLongHashes = 110000;              // hashtextextended
inline constexpr Version kGeneratedColumns = 120000;        // columns that an index can cover
inline constexpr Version kSharedMemoryType = 120000;        // before it memory is mapped, too
inline constexpr Version kWalStatistics = 140000;           // pg_stat_wal
inline constexpr Version kFlushOfStatistics = 150000;       // pg_stat_force_next_flush
inline constexpr Version kCheckpointerStatistics = 170000;  // pg_stat_checkpointer
inline constexpr Version kCheckpointsDone = 180000;         // pg_stat_checkpointer.num_done
inline constexpr Version kIoMethods = 180000;               // io_method; no wal_sync in pg_stat_wal
inline constexpr Version kChecksumsByDefault = 180000;      // initdb turns checksums on unasked

// Returns the version in `text`, as in "postgres (PostgreSQL) 15.20 (Debian 15.20-0)" or "9.6.24";
// 0 when there is none.
Version ParseVersion(std::string_view text);
// Returns 9.6.24 for 90624, and 15.20 for 150020.
std::string VersionName(Version version);
// Returns the name of the versions that read each other's files: 9.6 for 90624, 15 for 150020.
std::string MajorName(Version version);

// A release that tools/setup/fetch_postgres.sh fetches.
struct Release {
  std::string name;  // 18.6; a run names it by --server postgres@18.6, or postgres@18
  std::string from;  // the month of its release
};
// Returns the releases, from the oldest to the newest; at most one of each major version.
const std::vector<Release>& Releases();
// Returns the release of that name, or the newest one of that major version ("18", "9.6"); null
// when there is none.
const Release* FindRelease(std::string_view name);
// Returns the names of these releases as --server takes them, with ", " between them.
std::string ReleaseNames();

// Returns the directory of the release's initdb and postgres, even when they are not there. It lies
// in the folder that the environment variable TESTBED_CACHE_DIR names. Without that variable it is
// in the script's folder of the user who built testbed, or in root's when only that has it.
std::string ProgramsOf(const Release& release);
// Returns the command that fetches the release.
std::string FetchCommand(const Release& release);
// Returns whether a directory has initdb and postgres.
bool HasPrograms(const std::string& dir);

// Asks the program postgres in the directory, once in a process, for its version. Throws Error
// (kUsage), which begins with `what`, when the program is missing, is not PostgreSQL, or is older
// than kOldestVersion. Thread-safe.
Version VersionOfPrograms(const std::string& dir, const std::string& what);

// Removes from *configuration the settings that a server of this version does not know. Each
// element is name=value.
void FitConfiguration(Version version, std::vector<std::string>* configuration);
// Returns by how much max_wal_size is larger than the log after which a checkpoint begins, at this
// checkpoint_completion_target (CalculateCheckpointSegments of PostgreSQL).
double MaxWalShare(Version version, double completion_target);
// Returns the arguments of initdb for segments of the log and checksums of pages.
std::vector<std::string> InitDbArguments(Version version, uint64_t wal_segment_size,
                                         bool checksums);

// These return the SQL of the server's statistics. WriteStatistics: buffers written by checkpoints,
// by the background writer and by sessions, and the number of checkpoints. LogStatistics: bytes,
// records and page images of the log, and where the server tells them, its syncs; empty when it
// tells nothing. FlushOfStatistics: makes it publish the counts of a session now, otherwise it does
// so once a second; empty when it cannot.
std::string WriteStatistics(Version version);
std::string LogStatistics(Version version);
std::string FlushOfStatistics(Version version);
// Returns an SQL expression for the server's hash of `text`: 64 bits from kLongHashes on, else 32.
std::string HashOf(Version version, const std::string& text);

}  // namespace testbed::postgres

#endif  // TESTBED_ENGINES_POSTGRES_VERSIONS_H_

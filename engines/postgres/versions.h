// This header has the versions of PostgreSQL, and is the only place for what differs between them:
// names of settings and of files, arguments of initdb, and where a server has its statistics.
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

// A Version is a version as a number, as the server has it in server_version_num: 90624 is 9.6.24,
// 150020 is 15.20.
using Version = int;

// Each constant is the first version that has what its name says.
inline constexpr Version kOldestVersion = 90600;  // the oldest that testbed works with
inline constexpr Version kPgWal = 100000;         // pg_wal is named pg_xlog before it
inline constexpr Version kJit = 110000;  // just-in-time compilation, which testbed turns off
inline constexpr Version kSegmentSizes = 110000;            // a segment has 16 MiB before it
inline constexpr Version kOneCheckpointOfLog = 110000;      // before it the log of 2 checkpoints
inline constexpr Version kLongHashes = 110000;              // hashtextextended exists
inline constexpr Version kGeneratedColumns = 120000;        // columns that an index can cover
inline constexpr Version kSharedMemoryType = 120000;        // memory is mapped before it
inline constexpr Version kWalStatistics = 140000;           // pg_stat_wal
inline constexpr Version kFlushOfStatistics = 150000;       // pg_stat_force_next_flush
inline constexpr Version kCheckpointerStatistics = 170000;  // pg_stat_checkpointer
inline constexpr Version kCheckpointsDone = 180000;         // pg_stat_checkpointer.num_done
inline constexpr Version kIoMethods = 180000;               // io_method; no wal_sync in pg_stat_wal
inline constexpr Version kChecksumsByDefault = 180000;      // initdb turns checksums on unasked

// Returns the version in `text`, which may be "postgres (PostgreSQL) 15.20 (Debian 15.20-0)" or
// "9.6.24"; 0 when there is none.
Version ParseVersion(std::string_view text);
// Returns the version as text: 9.6.24 for 90624, and 15.20 for 150020.
std::string VersionName(Version version);
// Returns the name of the versions that read each other's files: 9.6 for 90624, 15 for 150020.
std::string MajorName(Version version);

// A Release is a release of PostgreSQL that tools/setup/fetch_postgres.sh fetches.
struct Release {
  std::string name;  // 18.6; a run names it by --server postgres@18.6, or postgres@18
  std::string from;  // month of the release
};
// Returns the releases, from the oldest to the newest; at most one of each major version.
const std::vector<Release>& Releases();
// Returns the release of that name, or the newest one of that major version ("18", "9.6"); null
// when there is none.
const Release* FindRelease(std::string_view name);
// Returns the names of these releases as --server takes them, with ", " between them.
std::string ReleaseNames();

// Returns the directory of the release's initdb and postgres, even when they are not there. It lies
// in the folder that the environment variable TESTBED_CACHE_DIR names. Without that variable it
// lies in the script's folder of the user who built testbed, or in root's folder if only that has
// the release.
std::string ProgramsOf(const Release& release);
// Returns the command that fetches the release.
std::string FetchCommand(const Release& release);
// Returns whether a directory has initdb and postgres.
bool HasPrograms(const std::string& dir);

// Asks the program postgres in the directory for its version, once in a process. Throws Error
// (kUsage), whose sentence begins with `what`, when the program is missing, is not PostgreSQL, or
// is older than kOldestVersion. Thread-safe.
Version VersionOfPrograms(const std::string& dir, const std::string& what);

// Removes from *configuration the settings that a server of this version does not know. Each
// element is name=value.
void FitConfiguration(Version version, std::vector<std::string>* configuration);
// Returns the ratio of max_wal_size to the log after which a checkpoint begins, at this
// checkpoint_completion_target (CalculateCheckpointSegments of PostgreSQL).
double MaxWalShare(Version version, double completion_target);
// Returns the arguments of initdb that set the size of segments and the checksums of pages.
std::vector<std::string> InitDbArguments(Version version, uint64_t wal_segment_size,
                                         bool checksums);

// These functions return the SQL that asks for the server's statistics. WriteStatistics: buffers
// written by checkpoints, by the background writer and by all other processes, and the number of
// checkpoints. LogStatistics: bytes, records and page images of the log, and where the server tells
// them, its syncs; empty when it tells nothing. FlushOfStatistics: makes the server publish a
// session's counts now, which it otherwise does once a second; empty when it cannot.
std::string WriteStatistics(Version version);
std::string LogStatistics(Version version);
std::string FlushOfStatistics(Version version);
// Returns an SQL expression for the server's hash of `text`, which has 64 bits from kLongHashes on,
// and 32 before.
std::string HashOf(Version version, const std::string& text);

}  // namespace testbed::postgres

#endif  // TESTBED_ENGINES_POSTGRES_VERSIONS_H_

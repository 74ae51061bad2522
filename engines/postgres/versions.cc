#include "engines/postgres/versions.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <system_error>

#include "device/error.h"
#include "device/os/child_process.h"
#include "device/os/mutex.h"

namespace testbed::postgres {
namespace {

// This is where the script puts what root fetches. A server that root starts runs as another user,
// who may not enter root's home.
constexpr char kCacheOfRoot[] = "/var/cache/testbed";

// Returns the number at the beginning of `text`, and sets `text` to what follows the number.
// Returns -1 when there is no number, or one of more than two digits.
int TakeNumber(std::string_view* text) {
  int number = -1;
  const auto [rest, code] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (code != std::errc() || number < 0 || number > 99) return -1;
  text->remove_prefix(static_cast<size_t>(rest - text->data()));
  return number;
}

// Returns the next part of a version, which follows a point; -1 when there is none.
int TakePart(std::string_view* text) {
  if (!text->starts_with('.')) return -1;
  text->remove_prefix(1);
  return TakeNumber(text);
}

std::string FolderIn(const std::string& cache, const Release& release) {
  return std::filesystem::absolute(cache + "/postgres-" + release.name).string() + "/bin";
}

// Returns the name in a server option name=value.
std::string_view SettingOf(std::string_view option) { return option.substr(0, option.find('=')); }

}  // namespace

Version ParseVersion(std::string_view text) {
  constexpr std::string_view kProduct = "(PostgreSQL) ";
  if (const size_t at = text.find(kProduct); at != std::string_view::npos) {
    text.remove_prefix(at + kProduct.size());
  }
  const int first = TakeNumber(&text);
  // as in 19devel, 18beta1
  const bool is_early = first >= 10 && !text.empty() && text[0] >= 'a' && text[0] <= 'z';
  const int second = is_early ? 0 : TakePart(&text);
  if (first < 0 || second < 0) return 0;
  if (first >= 10) return first * 10000 + second;
  const int third = TakePart(&text);
  return third < 0 ? 0 : first * 10000 + second * 100 + third;
}

std::string VersionName(Version version) {
  if (version >= kPgWal) return fmt::format("{}.{}", version / 10000, version % 10000);
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string MajorName(Version version) {
  if (version >= kPgWal) return fmt::format("{}", version / 10000);
  return fmt::format("{}.{}", version / 10000, version / 100 % 100);
}

const std::vector<Release>& Releases() {
  static const std::vector<Release> releases = {
      {"9.6.24", "2021-11"}, {"10.23", "2022-11"}, {"12.22", "2024-11"}, {"14.24", "2026-08"},
      {"15.19", "2026-08"},  {"16.15", "2026-08"}, {"17.11", "2026-08"}, {"18.6", "2026-08"},
  };
  return releases;
}

const Release* FindRelease(std::string_view name) {
  const auto& all = Releases();
  const auto it = std::find_if(all.rbegin(), all.rend(), [&](const Release& release) {
    return release.name == name || MajorName(ParseVersion(release.name)) == name;
  });
  return it == all.rend() ? nullptr : &*it;
}

std::string ReleaseNames() {
  std::string names;
  for (const Release& release : Releases()) {
    names += (names.empty() ? "postgres@" : ", postgres@") + release.name;
  }
  return names;
}

std::string ProgramsOf(const Release& release) {
  const char* const given = std::getenv("TESTBED_CACHE_DIR");
  if (given != nullptr && *given != '\0') return FolderIn(given, release);
  const std::string built = FolderIn(TESTBED_POSTGRES_CACHE, release);
  const std::string of_root = FolderIn(kCacheOfRoot, release);
  return !HasPrograms(built) && HasPrograms(of_root) ? of_root : built;
}

std::string FetchCommand(const Release& release) {
  return "tools/setup/fetch_postgres.sh " + release.name;
}

bool HasPrograms(const std::string& dir) {
  return ::access((dir + "/initdb").c_str(), X_OK) == 0 &&
         ::access((dir + "/postgres").c_str(), X_OK) == 0;
}

Version VersionOfPrograms(const std::string& dir, const std::string& what) {
  static Mutex mutex;
  static std::map<std::string, Version> known;
  const LockGuard lock(mutex);
  if (const auto it = known.find(dir); it != known.end()) return it->second;
  std::string said;
  try {
    said = RunProgram({dir + "/postgres", "--version"});
  } catch (const Error& error) {
    said = error.what();
  }
  const bool is_one = said.find("(PostgreSQL)") != std::string::npos;
  const Version version = is_one ? ParseVersion(said) : 0;
  if (version == 0) {
    throw Error(Error::kUsage,
                fmt::format("{}it takes the directory that has PostgreSQL's initdb and postgres, "
                            "and to --version this postgres says: {}",
                            what, said.substr(0, said.find('\n'))));
  }
  if (version < kOldestVersion) {
    throw Error(Error::kUsage,
                fmt::format("{}it takes a PostgreSQL of version {} or later, and this one is {}",
                            what, MajorName(kOldestVersion), VersionName(version)));
  }
  known.emplace(dir, version);
  return version;
}

void FitConfiguration(Version version, std::vector<std::string>* configuration) {
  const auto remove = [configuration](std::string_view name) {
    std::erase_if(*configuration,
                  [name](const std::string& option) { return SettingOf(option) == name; });
  };
  if (version < kJit) remove("jit");
  if (version < kSharedMemoryType) remove("shared_memory_type");
  if (version < kIoMethods) remove("io_method");
}

// Before version 11 the server kept the log since the checkpoint before the last one.
double MaxWalShare(Version version, double completion_target) {
  return (version < kOneCheckpointOfLog ? 2 : 1) + completion_target;
}

std::vector<std::string> InitDbArguments(Version version, uint64_t wal_segment_size,
                                         bool checksums) {
  std::vector<std::string> words;
  if (version >= kSegmentSizes) {
    words.push_back(fmt::format("--wal-segsize={}", wal_segment_size >> 20));
  }
  if (checksums) words.emplace_back("--data-checksums");
  if (!checksums && version >= kChecksumsByDefault) words.emplace_back("--no-data-checksums");
  return words;
}

// Until version 16 buffers_backend has what all other processes wrote, workers of autovacuum among
// them. Later versions tell it by the kind of process.
std::string WriteStatistics(Version version) {
  if (version < kCheckpointerStatistics) {
    return "SELECT buffers_checkpoint, buffers_clean, buffers_backend, checkpoints_timed + "
           "checkpoints_req FROM pg_stat_bgwriter";
  }
  return fmt::format(
      "SELECT buffers_written, (SELECT buffers_clean FROM pg_stat_bgwriter), (SELECT "
      "sum(writes)::bigint FROM pg_stat_io WHERE backend_type NOT IN ('checkpointer', 'background "
      "writer') AND object = 'relation'), {} FROM pg_stat_checkpointer",
      version < kCheckpointsDone ? "num_timed + num_requested" : "num_done");
}

std::string LogStatistics(Version version) {
  if (version < kWalStatistics) return "";
  return version < kIoMethods ? "SELECT wal_bytes, wal_records, wal_fpi, wal_sync FROM pg_stat_wal"
                              : "SELECT wal_bytes, wal_records, wal_fpi FROM pg_stat_wal";
}

std::string FlushOfStatistics(Version version) {
  return version < kFlushOfStatistics ? "" : "SELECT pg_stat_force_next_flush()";
}

std::string HashOf(Version version, const std::string& text) {
  return version < kLongHashes ? fmt::format("hashtext('{}')", text)
                               : fmt::format("hashtextextended('{}', 0)", text);
}

}  // namespace testbed::postgres

#include "engines/postgres/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "device/error.h"
#include "engines/extra_options.h"
#include "engines/log_settings.h"
#include "engines/postgres/target.h"
#include "engines/postgres/versions.h"
#include "engines/sql/server_options.h"

namespace testbed::postgres {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kKiB = 1 << 10, kMiB = 1 << 20;
constexpr uint64_t kLeastBuffers = 2 * kMiB;

// These server options are refused: the run's own options decide them, or they would move the
// server's files or let other users in.
constexpr std::string_view kOwn[] = {"shared_buffers",
                                     "data_directory",
                                     "config_file",
                                     "hba_file",
                                     "ident_file",
                                     "listen_addresses",
                                     "unix_socket_directories",
                                     "port",
                                     "synchronous_commit",
                                     "fsync",
                                     "debug_io_direct",
                                     "wal_writer_delay",
                                     "external_pid_file",
                                     "logging_collector",
                                     "log_directory",
                                     "shared_memory_type",
                                     "dynamic_shared_memory_type",
                                     "full_page_writes",
                                     "max_wal_size",
                                     "autovacuum",
                                     "archive_command",
                                     "archive_library",
                                     "shared_preload_libraries"};

// Each session sets these settings itself (SessionSetup), so that they would be without effect on
// the server. Each statement has one sensible plan, by the primary key or the index. With these
// settings the server chooses it, whatever its statistics say about a table that was empty a moment
// ago.
constexpr std::pair<std::string_view, std::string_view> kOfSessions[] = {
    {"enable_seqscan", "off"},
    {"enable_bitmapscan", "off"},
    {"enable_sort", "off"},
    {"max_parallel_workers_per_gather", "0"},
    {"default_transaction_isolation", "'read committed'"},
    {"client_min_messages", "error"}};
// Before PostgreSQL 12 this setting does not exist: the server then plans a statement five times
// and more.
constexpr std::string_view kPlanOnce = "plan_cache_mode";

[[noreturn]] void Refuse(const std::string& option, const std::string& value,
                         const std::string& why) {
  RefuseEngineOption("postgres", option, value, why);
}

// Returns the options for the server that server_option has, with the names that PostgreSQL gives
// them. Throws Error (kUsage) as ParseServerOptions does.
std::vector<std::string> ServerOptions(const std::string& text) {
  return ParseServerOptions(
      "postgres", text, '_',
      "it takes NAME=VALUE of the server's configuration, such as bgwriter_delay=10ms",
      [](std::string_view name) {
        return std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn) ||
               name == kPlanOnce ||
               std::any_of(std::begin(kOfSessions), std::end(kOfSessions),
                           [name](const auto& setting) { return setting.first == name; });
      });
}

// Only a private server can honour these options.
constexpr const char* kOfPrivateServer[] = {
    "server",           "programs",   "checksums",    "wal_segment_size", "checkpoint_log_bytes",
    "full_page_writes", "autovacuum", "server_option"};

// Returns whether the text is a major version as packages name it, such as 15 or 9.6.
bool IsMajor(const std::string& version) {
  const bool digits =
      !version.empty() && version.find_first_not_of("0123456789") == std::string::npos;
  return (digits && version.size() <= 4) || version == MajorName(kOldestVersion);
}

// Throws Error (kUsage) for a version whose programs are not on this machine. `release` is the
// release that could be fetched, or null.
[[noreturn]] void RefuseMissing(const std::string& version, const Release* release) {
  if (release != nullptr && release->name == version) {
    throw Error(Error::kUsage,
                fmt::format("PostgreSQL {} is not here: `{}` fetches it once, or give "
                            "--engine-option programs=DIR without --server",
                            version, FetchCommand(*release)));
  }
  throw Error(
      Error::kUsage,
      fmt::format("postgres starts a server for the run, and PostgreSQL{} is not installed: "
                  "{}apt-get install postgresql{}, or give --connect URL or "
                  "--engine-option programs=DIR",
                  version.empty() ? "" : " " + version,
                  release == nullptr ? "" : "`" + FetchCommand(*release) + "` fetches it once, or ",
                  version.empty() ? "" : "-" + version));
}

// Returns the version that the option `server` names, such as 15 or 18.6, and an empty string for
// the newest version that is installed. Throws Error (kUsage) for another name.
std::string ServerVersion(const std::string& server) {
  constexpr std::string_view kVersioned = "postgres@";
  if (server == "postgres") return "";
  const std::string version =
      server.starts_with(kVersioned) ? server.substr(kVersioned.size()) : "";
  if (!IsMajor(version) && FindRelease(version) == nullptr) {
    Refuse("server", server,
           "it accepts postgres and postgres@VERSION with a major version, such as postgres@15, or "
           "a release that can be fetched: " +
               ReleaseNames());
  }
  return version;
}

// A Place says which machine the settings are for. The server's programs are looked for on this
// machine alone. Settings for any machine have no programs, and the version of VersionOfName.
enum class Place { kThisMachine, kAnyMachine };

// Returns the version that `named`, the value of the option `server`, stands for: the version of
// the release of that name, or else the first version of that major version. For a value that tells
// no version, returns the version of the newest release.
Version VersionOfName(const std::string& named) {
  const Release* const release = FindRelease(named);
  const Version version = ParseVersion(release != nullptr ? release->name : named + ".0");
  return version != 0 ? version : ParseVersion(Releases().back().name);
}

// Returns the directory of the programs that the options select, and sets `version`. A release is
// named in full. A major version stands for the installed version, or else for its release that was
// fetched.
std::string Programs(const EngineOptions& options, const ExtraOptions& extra, Place place,
                     Version* version) {
  const bool has_server = extra.Has("server");
  const std::string named = has_server ? ServerVersion(options.extra.at("server")) : "";
  const Release* const release = FindRelease(named);
  if (extra.Has("programs")) {
    const std::string& dir = options.extra.at("programs");
    if (release != nullptr && release->name == named) {
      Refuse("programs", dir,
             fmt::format("server postgres@{} names the programs; give one of them", named));
    }
    const bool is_path = dir.starts_with('/');
    if (is_path && place == Place::kAnyMachine) {
      *version = VersionOfName("");
      return "";
    }
    if (!is_path || !HasPrograms(dir)) {
      Refuse("programs", dir, "it takes the directory that has PostgreSQL's initdb and postgres");
    }
    *version = VersionOfPrograms(
        dir, fmt::format("postgres cannot honour --engine-option programs={}: ", dir));
    return dir;
  }
  if (place == Place::kAnyMachine) {
    *version = VersionOfName(named);
    return "";
  }
  std::string found = FindPrograms(named);
  if (found.empty() && release != nullptr && HasPrograms(ProgramsOf(*release))) {
    found = ProgramsOf(*release);
  }
  if (found.empty()) RefuseMissing(named, release);
  *version = VersionOfPrograms(found, fmt::format("postgres cannot start {}/postgres: ", found));
  return found;
}

std::string Kilobytes(uint64_t bytes) { return fmt::format("{}kB", bytes / kKiB); }

// Returns the value of `name` among options of the server; 0 when it is not among them.
double NumberOf(const std::vector<std::string>& server, std::string_view name) {
  double number = 0;
  for (const std::string& option : server) {
    const size_t equals = option.find('=');
    if (option.substr(0, equals) != name) continue;
    number = std::strtod(option.c_str() + equals + 1, nullptr);
  }
  return number;
}

// Returns the max_wal_size with which the server begins a checkpoint after `distance` bytes of log.
// The server begins a checkpoint at max_wal_size / `share` (MaxWalShare), in whole segments, so
// that the log is within max_wal_size when that checkpoint ends.
uint64_t MaxWalSize(uint64_t distance, uint64_t segment, double share) {
  const double segments = static_cast<double>(std::max<uint64_t>(distance / segment, 2));
  return static_cast<uint64_t>(std::ceil(segments * share)) * segment;
}

// Returns the configuration of a private server. It follows from the memory of the run, and from
// what PostgreSQL's documentation and consultants recommend for a machine that does nothing else.
std::vector<std::string> Configuration(const EngineOptions& options, const ExtraOptions& extra,
                                       const Settings& settings) {
  const uint64_t ram = options.ram_bytes != 0 ? options.ram_bytes : 4 * options.cache_bytes;
  // The engine makes lazy commits durable by its own clock (device/log/lazy_pace.h), as in every
  // engine. So the WAL writer, which writes the log of such commits, syncs as seldom as it can: by
  // the server's own rule a commit would wait for three rounds of the WAL writer, each with a sync.
  const bool sync = options.durability == Durability::kSync;
  std::vector<std::string> all;
  const auto add = [&](const char* name, const auto& value) {
    all.push_back(fmt::format("{}={}", name, value));
  };
  add("shared_buffers", Kilobytes(options.cache_bytes / kPageSize * kPageSize));
  add("effective_cache_size", Kilobytes(std::max(ram, kMiB)));
  add("work_mem", Kilobytes(std::clamp(ram / 64, kMiB, 4 * kMiB)));
  add("maintenance_work_mem", Kilobytes(std::clamp(ram / 16, kMiB, 1024 * kMiB)));
  const uint64_t distance = settings.checkpoint_log_bytes, segment = settings.wal_segment_size;
  // The server does not start with less than two segments.
  add("min_wal_size", fmt::format("{}MB", std::max({distance / 4, 2 * segment, 32 * kMiB}) / kMiB));
  add("checkpoint_timeout", "1h");  // the log's size bounds a recovery, as for other engines
  add("checkpoint_completion_target", "0.9");
  add("full_page_writes", extra.Flag("full_page_writes", true) ? "on" : "off");
  add("autovacuum", extra.Flag("autovacuum", true) ? "on" : "off");
  add("wal_level", "minimal");
  add("max_wal_senders", 0);
  add("wal_writer_delay", sync ? "200ms" : "10s");
  add("wal_writer_flush_after", "128MB");
  add("random_page_cost", "1.1");
  add("deadlock_timeout", "50ms");
  // Features that the run does not use get little memory.
  add("max_connections", 200);
  add("max_locks_per_transaction", 32);
  add("max_pred_locks_per_transaction", 10);
  add("jit", "off");
  add("huge_pages", "off");
  // The shared memory ends with the server, and its files are in the server's directory.
  add("shared_memory_type", "mmap");
  add("dynamic_shared_memory_type", "mmap");
  // A session reads its blocks itself, so that each is charged to the operation that waits for it.
  // By the default, io_method=worker, other processes would read the blocks of scans.
  add("io_method", "sync");
  add("listen_addresses", "");
  add("unix_socket_directories", ".");
  add("unix_socket_permissions", "0700");
  add("restart_after_crash", "off");
  add("log_checkpoints", "off");
  add("log_line_prefix", "");
  FitConfiguration(settings.version, &all);  // the server itself refuses unknown names of the user
  if (extra.Has("server_option")) {
    for (std::string& option : ServerOptions(options.extra.at("server_option"))) {
      all.push_back(std::move(option));
    }
  }
  const uint64_t max_wal_size =
      MaxWalSize(distance, segment,
                 MaxWalShare(settings.version, NumberOf(all, "checkpoint_completion_target")));
  add("max_wal_size", fmt::format("{}MB", max_wal_size / kMiB));
  return all;
}

}  // namespace

std::string FindPrograms(const std::string& version) {
  double newest = -1;
  std::string found;
  const auto look = [&](const std::string& under, const std::string& prefix) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(under, error)) {
      const std::string name = entry.path().filename();
      if (!name.starts_with(prefix)) continue;
      const std::string its = name.substr(prefix.size());
      const std::string dir = entry.path().string() + "/bin";
      const double number = std::atof(its.c_str());
      if (number <= newest || (!version.empty() && its != version) || !HasPrograms(dir)) continue;
      newest = number;
      found = dir;
    }
  };
  look("/usr/lib/postgresql", "");  // path in Debian
  look("/usr", "pgsql-");           // path in PostgreSQL's own packages
  if (found.empty() && version.empty() && HasPrograms("/usr/local/pgsql/bin")) {
    found = "/usr/local/pgsql/bin";
  }
  return found;
}

namespace {

Settings MakeSettingsFor(const EngineOptions& options, Place place) {
  const ExtraOptions extra("postgres", options.extra);
  Settings s;
  s.durability = options.durability;
  s.lazy_interval_ms = options.lazy_interval_ms;
  s.create = options.create;
  s.replace = options.replace;
  s.guest_of = options.guest_of;
  s.conflict_wait_ms = ConflictWaitOption(extra);
  s.schema = SchemaOption(
      "postgres", options, [](const std::string& schema) { return schema.starts_with("pg_"); },
      ", not pg_...");
  if (options.file_advice != Advice::kNormal) {
    throw Error(Error::kUsage,
                fmt::format("postgres opens its files itself and cannot honour file advice {}; it "
                            "accepts normal (--readahead sets the whole device)",
                            AdviceName(options.file_advice)));
  }
  if (extra.Has("connect")) {
    s.targets = ParseTargets(options.extra.at("connect"));
    s.goes_on = LostAddressOption("postgres", options, s.targets.size());
    RefuseBesideConnect("postgres", options, kOfPrivateServer);
    return s;
  }
  (void)LostAddressOption("postgres", options, 0);
  if (options.cache_bytes < kLeastBuffers) {
    throw Error(
        Error::kUsage,
        fmt::format("postgres needs a cache of {} bytes at least, not {}: give more --ram or "
                    "a larger --cache-pct",
                    kLeastBuffers, options.cache_bytes));
  }
  s.checksums = extra.Flag("checksums", true);
  s.wal_segment_size = extra.Bytes("wal_segment_size", 16 * kMiB, kMiB, 1024 * kMiB);
  s.checkpoint_log_bytes =
      extra.Bytes("checkpoint_log_bytes", CheckpointLogBytes(options), 32 * kMiB, 1ull << 40);
  if ((s.wal_segment_size & (s.wal_segment_size - 1)) != 0 ||
      s.wal_segment_size > s.checkpoint_log_bytes / 2) {
    Refuse("wal_segment_size", fmt::format("{}", s.wal_segment_size),
           "it takes a power of two from 1M to half of checkpoint_log_bytes");
  }
  s.programs = Programs(options, extra, place, &s.version);
  if (s.version < kSegmentSizes && s.wal_segment_size != 16 * kMiB) {
    Refuse("wal_segment_size", fmt::format("{}", s.wal_segment_size),
           fmt::format("PostgreSQL {} has segments of 16M", VersionName(s.version)));
  }
  s.server = Configuration(options, extra, s);
  return s;
}

}  // namespace

Settings MakeSettings(const EngineOptions& options) {
  return MakeSettingsFor(options, Place::kThisMachine);
}

void CheckSettings(const EngineOptions& options) {
  (void)MakeSettingsFor(options, Place::kAnyMachine);
}

std::string SessionSetup(const Settings& s) {
  std::string setup;
  for (const auto& [name, value] : kOfSessions) setup += fmt::format("SET {} = {}; ", name, value);
  // A server may end idle sessions, from PostgreSQL 14 on. One idle session holds the schema's
  // lock, and another syncs lazy commits.
  setup += fmt::format(
      "SET synchronous_commit = {}; SELECT set_config(name, CASE name WHEN '{}' THEN "
      "'force_generic_plan' ELSE '0' END, false) FROM pg_settings WHERE name IN ('{}', "
      "'idle_session_timeout')",
      s.durability == Durability::kSync ? "on" : "off", kPlanOnce, kPlanOnce);
  return setup;
}

Capabilities PostgresCapabilities() {
  Capabilities can;
  can.io_modes = {IoMode::kBuffered};
  can.durabilities = {Durability::kSync, Durability::kLazy, Durability::kNone};
  can.compressions = {"none"};
  can.min_page_size = can.max_page_size = kPageSize;
  can.max_key_size = kMaxKeySize;
  can.max_value_size = kMaxValueSize;
  can.min_cache_bytes = kLeastBuffers;
  can.most_cache_pct = 60;
  can.indexes = true;
  can.file_layer = false;
  can.server = true;
  can.thread_names = {"postgres"};  // all processes of the server have this name
  can.extra_options = {
      {"connect",
       "URL of a server that runs already, postgresql://user@host:port/database, or of a primary "
       "and its replicas, postgresql://user@host:port,host:port/database; the password comes from "
       "PGPASSWORD or ~/.pgpass"},
      {"server",
       "postgres, postgres@VERSION: the server that the run starts, one that is installed (the "
       "newest) or that tools/setup/fetch_postgres.sh has fetched"},
      {"programs", "directory of the initdb and postgres that the run starts (Debian's)"},
      {"schema", "schema that the tables are in (testbed)"},
      {"checksums", "on, off: pages carry checksums (on)"},
      {"full_page_writes",
       "on, off: the first change of a page after a checkpoint logs the whole page (on)"},
      {"checkpoint_log_bytes",
       "bytes of log after which a checkpoint begins; max_wal_size follows (--ram, 64M to 2G)"},
      {"wal_segment_size", "bytes of a log file, a power of two (16M)"},
      {"autovacuum", "on, off: the server collects dead rows by itself (on)"},
      {"server_option",
       "NAME=VALUE of the server's configuration; may be given again, or NAME=VALUE;NAME=VALUE"},
      ConflictWaitMeaning("a transaction is repeated after deadlocks"),
      LostAddressMeaning(),
  };
  return can;
}

}  // namespace testbed::postgres

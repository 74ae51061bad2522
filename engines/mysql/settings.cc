#include "engines/mysql/settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "device/error.h"
#include "device/os/child_process.h"
#include "engines/extra_options.h"
#include "engines/mysql/myrocks.h"
#include "engines/mysql/old_server.h"
#include "engines/mysql/url.h"
#include "engines/sql/mariadb_files.h"
#include "engines/sql/mariadb_settings.h"
#include "engines/sql/server_options.h"

namespace testbed::mysql {
namespace {

// These are server options that mariadb::ServerOptions does not refuse by itself. The run sets
// them, or they would let other users in.
constexpr std::string_view kOwn[] = {"socket",
                                     "port",
                                     "bind-address",
                                     "skip-networking",
                                     "user",
                                     "pid-file",
                                     "log-error",
                                     "thread-handling",
                                     "basedir",
                                     "innodb-log-files-in-group",
                                     "innodb-file-format",
                                     "innodb-large-prefix"};

// Only a private server can honour these options.
constexpr const char* kOfPrivateServer[] = {
    "server",      "program",           "log_file_size",  "log_buffer_size",
    "doublewrite", "io_capacity",       "lru_scan_depth", "server_option",
    "plugins",     "write_buffer_size", "binlog"};

[[noreturn]] void Refuse(const std::string& option, const std::string& value,
                         const std::string& why) {
  RefuseEngineOption("mysql", option, value, why);
}

// Returns the ConnectOptions for each address of the URL.
std::vector<ConnectOptions> TargetsOf(const std::string& url) {
  std::vector<ConnectOptions> targets;
  for (UrlAddress& address : ParseUrl(url)) {
    ConnectOptions& target = targets.emplace_back();
    target.host = std::move(address.host);
    target.user = std::move(address.user);
    target.socket = std::move(address.socket);
    target.port = address.port;
    target.tls = address.tls;
    target.address = address.name;
    target.shown = "the server at " + address.name;
  }
  return targets;
}

// A Place says which machine the settings are for. The server's program is looked for on this
// machine alone. Settings for any machine have no program, and their version is the one that the
// option `server` names, or else the newest.
enum class Place { kThisMachine, kAnyMachine };

// Makes the settings use `server`, which tools/setup/fetch_mariadb.sh fetches.
void TakeOldServer(const OldServer& server, Place place, Settings* settings) {
  settings->version = ParseVersion(server.release);
  if (place == Place::kAnyMachine) return;
  settings->program = ProgramOf(server);
  settings->base = FolderOf(server);
  if (::access(settings->program.c_str(), X_OK) == 0) return;
  throw Error(Error::kUsage,
              fmt::format("MariaDB {} is not here: `{}` fetches it once, or give --engine-option "
                          "program=PATH without --server",
                          server.release, FetchCommand(server)));
}

// Makes the settings use the program at `path`, which the option `program` names.
void TakeProgram(const std::string& path, Place place, Settings* settings) {
  const bool is_path = path.starts_with('/');
  if (is_path && place == Place::kAnyMachine) return;
  if (!is_path || ::access(path.c_str(), X_OK) != 0) {
    Refuse("program", path, "it takes the path of a mariadbd");
  }
  settings->program = path;
  settings->version =
      VersionOfProgram(path, fmt::format("mysql cannot honour --engine-option program={}: ", path));
  // A program in another place than the one compiled into it does not find the files of its error
  // messages by itself.
  const std::string base = std::filesystem::path(path).parent_path().parent_path();
  std::error_code error;
  if (std::filesystem::exists(base + "/share/english/errmsg.sys", error)) settings->base = base;
}

// Makes the settings use the server that the user has chosen by an option: `server`, `program` or
// `connect`.
void TakeServer(const EngineOptions& options, const ExtraOptions& extra, const std::string& server,
                Place place, Settings* settings) {
  const OldServer* const old = FindOldServer(server);
  if (extra.Has("program")) {
    const std::string& path = options.extra.at("program");
    if (old != nullptr) {
      Refuse("program", path, fmt::format("server {} sets the program; give one of them", server));
    }
    return TakeProgram(path, place, settings);
  }
  if (old != nullptr) return TakeOldServer(*old, place, settings);
  if (place == Place::kAnyMachine) return;
  const std::optional<std::string> found = FindProgram("mariadbd");
  if (!found) {
    throw Error(Error::kUsage,
                "mysql starts a server for the run, and MariaDB is not installed: apt-get install "
                "mariadb-server-core, or give --connect URL or --engine-option program=PATH");
  }
  settings->program = *found;
  settings->version = VersionOfProgram(*found, fmt::format("mysql cannot start {}: ", *found));
}

// Returns the arguments for a server that keeps its tables in InnoDB.
std::vector<std::string> InnodbArguments(const EngineOptions& options, const ExtraOptions& extra,
                                         Settings* settings) {
  for (const char* of_myrocks : {"plugins", "write_buffer_size"}) {
    if (!extra.Has(of_myrocks)) continue;
    Refuse(of_myrocks, options.extra.at(of_myrocks), "it is an option of --engine mysql:rocksdb");
  }
  const mariadb::Sizes sizes = mariadb::MakeSizes(options, extra);
  settings->max_value_size = old_server::MaxValueSize(settings->version, sizes.log_file_size);
  std::vector<std::string> all = mariadb::SharedArguments(options, sizes);
  for (const char* fixed :
       {"innodb-read-ahead-threshold=0", "innodb-random-read-ahead=0", "innodb-flush-neighbors=0",
        "innodb-adaptive-hash-index=0", "loose-innodb-change-buffering=none"}) {
    all.push_back(std::string("--") + fixed);
  }
  old_server::FitArguments(settings->version, options.cache_bytes, &all);
  return all;
}

// Adds the arguments for a binary log. After a power cut the server rolls back what the binary log
// lacks. So the binary log is synced at each commit, unless nothing is to be durable.
void AddBinaryLog(Durability durability, std::vector<std::string>* all) {
  all->push_back(fmt::format("--log-bin={}", mariadb::kBinaryLog));
  all->push_back(fmt::format("--sync-binlog={}", durability == Durability::kNone ? 0 : 1));
  // Under READ COMMITTED the server cannot log changes as statements.
  for (const char* fixed : {"binlog-format=ROW", "server-id=1"}) {
    all->push_back(std::string("--") + fixed);
  }
}

// Returns the arguments of a private server. Also sets those settings that follow from the
// arguments.
std::vector<std::string> Arguments(const EngineOptions& options, const ExtraOptions& extra,
                                   Settings* settings) {
  const bool innodb = settings->storage == Storage::kInnodb;
  std::vector<std::string> all = innodb ? InnodbArguments(options, extra, settings)
                                        : myrocks::Arguments(options, extra, settings->program);
  for (const char* fixed :
       {// Each connection has a thread of its own, to which its work is charged.
        "thread-handling=one-thread-per-connection", "skip-networking=1", "skip-name-resolve=1",
        "performance-schema=0", "max-connections=500"}) {
    all.push_back(std::string("--") + fixed);
  }
  settings->has_binary_log = extra.Flag("binlog", false);
  if (settings->has_binary_log) {
    AddBinaryLog(options.durability, &all);
  } else {
    all.emplace_back("--skip-log-bin=1");
  }
  if (extra.Has("server_option")) {
    std::vector<std::string_view> own(std::begin(kOwn), std::end(kOwn));
    own.insert(own.end(), myrocks::kOwnOptions.begin(), myrocks::kOwnOptions.end());
    settings->server_options =
        mariadb::ServerOptions("mysql", options.extra.at("server_option"), own);
    all.insert(all.end(), settings->server_options.begin(), settings->server_options.end());
  }
  return all;
}

// Returns the server that the run starts, by its full name: mariadb@10.1.23 for mariadb@10.1.
std::string ServerOption(const EngineOptions& options, const ExtraOptions& extra) {
  if (extra.Has("server")) {
    const OldServer* const old = FindOldServer(options.extra.at("server"));
    if (old != nullptr) return old->name;
  }
  return extra.Choice("server", "mariadb", ServerNames());
}

Settings MakeSettingsFor(const EngineOptions& options, Place place) {
  const ExtraOptions extra("mysql", options.extra);
  Settings s;
  s.io = options.io;
  s.durability = options.durability;
  s.page_size = options.page_size;
  s.lazy_interval_ms = options.lazy_interval_ms;
  s.create = options.create;
  s.replace = options.replace;
  s.guest_of = options.guest_of;
  s.access = extra.Choice("access", Access::kPrepared,
                          {Access::kPrepared, Access::kSelect, Access::kHandler, Access::kBatched},
                          AccessName);
  s.conflict_wait_ms = ConflictWaitOption(extra);
  s.schema = SchemaOption(
      "mysql", options,
      [](const std::string& schema) {
        return schema == "mysql" || schema == "sys" || schema.ends_with("_schema");
      },
      ", not mysql, sys or ..._schema");
  mariadb::CheckFileAdvice("mysql", options);
  constexpr char kCheckpointWait[] = "checkpoint_wait_s";
  s.checkpoint_wait_s = static_cast<uint32_t>(extra.Integer(kCheckpointWait, 600, 1, 1000000));
  if (extra.Has("connect")) {
    s.is_private = false;
    s.targets = TargetsOf(options.extra.at("connect"));
    s.goes_on = LostAddressOption("mysql", options, s.targets.size());
    RefuseBesideConnect("mysql", options, kOfPrivateServer);
    return s;
  }
  (void)LostAddressOption("mysql", options, 0);
  if (extra.Has(kCheckpointWait)) {
    Refuse(kCheckpointWait, options.extra.at(kCheckpointWait),
           "it is an option for a server that runs already (connect)");
  }
  const std::string server = ServerOption(options, extra);
  if (server == "rocksdb") {
    s.storage = Storage::kRocksdb;
    if (s.access == Access::kHandler) {
      Refuse("access", "handler", "MyRocks has no HANDLER; it accepts prepared, select, batched");
    }
  }
  TakeServer(options, extra, server, place, &s);
  if (s.storage == Storage::kInnodb) {
    mariadb::CheckCache("mysql", options, old_server::LeastPool(s.version, options.page_size));
  }
  s.server = Arguments(options, extra, &s);
  return s;
}

}  // namespace

std::vector<std::string> ServerNames() {
  std::vector<std::string> names = {"mariadb"};
  for (const OldServer& server : OldServers()) names.push_back(server.name);
  names.emplace_back("rocksdb");
  return names;
}

Settings MakeSettings(const EngineOptions& options) {
  return MakeSettingsFor(options, Place::kThisMachine);
}

void CheckSettings(const EngineOptions& options) {
  (void)MakeSettingsFor(options, Place::kAnyMachine);
}

Capabilities MysqlCapabilities() {
  Capabilities can;
  can.io_modes = {IoMode::kDirect, IoMode::kBuffered};
  can.durabilities = {Durability::kSync, Durability::kLazy, Durability::kNone};
  can.compressions = {"none"};
  can.min_page_size = 4096;
  can.max_page_size = 65536;
  can.max_key_size = mariadb::kMaxKeySize;
  can.max_value_size = mariadb::kMaxValueSize;
  can.min_cache_bytes = mariadb::LeastPool(8192);
  can.most_cache_pct = 60;
  can.indexes = true;
  can.file_layer = false;
  can.server = true;
  // A thread of the server has the program's name or a name of its own.
  can.thread_names = {"mariadbd",    "mysqld",       "page_cleaner", "ib_tpool_worker", "iou-wrk",
                      "rocksdb:low", "rocksdb:high", "myrocks-bg",   "myrocks-mc"};
  can.extra_options = {
      {"connect",
       "URL of a server that runs already, mysql://user@host:port/?socket=PATH&tls=on, or of "
       "several nodes of a cluster, mysql://user@host:port,host:port/; the password comes from "
       "MYSQL_PWD or ~/.my.cnf"},
      {"server",
       "mariadb, mariadb@10.1.23, mariadb@10.2.11, rocksdb: which server the run starts; InnoDB is "
       "5.6 in 10.1 and 5.7 in 10.2, and mariadb@10.1 and mariadb@10.2 name these, too; rocksdb is "
       "a MariaDB that keeps its tables in MyRocks instead of InnoDB (mariadb)"},
      {"access",
       "prepared: rows are read by a prepared SELECT; select: all statements are sent as text; "
       "handler: rows are read by HANDLER ... READ, and by SELECT through an index; batched: as "
       "text, several statements in a packet, so that the writes of a transaction and the reads of "
       "a multi-get share a round trip (prepared)"},
      {"plugins", "directory with MyRocks, ha_rocksdb.so, for server=rocksdb (the server's own)"},
      {"write_buffer_size",
       "size of each of MyRocks' two memtables, for server=rocksdb (--ram / 16, up to 64M)"},
      {"program", "path of the mariadbd that the run starts (Debian's)"},
      {"binlog",
       "on, off: the server that the run starts writes a binary log of rows, and syncs it at each "
       "commit unless --durability is none (off)"},
      {"schema", "database of the server that the tables are in (testbed)"},
      {"checkpoint_wait_s",
       "seconds that a checkpoint of the server of connect may take; clients that write there keep "
       "it from its end (600)"},
      LostAddressMeaning(),
  };
  for (auto& option : mariadb::SharedOptions()) can.extra_options.push_back(std::move(option));
  return can;
}

}  // namespace testbed::mysql

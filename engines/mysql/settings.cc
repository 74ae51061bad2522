#include "engines/mysql/settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string_view>

#include "device/error.h"
#include "device/os/child_process.h"
#include "engines/extra_options.h"
#include "engines/log_settings.h"

namespace testbed::mysql {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kLeastLog = 4 * kMiB, kMostLog = 512ull << 30;

// Options of the server that the run's own options decide, or that would move its files or let
// others in.
constexpr std::string_view kOwn[] = {"datadir",
                                     "socket",
                                     "port",
                                     "bind-address",
                                     "skip-networking",
                                     "user",
                                     "tmpdir",
                                     "pid-file",
                                     "log-error",
                                     "innodb-page-size",
                                     "innodb-buffer-pool-size",
                                     "innodb-flush-method",
                                     "innodb-flush-log-at-trx-commit",
                                     "innodb-log-file-size",
                                     "innodb-log-group-home-dir",
                                     "innodb-data-home-dir",
                                     "innodb-data-file-path",
                                     "innodb-undo-directory",
                                     "innodb-force-recovery",
                                     "innodb-read-only",
                                     "innodb-log-buffer-size",
                                     "innodb-io-capacity",
                                     "innodb-lru-scan-depth",
                                     "innodb-doublewrite",
                                     "transaction-isolation",
                                     "thread-handling",
                                     "sql-mode",
                                     "skip-grant-tables",
                                     "init-file",
                                     "defaults-file"};

// Options that only a private server can honour.
constexpr const char* kOfPrivateServer[] = {"server",          "program",      "log_file_size",
                                            "log_buffer_size", "doublewrite",  "io_capacity",
                                            "lru_scan_depth",  "server_option"};

[[noreturn]] void Refuse(const std::string& option, const std::string& value,
                         const std::string& why) {
  throw Error(Error::kUsage,
              fmt::format("mysql cannot honour --engine-option {}={}: {}", option, value, why));
}

// Takes a part off the front of *text, up to the delimiter or the end.
std::string TakeUntil(std::string* text, char delimiter) {
  const size_t end = text->find(delimiter);
  std::string part = text->substr(0, end);
  *text = end == std::string::npos ? "" : text->substr(end + 1);
  return part;
}

// mysql://USER@HOST:PORT/?socket=PATH&tls=on
ConnectOptions ParseUrl(const std::string& url) {
  std::string rest = url;
  const size_t scheme = rest.find("://");
  if (scheme == std::string::npos ||
      (rest.substr(0, scheme) != "mysql" && rest.substr(0, scheme) != "mariadb")) {
    Refuse("connect", url, "it takes a URL such as mysql://user@host:3306/?tls=on");
  }
  rest = rest.substr(scheme + 3);
  ConnectOptions target;
  std::string before = TakeUntil(&rest, '/');
  if (const size_t question = before.find('?'); question != std::string::npos) {
    rest = before.substr(question);
    before = before.substr(0, question);
  }
  if (const size_t at = before.find('@'); at != std::string::npos) {
    target.user = before.substr(0, at);
    before = before.substr(at + 1);
  }
  if (target.user.find(':') != std::string::npos) {
    throw Error(Error::kUsage,
                "mysql takes no password in --engine-option connect, which is printed and stored: "
                "put it into MYSQL_PWD or ~/.my.cnf");
  }
  target.host = TakeUntil(&before, ':');
  if (!before.empty()) {
    target.port = static_cast<unsigned>(std::strtoul(before.c_str(), nullptr, 10));
    if (target.port == 0 || target.port > 65535) Refuse("connect", url, "its port is no number");
  }
  const size_t question = rest.find('?');
  std::string settings = question == std::string::npos ? "" : rest.substr(question + 1);
  while (!settings.empty()) {
    std::string value = TakeUntil(&settings, '&');
    const std::string name = TakeUntil(&value, '=');
    if (name == "socket") {
      target.socket = value;
    } else if (name == "tls" && (value == "on" || value == "off")) {
      target.tls = value == "on";
    } else {
      Refuse("connect", url, "behind the question mark it accepts socket=PATH and tls=on");
    }
  }
  target.shown = "the server of --engine-option connect";
  return target;
}

// "name=value;name=value" as arguments of the server; throws for what it must not be given.
std::vector<std::string> ServerOptions(const std::string& text) {
  std::vector<std::string> all;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(';', at), text.size());
    const std::string part = text.substr(at, end - at);
    at = end + 1;
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) {
      Refuse("server_option", part,
             "it takes NAME=VALUE of a server's option, such as innodb_sync_spin_loops=0");
    }
    std::string name = part.substr(0, equals);
    std::replace(name.begin(), name.end(), '_', '-');
    if (std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn)) {
      Refuse("server_option", part,
             "the run's own options or --engine-option of that name decide it");
    }
    all.push_back("--" + name + part.substr(equals));
  }
  return all;
}

// As seen: 2M are accepted at 4k, 5M at 8k, less than 6M refused at 16k.
uint64_t LeastPool(uint32_t page_size) {
  return page_size <= 4096 ? 2 * kMiB : page_size <= 8192 ? 5 * kMiB : page_size / 16384 * 6 * kMiB;
}

std::string Program(const EngineOptions& options, const ExtraOptions& extra) {
  if (extra.Has("program")) {
    const std::string& path = options.extra.at("program");
    if (!path.starts_with('/') || ::access(path.c_str(), X_OK) != 0) {
      Refuse("program", path, "it takes the path of a mariadbd");
    }
    return path;
  }
  const std::optional<std::string> found = FindProgram("mariadbd");
  if (found) return *found;
  throw Error(Error::kUsage,
              "mysql starts a server for the run, and MariaDB is not installed: apt-get install "
              "mariadb-server, or give --engine-option connect=URL or program=PATH");
}

// The arguments of a private server: those of the innodb engine, so that the two differ by the
// server alone.
std::vector<std::string> Arguments(const EngineOptions& options, const ExtraOptions& extra) {
  const uint64_t ram = options.ram_bytes;
  const bool direct = options.io == IoMode::kDirect;
  std::vector<std::string> all;
  const auto add = [&](const char* name, const auto& value) {
    all.push_back(fmt::format("--{}={}", name, value));
  };
  add("innodb-page-size", options.page_size);
  add("innodb-buffer-pool-size", options.cache_bytes / kMiB * kMiB);
  add("innodb-buffer-pool-chunk-size", kMiB);
  add("innodb-flush-method", direct ? "O_DIRECT" : "fsync");
  add("loose-innodb-log-file-buffering", direct ? 0 : 1);
  add("innodb-flush-log-at-trx-commit", FlushLogAtCommit(options.durability));
  add("innodb-doublewrite", extra.Flag("doublewrite", true) ? 1 : 0);
  add("innodb-log-file-size",
      extra.Bytes("log_file_size", CheckpointLogBytes(options), kLeastLog, kMostLog) / 4096 * 4096);
  add("innodb-log-buffer-size",
      extra.Bytes("log_buffer_size",
                  ram == 0 ? 16 * kMiB : std::clamp(ram / 64 / kMiB * kMiB, 2 * kMiB, 16 * kMiB),
                  2 * kMiB, 1024 * kMiB));
  const uint64_t capacity = extra.Integer(
      "io_capacity", ram == 0 ? 10000 : std::clamp<uint64_t>(ram >> 17, 1000, 10000), 100, 1000000);
  add("innodb-io-capacity", capacity);
  add("innodb-io-capacity-max", capacity * 2);
  add("innodb-lru-scan-depth",
      extra.Integer("lru_scan_depth",
                    std::clamp<uint64_t>(options.cache_bytes / options.page_size / 64, 100, 1536),
                    100, 1000000));
  for (const char* fixed :
       {"innodb-read-ahead-threshold=0", "innodb-random-read-ahead=0", "innodb-flush-neighbors=0",
        "innodb-adaptive-hash-index=0", "loose-innodb-change-buffering=none",
        "innodb-stats-persistent=0", "innodb-stats-auto-recalc=0",
        "innodb-buffer-pool-dump-at-shutdown=0", "innodb-buffer-pool-load-at-startup=0",
        "innodb-strict-mode=1", "transaction-isolation=READ-COMMITTED",
        "sql-mode=STRICT_ALL_TABLES", "max-allowed-packet=67108864",
        "max-prepared-stmt-count=1000000",
        // A connection has a thread of its own, to which its work is charged.
        "thread-handling=one-thread-per-connection", "skip-networking=1", "skip-log-bin=1",
        "skip-name-resolve=1",
        // What the run does not use takes little memory.
        "performance-schema=0", "key-buffer-size=8", "aria-pagecache-buffer-size=131072",
        "query-cache-size=0", "max-connections=500", "innodb-open-files=500",
        "table-open-cache=2000", "innodb-ft-cache-size=1600000"}) {
    all.push_back(std::string("--") + fixed);
  }
  if (extra.Has("server_option")) {
    for (std::string& option : ServerOptions(options.extra.at("server_option"))) {
      all.push_back(std::move(option));
    }
  }
  return all;
}

}  // namespace

int FlushLogAtCommit(Durability durability) {
  switch (durability) {
    case Durability::kSync:
      return 1;
    case Durability::kLazy:
      return 2;
    case Durability::kNone:
      break;
  }
  return 0;
}

Settings MakeSettings(const EngineOptions& options) {
  const ExtraOptions extra("mysql", options.extra);
  Settings s;
  s.io = options.io;
  s.durability = options.durability;
  s.page_size = options.page_size;
  s.lazy_interval_ms = options.lazy_interval_ms;
  s.create = options.create;
  s.replace = options.replace;
  s.conflict_wait_ms = static_cast<uint32_t>(extra.Integer("conflict_wait_ms", 10000, 0, 1000000));
  if (extra.Has("schema")) {
    s.schema = options.extra.at("schema");
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_";
    if (s.schema.empty() || s.schema.size() > 50 || s.schema == "mysql" || s.schema == "sys" ||
        s.schema.ends_with("_schema") ||
        s.schema.find_first_not_of(kLetters) != std::string::npos) {
      Refuse("schema", s.schema, "it takes 1 to 50 of the letters a to z, digits and _");
    }
  }
  if (options.file_advice != Advice::kNormal) {
    throw Error(Error::kUsage,
                fmt::format("mysql opens its files itself and cannot honour file advice {}; it "
                            "accepts normal (--readahead sets the whole device)",
                            AdviceName(options.file_advice)));
  }
  if (extra.Has("connect")) {
    s.is_private = false;
    s.target = ParseUrl(options.extra.at("connect"));
    for (const char* name : kOfPrivateServer) {
      if (extra.Has(name)) {
        Refuse(name, options.extra.at(name), "a server that runs already (connect) has its own");
      }
    }
    return s;
  }
  (void)extra.Choice("server", "mariadb", {"mariadb"});
  if (options.cache_bytes < LeastPool(s.page_size)) {
    throw Error(Error::kUsage,
                fmt::format("mysql needs a cache of {} bytes at least with pages of {}, not {}: "
                            "give more --ram, a larger --cache-pct or a smaller --page-size",
                            LeastPool(s.page_size), s.page_size, options.cache_bytes));
  }
  s.server = Arguments(options, extra);
  s.program = Program(options, extra);
  return s;
}

Capabilities MysqlCapabilities() {
  Capabilities can;
  can.io_modes = {IoMode::kDirect, IoMode::kBuffered};
  can.durabilities = {Durability::kSync, Durability::kLazy, Durability::kNone};
  can.compressions = {"none"};
  can.min_page_size = 4096;
  can.max_page_size = 65536;
  can.max_key_size = kMaxKeySize;
  can.max_value_size = kMaxValueSize;
  can.min_cache_bytes = LeastPool(8192);
  can.most_cache_pct = 60;
  can.indexes = true;
  can.file_layer = false;
  can.server = true;
  can.extra_options = {
      {"connect",
       "URL of a server that runs already, mysql://user@host:port/?socket=PATH&tls=on; the "
       "password "
       "comes from MYSQL_PWD or ~/.my.cnf"},
      {"server", "mariadb: which server the run starts (mariadb)"},
      {"program", "path of the mariadbd that the run starts (Debian's)"},
      {"schema", "database of the server that the tables are in (testbed)"},
      {"log_file_size", "size of the log, which bounds recovery (--ram, 64M to 2G)"},
      {"log_buffer_size", "memory for log that is not written yet (--ram / 64, 2M to 16M)"},
      {"doublewrite", "on, off: pages go to the doublewrite buffer first (on)"},
      {"io_capacity",
       "pages a second that background writing aims at (--ram / 128k, 1000 to 10000)"},
      {"lru_scan_depth", "pages of the pool that are kept free (a 64th of them, 100 to 1536)"},
      {"server_option",
       "NAME=VALUE of any option of the server; may be given again, or NAME=VALUE;NAME=VALUE"},
      {"conflict_wait_ms", "how long a transaction that met a deadlock is tried again (10000)"},
  };
  return can;
}

}  // namespace testbed::mysql

#include "engines/innodb/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

#include "device/error.h"
#include "engines/extra_options.h"
#include "engines/log_settings.h"

namespace testbed::innodb {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kLeastLog = 4 * kMiB, kMostLog = 512ull << 30;

// MariaDB's default, where a small budget allows it.
uint64_t DefaultLogBuffer(const EngineOptions& options) {
  if (options.ram_bytes == 0) return 16 * kMiB;
  return std::clamp(options.ram_bytes / 64 / kMiB * kMiB, 2 * kMiB, 16 * kMiB);
}

// MySQL's manuals advise 1000 or more where there is no disk arm; 10000 is the default of MySQL
// 8.4. A pool is dirty in proportion to its size, and so is what must be written behind it.
uint64_t DefaultIoCapacity(const EngineOptions& options) {
  if (options.ram_bytes == 0) return 10000;
  return std::clamp<uint64_t>(options.ram_bytes / (128 * 1024), 1000, 10000);
}

// The server keeps so many pages free, by default 1536: a typical server's pool of 2 GB has 64 times
// as many. A small pool must not be free in a fifth of its pages.
uint64_t DefaultLruScanDepth(const EngineOptions& options) {
  return std::clamp<uint64_t>(options.cache_bytes / options.page_size / 64, 100, 1536);
}

// Options of the server that the run's own options decide, or that would move its files.
constexpr std::string_view kOwn[] = {"datadir",
                                     "innodb-page-size",
                                     "innodb-buffer-pool-size",
                                     "innodb-flush-method",
                                     "innodb-flush-log-at-trx-commit",
                                     "innodb-log-file-size",
                                     "innodb-log-group-home-dir",
                                     "innodb-data-home-dir",
                                     "innodb-data-file-path",
                                     "innodb-undo-directory",
                                     "transaction-isolation",
                                     "innodb-force-recovery",
                                     "innodb-read-only",
                                     "innodb-log-buffer-size",
                                     "innodb-io-capacity",
                                     "innodb-lru-scan-depth",
                                     "innodb-doublewrite",
                                     "sql-mode",
                                     "skip-grant-tables",
                                     "plugin-dir",
                                     "init-file",
                                     "defaults-file"};

// "name=value;name=value" as arguments of the server; throws for what it must not be given.
std::vector<std::string> ServerOptions(const std::string& text) {
  std::vector<std::string> all;
  const auto refuse = [&](const std::string& part, const std::string& why) {
    throw Error(Error::kUsage,
                "innodb cannot honour --engine-option server_option=" + part + ": " + why);
  };
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(';', at), text.size());
    const std::string part = text.substr(at, end - at);
    at = end + 1;
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) {
      refuse(part, "it takes NAME=VALUE of a server's option, such as innodb_sync_spin_loops=0");
    }
    std::string name = part.substr(0, equals);
    std::replace(name.begin(), name.end(), '_', '-');
    if (std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn)) {
      refuse(part, "the run's own options or --engine-option of that name decide it");
    }
    all.push_back("--" + name + part.substr(equals));
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

void TakeKeyBlockSize(const std::string& table, Settings* settings) {
  constexpr std::string_view kName = "KEY_BLOCK_SIZE=";
  const size_t at = table.rfind(kName);
  const uint64_t bytes = at == std::string::npos
                             ? 0
                             : std::strtoull(table.c_str() + at + kName.size(), nullptr, 10) * 1024;
  const uint64_t asked = std::exchange(settings->key_block_size, bytes);
  if (asked == 0 || asked == bytes) return;
  throw Error(Error::kUsage,
              fmt::format("innodb cannot honour --engine-option key_block_size={}: the database's "
                          "tables were made {}; leave it out, or load anew with --fresh",
                          asked, bytes == 0 ? "without it" : fmt::format("with {} bytes", bytes)));
}

// As seen: 2M are accepted at 4k, 5M at 8k, less than 6M refused at 16k.
uint64_t LeastPool(uint32_t page_size) {
  return page_size <= 4096 ? 2 * kMiB : page_size <= 8192 ? 5 * kMiB : page_size / 16384 * 6 * kMiB;
}

Settings MakeSettings(const EngineOptions& options) {
  const ExtraOptions extra("innodb", options.extra);
  Settings s;
  s.io = options.io;
  s.durability = options.durability;
  s.lazy_interval_ms = options.lazy_interval_ms;
  s.page_size = options.page_size;
  s.cache_bytes = options.cache_bytes / kMiB * kMiB;
  s.compressed = options.compression != "none";
  s.access = extra.Choice("access", "handler", {"handler", "sql"}) == "sql" ? Access::kSql
                                                                            : Access::kHandler;
  s.log_file_size =
      extra.Bytes("log_file_size", CheckpointLogBytes(options), kLeastLog, kMostLog) / 4096 * 4096;
  s.log_buffer_size =
      extra.Bytes("log_buffer_size", DefaultLogBuffer(options), 2 * kMiB, 1024 * kMiB);
  s.doublewrite = extra.Flag("doublewrite", true);
  s.adaptive_hash_index = extra.Flag("adaptive_hash_index", false);
  s.flush_neighbors = extra.Flag("flush_neighbors", false);
  s.random_read_ahead = extra.Flag("random_read_ahead", false);
  s.read_ahead_threshold = extra.Integer("read_ahead_threshold", 0, 0, 64);
  s.change_buffering = extra.Choice("change_buffering", "none",
                                    {"none", "inserts", "deletes", "changes", "purges", "all"});
  s.io_capacity = extra.Integer("io_capacity", DefaultIoCapacity(options), 100, 1000000);
  s.lru_scan_depth = extra.Integer("lru_scan_depth", DefaultLruScanDepth(options), 100, 1000000);
  if (const auto given = options.extra.find("server_option"); given != options.extra.end()) {
    s.server_options = ServerOptions(given->second);
  }
  s.key_block_size = extra.Bytes("key_block_size", 0, 1024, 16384);
  s.conflict_wait_ms = static_cast<uint32_t>(extra.Integer("conflict_wait_ms", 10000, 0, 1000000));
  if (s.key_block_size != 0 &&
      (s.compressed || s.key_block_size > s.page_size ||
       (s.key_block_size & (s.key_block_size - 1)) != 0 || s.page_size > 16384)) {
    throw Error(Error::kUsage,
                "innodb takes --engine-option key_block_size with --compression none, as a power "
                "of two from 1k to the page size, and the page size up to 16k");
  }
  if (options.file_advice != Advice::kNormal) {
    throw Error(Error::kUsage, std::string("innodb opens its files itself and cannot honour file "
                                           "advice ") +
                                   AdviceName(options.file_advice) +
                                   "; it accepts normal (--readahead sets the whole device)");
  }
  if (s.cache_bytes < LeastPool(s.page_size)) {
    throw Error(Error::kUsage,
                fmt::format("innodb needs a cache of {} bytes at least with pages of {}, not {}: "
                            "give more --ram, a larger --cache-pct or a smaller --page-size",
                            LeastPool(s.page_size), s.page_size, options.cache_bytes));
  }
  return s;
}

Capabilities InnodbCapabilities() {
  Capabilities can;
  can.io_modes = {IoMode::kDirect, IoMode::kBuffered};
  can.durabilities = {Durability::kSync, Durability::kLazy, Durability::kNone};
  can.compressions = {"none", "zlib"};
  can.min_page_size = 4096;
  can.max_page_size = 65536;
  can.max_key_size = kMaxKeySize;
  can.max_value_size = kMaxValueSize;
  can.resizable_cache = true;
  can.min_cache_bytes = LeastPool(8192);
  can.most_cache_pct = 70;
  can.indexes = true;
  can.file_layer = false;
  can.extra_options = {
      {"access",
       "handler, sql: rows are read by HANDLER ... READ or by SELECT, prepared (handler)"},
      {"log_file_size", "size of the log, which bounds recovery (--ram, 64M to 2G)"},
      {"log_buffer_size", "memory for log that is not written yet (--ram / 64, 2M to 16M)"},
      {"doublewrite", "on, off: pages go to the doublewrite buffer first (on)"},
      {"change_buffering",
       "none, inserts, deletes, changes, purges, all: what of secondary indexes waits for its page "
       "to be read (none)"},
      {"read_ahead_threshold",
       "pages of an extent of 64 read in order that make it read the next; 0 = never (0)"},
      {"random_read_ahead", "on, off: an extent much of which is cached is read whole (off)"},
      {"flush_neighbors", "on, off: dirty neighbours are written with a page (off)"},
      {"adaptive_hash_index", "on, off: a hash index of hot rows (off)"},
      {"io_capacity",
       "pages a second that background writing aims at (--ram / 128k, 1000 to 10000)"},
      {"lru_scan_depth", "pages of the pool that are kept free (a 64th of them, 100 to 1536)"},
      {"key_block_size", "pages compressed by ROW_FORMAT=COMPRESSED to this size (not)"},
      {"server_option",
       "NAME=VALUE of any option of the server; may be given again, or NAME=VALUE;NAME=VALUE"},
      {"conflict_wait_ms", "how long a transaction that met a deadlock is tried again (10000)"},
  };
  return can;
}

std::vector<std::string> ServerArguments(const Settings& s, const std::string& dir) {
  std::vector<std::string> all = {"testbed", "--no-defaults", "--skip-grant-tables"};
  const auto add = [&](const char* name, const auto& value) {
    all.push_back(fmt::format("--{}={}", name, value));
  };
  add("datadir", dir);
  add("innodb-page-size", s.page_size);
  add("innodb-buffer-pool-size", s.cache_bytes);
  add("innodb-buffer-pool-chunk-size", kMiB);
  add("innodb-flush-method", s.io == IoMode::kDirect ? "O_DIRECT" : "fsync");
  // Buffered means all files: InnoDB would write the log directly all the same.
  add("loose-innodb-log-file-buffering", s.io == IoMode::kBuffered ? 1 : 0);
  add("innodb-flush-log-at-trx-commit", FlushLogAtCommit(s.durability));
  add("innodb-doublewrite", s.doublewrite ? 1 : 0);
  add("innodb-log-file-size", s.log_file_size);
  add("innodb-log-buffer-size", s.log_buffer_size);
  add("innodb-read-ahead-threshold", s.read_ahead_threshold);
  add("innodb-random-read-ahead", s.random_read_ahead ? 1 : 0);
  add("innodb-flush-neighbors", s.flush_neighbors ? 1 : 0);
  add("innodb-adaptive-hash-index", s.adaptive_hash_index ? 1 : 0);
  add("innodb-io-capacity", s.io_capacity);
  add("innodb-io-capacity-max", s.io_capacity * 2);
  add("innodb-lru-scan-depth", s.lru_scan_depth);
  add("loose-innodb-change-buffering", s.change_buffering);
  // The tables of statistics are the server's own, which is not installed here.
  add("innodb-stats-persistent", 0);
  add("innodb-stats-auto-recalc", 0);
  add("innodb-buffer-pool-dump-at-shutdown", 0);
  add("innodb-buffer-pool-load-at-startup", 0);
  add("innodb-lock-wait-timeout", 50);
  add("innodb-compression-default", 0);
  add("innodb-strict-mode", 1);
  add("transaction-isolation", "READ-COMMITTED");
  add("sql-mode", "STRICT_ALL_TABLES");
  add("max-allowed-packet", 64 * kMiB);
  add("max-prepared-stmt-count", 1000000);
  // What the run does not use takes little memory.
  add("key-buffer-size", 8);
  add("aria-pagecache-buffer-size", 131072);
  add("query-cache-size", 0);
  add("max-connections", 2000);
  add("innodb-open-files", 500);
  add("table-open-cache", 2000);
  add("innodb-ft-cache-size", 1600000);
  all.insert(all.end(), s.server_options.begin(), s.server_options.end());
  return all;
}

}  // namespace testbed::innodb

#include "engines/sql/mariadb_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <thread>

#include "device/error.h"
#include "engines/extra_options.h"
#include "engines/log_settings.h"
#include "engines/sql/server_options.h"

namespace testbed::mariadb {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kLeastLog = 4 * kMiB, kMostLog = 512ull << 30;

// Returns MariaDB's default, 16 MiB, or less for a small budget.
uint64_t DefaultLogBuffer(const EngineOptions& options) {
  if (options.ram_bytes == 0) return 16 * kMiB;
  return std::clamp(options.ram_bytes / 64 / kMiB * kMiB, 2 * kMiB, 16 * kMiB);
}

// Returns the number of pages a second for background writing. MySQL's manuals advise 1000 or more
// for a device without a disk arm, and 10000 is the default of MySQL 8.4. The number follows the
// memory, as the number of dirty pages does.
uint64_t DefaultIoCapacity(const EngineOptions& options) {
  if (options.ram_bytes == 0) return 10000;
  return std::clamp<uint64_t>(options.ram_bytes / (128 * 1024), 1000, 10000);
}

// Returns the number of pages that the server keeps free. The server's default, 1536, is a 64th of
// a pool of 1.5 GB with pages of 16k. In a small pool it could be a fifth of all pages.
uint64_t DefaultLruScanDepth(const EngineOptions& options) {
  return std::clamp<uint64_t>(options.cache_bytes / options.page_size / 64, 100, 1536);
}

// These server options are refused: the run's own options decide them, or they would move the
// server's files. Options of the binary log would give its files names that --fresh does not know,
// or leave commits unsynced.
constexpr std::string_view kOwn[] = {"datadir",
                                     "innodb-page-size",
                                     "innodb-buffer-pool-size",
                                     "innodb-flush-method",
                                     "innodb-log-file-buffering",
                                     "innodb-log-file-write-through",
                                     "innodb-data-file-buffering",
                                     "innodb-data-file-write-through",
                                     "innodb-flush-log-at-trx-commit",
                                     "innodb-log-file-size",
                                     "innodb-log-group-home-dir",
                                     "innodb-data-home-dir",
                                     "innodb-data-file-path",
                                     "innodb-file-per-table",
                                     "innodb-undo-directory",
                                     "innodb-temp-data-file-path",
                                     "innodb-tmpdir",
                                     "tmpdir",
                                     "aria-log-dir-path",
                                     "innodb-force-recovery",
                                     "innodb-read-only",
                                     "innodb-log-buffer-size",
                                     "innodb-io-capacity",
                                     "innodb-lru-scan-depth",
                                     "innodb-doublewrite",
                                     "transaction-isolation",
                                     "sql-mode",
                                     "skip-grant-tables",
                                     "init-file",
                                     "defaults-file",
                                     "log-bin",
                                     "log-bin-index",
                                     "log-basename",
                                     "sync-binlog",
                                     "debug-no-sync"};

// Returns whether the server would take `name` for one of `names`. The server takes the beginning
// of an option's name for the option, and accepts words before the name.
bool Means(std::span<const std::string_view> names, std::string_view name) {
  for (;;) {
    if (std::any_of(names.begin(), names.end(),
                    [name](std::string_view own) { return own.starts_with(name); })) {
      return true;
    }
    size_t word = 0;
    for (const std::string_view before : {"loose-", "skip-", "disable-", "enable-", "maximum-"}) {
      if (name.starts_with(before)) word = before.size();
    }
    if (word == 0) return false;
    name.remove_prefix(word);
  }
}

// Returns the variable that an argument "--name=value" sets. "loose" before the name says that the
// server may lack the variable.
std::string VariableOf(const std::string& argument) {
  std::string name = argument.substr(2, argument.find('=') - 2);
  std::replace(name.begin(), name.end(), '-', '_');
  constexpr std::string_view kLoose = "loose_";
  return name.starts_with(kLoose) ? name.substr(kLoose.size()) : name;
}

// Returns the variable that the server takes `name` for: the only one that begins with `name`, or
// with the rest of `name` after a word such as "skip". Returns an empty string when there is no
// such variable.
std::string WholeName(const std::map<std::string, std::string>& variables, std::string name) {
  for (const std::string_view before : {"skip_", "enable_", "disable_", "maximum_"}) {
    if (!name.starts_with(before)) continue;
    name.erase(0, before.size());
    break;
  }
  const auto first = variables.lower_bound(name);
  if (first == variables.end() || !first->first.starts_with(name)) return "";
  if (first->first == name) return name;
  const auto next = std::next(first);
  const bool several = next != variables.end() && next->first.starts_with(name);
  return several ? "" : first->first;
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

// These limits were found by trials. The server accepts 2M at 4k and 5M at 8k; at 16k it refuses
// less than 6M.
uint64_t LeastPool(uint32_t page_size) {
  return page_size <= 4096 ? 2 * kMiB : page_size <= 8192 ? 5 * kMiB : page_size / 16384 * 6 * kMiB;
}

void CheckCache(const std::string& engine, const EngineOptions& options, uint64_t least) {
  if (options.cache_bytes >= least) return;
  throw Error(Error::kUsage,
              fmt::format("{} needs a cache of {} bytes at least with pages of {}, not {}: "
                          "give more --ram, a larger --cache-pct or a smaller --page-size",
                          engine, least, options.page_size, options.cache_bytes));
}

void CheckFileAdvice(const std::string& engine, const EngineOptions& options) {
  if (options.file_advice == Advice::kNormal) return;
  throw Error(Error::kUsage,
              fmt::format("{} opens its files itself and cannot honour file advice {}; it accepts "
                          "normal (--readahead sets the whole device)",
                          engine, AdviceName(options.file_advice)));
}

Sizes MakeSizes(const EngineOptions& options, const ExtraOptions& extra) {
  Sizes sizes;
  sizes.log_file_size =
      extra.Bytes("log_file_size", CheckpointLogBytes(options), kLeastLog, kMostLog) / 4096 * 4096;
  sizes.log_buffer_size =
      extra.Bytes("log_buffer_size", DefaultLogBuffer(options), 2 * kMiB, 1024 * kMiB);
  sizes.doublewrite = extra.Flag("doublewrite", true);
  sizes.io_capacity = extra.Integer("io_capacity", DefaultIoCapacity(options), 100, 1000000);
  sizes.lru_scan_depth =
      extra.Integer("lru_scan_depth", DefaultLruScanDepth(options), 100, 1000000);
  return sizes;
}

std::vector<std::pair<std::string, std::string>> SharedOptions() {
  return {
      {"log_file_size", "size of the log, which bounds recovery (--ram, 64M to 2G)"},
      {"log_buffer_size",
       "memory for log records that are not written yet (--ram / 64, 2M to 16M)"},
      {"doublewrite", "on, off: pages go to the doublewrite buffer first (on)"},
      {"io_capacity",
       "pages a second that InnoDB aims to write in the background (--ram / 128k, 1000 to 10000)"},
      {"lru_scan_depth",
       "free pages that the server keeps in the pool (a 64th of the pool, 100 to 1536)"},
      {"server_option",
       "NAME=VALUE of any option of the server; may be given again, or NAME=VALUE;NAME=VALUE"},
      ConflictWaitMeaning("a transaction is repeated after deadlocks"),
  };
}

std::vector<std::string> GeneralArguments() {
  std::vector<std::string> all;
  const auto add = [&](const char* name, const auto& value) {
    all.push_back(fmt::format("--{}={}", name, value));
  };
  add("transaction-isolation", "READ-COMMITTED");
  add("sql-mode", "STRICT_ALL_TABLES");
  add("max-allowed-packet", 64 * kMiB);
  add("max-prepared-stmt-count", 1000000);
  // Features that the run does not use get little memory.
  add("key-buffer-size", 8);
  add("aria-pagecache-buffer-size", 131072);
  add("query-cache-size", 0);
  add("table-open-cache", 2000);
  return all;
}

std::vector<std::string> SharedArguments(const EngineOptions& options, const Sizes& sizes) {
  const bool direct = options.io == IoMode::kDirect;
  std::vector<std::string> all = GeneralArguments();
  const auto add = [&](const char* name, const auto& value) {
    all.push_back(fmt::format("--{}={}", name, value));
  };
  add("innodb-page-size", options.page_size);
  add("innodb-buffer-pool-size", options.cache_bytes / kMiB * kMiB);
  add("innodb-buffer-pool-chunk-size", kMiB);
  add("innodb-flush-method", direct ? "O_DIRECT" : "fsync");
  // In buffered mode the log must be buffered, too. InnoDB would write it directly by default.
  add("loose-innodb-log-file-buffering", direct ? 0 : 1);
  add("innodb-flush-log-at-trx-commit", FlushLogAtCommit(options.durability));
  add("innodb-doublewrite", sizes.doublewrite ? 1 : 0);
  add("innodb-log-file-size", sizes.log_file_size);
  add("innodb-log-buffer-size", sizes.log_buffer_size);
  add("innodb-io-capacity", sizes.io_capacity);
  add("innodb-io-capacity-max", sizes.io_capacity * 2);
  add("innodb-lru-scan-depth", sizes.lru_scan_depth);
  // Statistics in tables, and a pool that is saved and loaded, would cause IO of no operation. The
  // embedded server has no tables for statistics.
  add("innodb-stats-persistent", 0);
  add("innodb-stats-auto-recalc", 0);
  add("innodb-buffer-pool-dump-at-shutdown", 0);
  add("innodb-buffer-pool-load-at-startup", 0);
  add("innodb-strict-mode", 1);
  add("innodb-open-files", 500);
  add("innodb-ft-cache-size", 1600000);
  return all;
}

std::vector<std::string> ServerOptions(const std::string& engine, const std::string& text,
                                       std::span<const std::string_view> own) {
  std::vector<std::string> all = ParseServerOptions(
      engine, text, '-',
      "it takes NAME=VALUE of a server's option, such as innodb_sync_spin_loops=0",
      [own](std::string_view name) { return Means(kOwn, name) || Means(own, name); });
  for (std::string& option : all) option.insert(0, "--");
  return all;
}

void CheckServerOptions(const std::string& engine, const std::vector<std::string>& arguments,
                        const std::vector<std::string>& given,
                        const std::map<std::string, std::string>& variables) {
  if (given.empty()) return;
  std::map<std::string, std::string> asked;  // value by the name of the variable
  for (const std::string& option : given) {
    const std::string name = VariableOf(option);
    asked[name] = option.substr(option.find('=') + 1);  // the server takes the last of several
    if (variables.contains(name)) continue;
    const std::string whole = WholeName(variables, name);
    if (whole.empty()) continue;
    throw Error(Error::kUsage, fmt::format("{} cannot honour --engine-option server_option={}: it "
                                           "takes an option by its whole name alone, {}",
                                           engine, option.substr(2), whole));
  }
  constexpr std::string_view kCapacity = "--innodb-io-capacity=";
  for (const std::string& argument : arguments) {
    if (!argument.starts_with(kCapacity)) continue;
    asked.emplace("innodb_io_capacity", argument.substr(kCapacity.size()));
  }
  for (const auto& [name, value] : asked) {
    const auto at = variables.find(name);
    if (at == variables.end() || !IsAnotherValue(value, at->second)) continue;
    throw Error(Error::kUsage,
                fmt::format("{} cannot honour --engine-option server_option with {}={}: the server "
                            "has replaced it by {}, alone or because of another option; give a "
                            "value that it keeps",
                            engine, name, value, at->second));
  }
}

std::vector<std::pair<std::string, std::string>> ToldVariables(
    const std::map<std::string, std::string>& variables, std::string_view prefix,
    const std::vector<std::string>& arguments, const std::vector<std::string>& given) {
  std::set<std::string> named = {"version",     "thread_handling", "max_connections", "log_bin",
                                 "sync_binlog", "skip_networking", "query_cache_size"};
  for (const std::string& argument : arguments) named.insert(VariableOf(argument));
  for (const std::string& option : given) named.insert(VariableOf(option));
  std::vector<std::pair<std::string, std::string>> told;
  for (const auto& [name, value] : variables) {
    if (name.starts_with(prefix) || named.contains(name)) told.emplace_back(name, value);
  }
  for (const std::string& option : given) {
    const std::string name = VariableOf(option);
    if (!variables.contains(name)) told.emplace_back(name, "not a variable of this server");
  }
  return told;
}

DataFileIo DataFileIoOf(const std::map<std::string, std::string>& variables) {
  constexpr char kBuffering[] = "innodb_data_file_buffering", kMethod[] = "innodb_flush_method";
  if (const auto at = variables.find(kBuffering); at != variables.end()) {
    return {kBuffering, at->second, at->second == "OFF"};
  }
  const auto at = variables.find(kMethod);
  const std::string method = at == variables.end() ? "" : at->second;
  return {kMethod, method, method.starts_with("O_DIRECT")};
}

void AwaitPurge(const std::function<PurgeState()>& look, std::chrono::milliseconds patience,
                std::chrono::milliseconds rest) {
  using std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPoll(10);
  uint64_t least = UINT64_MAX, pages_read = 0;
  for (auto progress = steady_clock::now(), busy = progress;;) {
    const PurgeState now = look();
    const auto at = steady_clock::now();
    // A server that is not the run's has other clients, who may make the history longer again. So
    // only a history that is shorter than all before is progress.
    if (now.history < least) progress = at;
    if (now.history != 0 || now.pages_read != pages_read) busy = at;
    if (now.history == 0 && at - busy >= rest) return;
    if (at - progress > patience) return;
    least = std::min(least, now.history);
    pages_read = now.pages_read;
    std::this_thread::sleep_for(kPoll);
  }
}

EngineCounters BlockCounters(std::map<std::string, uint64_t>* status, uint64_t page_size) {
  std::map<std::string, uint64_t>& count = *status;
  EngineCounters c;
  c.block_requests = count["buffer_pool_read_requests"];
  c.block_reads = count["pages_read"];
  c.block_hits = *c.block_requests - std::min(*c.block_requests, count["buffer_pool_reads"]);
  // This does not use Innodb_data_read: several threads add to it without synchronization, so it
  // loses reads (one in 10,000 with two threads). The count of pages is exact.
  c.block_read_bytes = count["pages_read"] * page_size;
  c.blocks_written = count["pages_written"];
  c.block_write_bytes = count["pages_written"] * page_size;
  c.log_payload_bytes = count["os_log_written"];
  c.cache_bytes = count["buffer_pool_bytes_data"];
  return c;
}

void AddStatus(const std::map<std::string, uint64_t>& status,
               std::initializer_list<const char*> totals, EngineCounters* counters) {
  for (const char* const name : totals) {
    const auto at = status.find(name);
    if (at != status.end()) counters->more.emplace_back(name, at->second);
  }
  for (const char* const name :
       {"buffer_pool_pages_total", "buffer_pool_pages_data", "buffer_pool_pages_dirty",
        "history_list_length", "checkpoint_age"}) {
    const auto at = status.find(name);
    if (at != status.end()) counters->now.emplace_back(name, at->second);
  }
}

}  // namespace testbed::mariadb

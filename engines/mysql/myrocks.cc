#include "engines/mysql/myrocks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/machine/resident_code.h"
#include "device/os/interrupted.h"
#include "device/os/signal_guard.h"
#include "engines/log_settings.h"
#include "engines/sql/mariadb_settings.h"

namespace testbed::mysql::myrocks {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr char kPlugin[] = "ha_rocksdb.so";

// Returns the size of one of the two memtables. Both together get an eighth of the budget, as by
// default in the rocksdb engine, so that runs of the two engines with the same options differ by
// the server alone.
uint64_t MemtableBytes(const EngineOptions& options) {
  if (options.ram_bytes == 0) return 64 * kMiB;
  const uint64_t rest =
      options.ram_bytes > options.cache_bytes ? options.ram_bytes - options.cache_bytes : 0;
  return std::clamp<uint64_t>(std::min(options.ram_bytes / 8, rest / 2), kMiB, 128 * kMiB) / 2;
}

// Returns the directory of the server's plugins. Throws Error (kUsage) when the directory does not
// have MyRocks.
std::string Plugins(const EngineOptions& options, const ExtraOptions& extra,
                    const std::string& program) {
  namespace fs = std::filesystem;
  const std::string directory =
      extra.Has("plugins")
          ? options.extra.at("plugins")
          : (fs::path(program).parent_path().parent_path() / "lib/mysql/plugin").string();
  std::error_code error;
  if (fs::exists(directory + "/" + kPlugin, error)) return directory;
  throw Error(Error::kUsage,
              fmt::format("mysql:rocksdb needs MariaDB's plugin MyRocks, and {} has no {}: apt-get "
                          "install mariadb-plugin-rocksdb, or give --engine-option plugins=DIR",
                          directory, kPlugin));
}

std::string ColumnFamilyOptions(uint64_t memtable) {
  return fmt::format(
      "write_buffer_size={};max_write_buffer_number=2;target_file_size_base={};"
      "max_bytes_for_level_base={};level_compaction_dynamic_level_bytes=true;"
      "compression=kNoCompression;bottommost_compression=kNoCompression;"
      "block_based_table_factory={{filter_policy=bloomfilter:10:false;"
      "cache_index_and_filter_blocks=1}}",
      memtable, std::max(memtable, 4 * kMiB), memtable * 4);
}

}  // namespace

const std::vector<std::string_view> kOwnOptions = {"rocksdb-block-cache-size",
                                                   "rocksdb-block-size",
                                                   "rocksdb-datadir",
                                                   "rocksdb-wal-dir",
                                                   "rocksdb-use-direct-reads",
                                                   "rocksdb-use-direct-io-for-flush-and-compaction",
                                                   "rocksdb-flush-log-at-trx-commit",
                                                   "rocksdb-write-disable-wal",
                                                   "rocksdb-manual-wal-flush",
                                                   "plugin-dir",
                                                   "plugin-load",
                                                   "plugin-load-add",
                                                   "innodb",
                                                   "default-storage-engine"};

std::vector<std::string> Arguments(const EngineOptions& options, const ExtraOptions& extra,
                                   const std::string& program) {
  for (const char* of_innodb :
       {"log_buffer_size", "doublewrite", "io_capacity", "lru_scan_depth"}) {
    if (!extra.Has(of_innodb)) continue;
    throw Error(Error::kUsage, fmt::format("mysql:rocksdb cannot honour --engine-option {}: it is "
                                           "an option of InnoDB",
                                           of_innodb));
  }
  std::vector<std::string> all = mariadb::GeneralArguments();
  const auto add = [&](const char* name, const auto& value) {
    all.push_back(fmt::format("--{}={}", name, value));
  };
  const bool direct = options.io == IoMode::kDirect;
  const uint64_t memtable =
      extra.Bytes("write_buffer_size", MemtableBytes(options), kMiB / 16, 1024 * kMiB);
  if (!program.empty()) add("plugin-dir", Plugins(options, extra, program));
  add("plugin-load-add", "ha_rocksdb");
  add("innodb", "OFF");
  add("default-storage-engine", "rocksdb");
  add("rocksdb-block-cache-size", options.cache_bytes / kMiB * kMiB);
  add("rocksdb-block-size", options.page_size);
  add("rocksdb-db-write-buffer-size", memtable * 2);
  add("rocksdb-default-cf-options", ColumnFamilyOptions(memtable));
  add("rocksdb-use-direct-reads", direct ? 1 : 0);
  add("rocksdb-use-direct-io-for-flush-and-compaction", direct ? 1 : 0);
  add("rocksdb-compaction-readahead-size", 2 * kMiB);
  add("rocksdb-bytes-per-sync", direct ? 0 : kMiB);
  add("rocksdb-max-total-wal-size",
      extra.Bytes("log_file_size", CheckpointLogBytes(options), kMiB, uint64_t{1} << 40));
  // The server writes each commit to the log's file, as the rocksdb engine does. By default it
  // keeps lazy commits in its own memory for up to a second, where testbed's syncs do not find
  // them.
  add("rocksdb-manual-wal-flush", 0);
  add("rocksdb-flush-log-at-trx-commit", mariadb::FlushLogAtCommit(options.durability));
  // RocksDB recovers the log up to the record that was being written when the server was killed.
  add("rocksdb-wal-recovery-mode", 2);
  add("rocksdb-large-prefix", 1);  // permits keys as long as InnoDB's
  add("rocksdb-max-background-jobs", std::max(2u, std::thread::hardware_concurrency()));
  add("rocksdb-deadlock-detect", 1);
  add("rocksdb-lock-wait-timeout", 10);
  // The server would compute these statistics by itself, and their IO would belong to no operation.
  add("rocksdb-stats-dump-period-sec", 0);
  add("rocksdb-stats-recalc-rate", 0);
  return all;
}

void ReadCode(const std::vector<std::string>& arguments) {
  const std::string directory = "--plugin-dir=";
  for (const std::string& argument : arguments) {
    if (!argument.starts_with(directory)) continue;
    ReadProgramFile(argument.substr(directory.size()) + "/" + kPlugin);
  }
}

FileKind KindOfFile(std::string_view name) {
  if (name.ends_with(".sst")) return FileKind::kData;
  return name.ends_with(".log") ? FileKind::kLog : FileKind::kMeta;
}

std::vector<std::string> Files() {
  std::vector<std::string> files;
  for (const char* name : {"#.sst", "#.log", "MANIFEST-#", "OPTIONS-#", "OPTIONS-#.dbtmp",
                           "#.dbtmp", "CURRENT", "IDENTITY", "LOCK", "LOG", "LOG.old.#"}) {
    files.push_back("\\" + std::string(kDirectory) + "/" + name);
  }
  files.push_back("ROCKSDB_CORRUPTED");
  return files;
}

void CheckFilesThere(const std::string& cluster) {
  const std::string file = fmt::format("{}/{}/CURRENT", cluster, kDirectory);
  if (IsThere(file)) return;
  throw Error(Error::kCorruption,
              fmt::format("file {} is missing: put it back, restore the database from a copy, or "
                          "load it anew with --fresh",
                          file));
}

// RocksDB writes its options to a file at each opening, and keeps the last two of these files. The
// newer one counts.
std::optional<uint32_t> BlockSizeOf(const std::string& cluster) {
  const std::string directory = fmt::format("{}/{}", cluster, kDirectory);
  if (!IsThere(directory)) return std::nullopt;
  constexpr std::string_view kFile = "OPTIONS-", kLine = "  block_size=";
  uint64_t newest = 0;
  std::string path;
  for (const std::string& name : NamesIn(directory)) {
    if (!name.starts_with(kFile) || name.ends_with(".dbtmp")) continue;
    const uint64_t number = std::strtoull(name.c_str() + kFile.size(), nullptr, 10);
    if (number < newest) continue;
    newest = number;
    path = fmt::format("{}/{}", directory, name);
  }
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kLine)) continue;
    return static_cast<uint32_t>(std::strtoul(line.c_str() + kLine.size(), nullptr, 10));
  }
  return std::nullopt;
}

void SyncLogs(const std::string& cluster) {
  const std::string directory = fmt::format("{}/{}", cluster, kDirectory);
  for (const std::string& name : NamesIn(directory)) {
    if (KindOfFile(name) != FileKind::kLog) continue;
    const std::string path = fmt::format("{}/{}", directory, name);
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) continue;  // removed: its rows are in files of tables
    if (fd < 0) throw Error::Io("open", path, errno);
    const bool synced = Uninterrupted([&] { return ::fdatasync(fd); }) == 0;
    const int error = errno;
    ::close(fd);
    if (!synced) throw Error::Io("sync", path, error);
  }
}

EngineCounters Counters(const std::map<std::string, uint64_t>& status) {
  const auto count = [&](const char* name) {
    const auto it = status.find(name);
    return it == status.end() ? uint64_t{0} : it->second;
  };
  EngineCounters c;
  c.block_hits = count("block_cache_hit");
  c.block_reads = count("block_cache_miss");
  c.block_requests = *c.block_hits + *c.block_reads;
  c.block_write_bytes = count("flush_write_bytes") + count("compact_write_bytes");
  c.log_payload_bytes = count("wal_bytes");
  for (const char* name :
       {"block_cache_data_hit", "block_cache_data_miss", "block_cache_index_miss",
        "block_cache_filter_miss", "bloom_filter_useful", "compact_read_bytes",
        "compact_write_bytes", "flush_write_bytes", "memtable_hit", "memtable_miss",
        "number_keys_read", "number_keys_written", "number_db_seek", "number_db_next", "wal_synced",
        "stall_micros", "row_lock_deadlocks", "com_select", "com_stmt_execute"}) {
    if (status.contains(name)) c.more.emplace_back(name, count(name));
  }
  c.now.emplace_back("memtable_bytes", count("memtable_total"));
  return c;
}

// A pause waits until the flushes and compactions that run have ended. After the pause RocksDB
// begins those that are due. A compaction is pending for ever when RocksDB finds no files for it,
// so the loop ends once nothing was written for a while.
void Settle(const std::function<std::string(const std::string&)>& ask) {
  constexpr int kNothingBegan = 30;  // rounds of 10 ms
  constexpr char kDue[] =
      "SELECT COALESCE(SUM(value), 0) FROM information_schema.rocksdb_cfstats WHERE stat_type IN "
      "('MEM_TABLE_FLUSH_PENDING', 'COMPACTION_PENDING', 'NUM_IMMUTABLE_MEM_TABLE')";
  constexpr char kWritten[] =
      "SELECT SUM(variable_value) FROM information_schema.global_status WHERE variable_name IN "
      "('ROCKSDB_FLUSH_WRITE_BYTES', 'ROCKSDB_COMPACT_WRITE_BYTES')";
  ask("SET GLOBAL rocksdb_force_flush_memtable_now = 1");
  std::string written;
  for (int idle = 0; idle < kNothingBegan && !StopRequested(); ++idle) {
    ask("SET GLOBAL rocksdb_pause_background_work = 1");
    ask("SET GLOBAL rocksdb_pause_background_work = 0");
    const bool due = std::atoi(ask(kDue).c_str()) != 0;
    std::string now = ask(kWritten);
    if (now != written) idle = 0;
    // A flush or compaction that has ended during the pause may have made another compaction due.
    if (!due && now == written) return;
    written = std::move(now);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace testbed::mysql::myrocks

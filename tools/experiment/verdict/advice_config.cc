#include "tools/experiment/verdict/advice_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "tools/option_values.h"

namespace testbed {
namespace {

std::string Megabytes(uint64_t bytes) {
  return fmt::format("{}M", std::max<uint64_t>(1, bytes >> 20));
}

// Returns lines on how servers round a buffer pool of this size to chunks; "" when all of them use
// it as it is. A pool that is smaller than a chunk is a single chunk. From 1G on, MySQL up to 8.0
// and MariaDB before 10.5 have eight instances, each of whole chunks.
std::string ChunksLines(uint64_t pool_bytes) {
  constexpr uint64_t kChunk = 128, kInstances = 8, kAll = kInstances * kChunk;
  const uint64_t pool = pool_bytes >> 20;  // in megabytes, as it is advised
  const bool whole_chunks = pool <= kChunk || pool % kChunk == 0;
  if (pool <= kAll ? whole_chunks : pool % kAll == 0) return "";
  if (pool <= kAll) {
    return "  # MySQL, and MariaDB before 10.8, round it up to a multiple of 128M (of\n"
           "  # innodb_buffer_pool_chunk_size * innodb_buffer_pool_instances)\n";
  }
  std::string text = fmt::format(
      "  # MySQL up to 8.0, and MariaDB before 10.5, round it up to {}G: a multiple of\n"
      "  # innodb_buffer_pool_chunk_size (128M) * innodb_buffer_pool_instances (8 from 1G on)\n",
      pool / kAll + 1);
  if (whole_chunks) return text;
  return text + "  # later MySQL, and MariaDB 10.5 to 10.7, round it up to a multiple of 128M\n";
}

// Returns the line that says that a server has no setting for the compression; "" when nothing was
// compressed.
std::string CompressionLine(const AdvisedWay& way, const char* why) {
  if (way.compression == "none") return "";
  return fmt::format("  # compression {} does not carry over: {}\n", way.compression, why);
}

// Returns the lines on when InnoDB wrote. A server by itself has a log and a rate of background
// writes that do not follow from its memory.
std::string InnodbWritingLines(const AdvisedWay& way) {
  std::string lines;
  for (const auto& [name, value] : way.innodb_writing) {
    if (name == "innodb_log_file_size") {
      lines += fmt::format("  {} = {}   # MySQL from 8.0.30 on: innodb_redo_log_capacity\n", name,
                           Megabytes(value));
    } else {
      lines += fmt::format("  {} = {}\n", name, value);
    }
  }
  return lines;
}

// Returns the lines on when PostgreSQL took checkpoints. From version 11 on it begins one after
// max_wal_size / (1 + checkpoint_completion_target) of log.
std::string WalLines(const AdvisedWay& way) {
  constexpr double kTarget = 0.9;
  if (way.checkpoint_log_bytes == 0) return "";
  const double most = static_cast<double>(way.checkpoint_log_bytes) * (1 + kTarget);
  return fmt::format(
      "  max_wal_size = {0}B   # a checkpoint begins after {1} of log\n"
      "  checkpoint_completion_target = {2}\n"
      "  # checkpoint_timeout was 1h, unless an option of the run set it: with 5min, the server's\n"
      "  # default, checkpoints begin by time as well\n",
      Megabytes(static_cast<uint64_t>(most)), Megabytes(way.checkpoint_log_bytes), kTarget);
}

std::string MyCnf(const AdvisedWay& way) {
  const bool known = way.page_size >= 4096 && way.page_size <= 65536;
  std::string text = fmt::format(
      "my.cnf\n"
      "  [mysqld]\n"
      "  innodb_buffer_pool_size = {}\n"
      "{}"
      "  innodb_flush_method = {}\n",
      Megabytes(way.cache_bytes), ChunksLines(way.cache_bytes),
      way.io == "direct" ? "O_DIRECT" : "fsync");
  if (known) {
    text += fmt::format("  innodb_page_size = {}   # only when the data directory is initialised\n",
                        ShortSize(way.page_size));
  }
  text += InnodbWritingLines(way);
  text += CompressionLine(way, "each table has its own, by ROW_FORMAT or COMPRESSION");
  if (way.io == "mmap") {
    text +=
        "  # mmap does not carry over: InnoDB maps no data files; fsync reads by the page cache\n";
  }
  return text +
         "  # the rest of the memory is the page cache's, which fsync uses and O_DIRECT does "
         "not\n";
}

// Returns the lines for a MariaDB that keeps its tables in MyRocks. Its variable for the memtables,
// the filter and the compression of all tables is a text, which the results have.
std::string MyRocksCnf(const AdvisedWay& way) {
  const char* const direct = way.io == "direct" ? "ON" : "OFF";
  const std::string block =
      way.page_size == 0 ? "" : fmt::format("  rocksdb_block_size = {}\n", way.page_size);
  return fmt::format(
      "my.cnf\n"
      "  [mariadb]\n"
      "  plugin_load_add = ha_rocksdb\n"
      "  rocksdb_block_cache_size = {}\n"
      "{}"
      "  rocksdb_use_direct_reads = {}\n"
      "  rocksdb_use_direct_io_for_flush_and_compaction = {}\n"
      "  # memtables, filter and compression: rocksdb_default_cf_options in `engine.effective` of "
      "the\n"
      "  # results, by which they were measured\n",
      Megabytes(way.cache_bytes), block, direct, direct);
}

std::string PostgresqlConf(const AdvisedWay& way) {
  std::string text = fmt::format(
      "postgresql.conf\n"
      "  shared_buffers = {}B\n"
      "  effective_cache_size = {}B\n",
      Megabytes(way.cache_bytes), Megabytes(way.ram_bytes));
  text += WalLines(way);
  if (way.io != "buffered") {
    text += fmt::format("  # {} does not carry over: PostgreSQL reads through the page cache\n",
                        way.io);
  }
  if (way.page_size != 8192) {
    text += fmt::format(
        "  # pages of {} do not carry over as a setting: a server is built --with-blocksize\n",
        ShortSize(way.page_size));
  }
  return text + CompressionLine(way, "PostgreSQL compresses long values and no pages");
}

// Returns RocksDB's lines for the tables: their compression, because RocksDB uses Snappy when none
// is set, and the memtables and files that were measured. RocksDB's own default is two memtables of
// 64M beside the cache.
std::string RocksdbTables(const AdvisedWay& way) {
  static const std::map<std::string, std::string> types = {
      {"none", "kNoCompression"}, {"snappy", "kSnappyCompression"}, {"zlib", "kZlibCompression"},
      {"lz4", "kLZ4Compression"}, {"lz4hc", "kLZ4HCCompression"},   {"zstd", "kZSTD"}};
  const auto type = types.find(way.compression);
  std::string lines, note;
  if (type == types.end()) {
    note = CompressionLine(way, "an OPTIONS file has no such type");
  } else {
    lines = fmt::format("    compression={}\n", type->second);
  }
  for (const auto& [name, value] : way.rocksdb_sizes) {
    lines += fmt::format("    {}={}\n", name, value);
  }
  return note + (lines.empty() ? "" : "  [CFOptions \"default\"]\n" + lines);
}

// Returns mongod's lines for the compression. mongod uses Snappy when none is set.
std::string MongodCompression(const AdvisedWay& way) {
  for (const char* known : {"none", "snappy", "zlib", "zstd"}) {
    if (way.compression != known) continue;
    return fmt::format("      collectionConfig:\n        blockCompressor: {}\n", known);
  }
  return CompressionLine(way, "mongod takes none, snappy, zlib or zstd");
}

std::string RocksdbOptions(const AdvisedWay& way) {
  return fmt::format(
      "RocksDB OPTIONS\n"
      "  [DBOptions]\n"
      "    use_direct_reads={}\n"
      "    use_direct_io_for_flush_and_compaction={}\n"
      "    allow_mmap_reads={}\n"
      "{}"
      "  [TableOptions/BlockBasedTable \"default\"]\n"
      "    block_size={}\n"
      "{}"
      "    block_cache={}   # an OPTIONS file holds no cache; set it where the database is "
      "opened\n",
      way.io == "direct", way.io == "direct", way.io == "mmap", RocksdbTables(way), way.page_size,
      way.rocksdb_filter.empty() ? "" : fmt::format("    filter_policy={}\n", way.rocksdb_filter),
      Megabytes(way.cache_bytes));
}

std::string MongodConf(const AdvisedWay& way) {
  // The smallest cache that mongod accepts.
  constexpr double kLeastGigabytes = 0.25;
  const double cache = static_cast<double>(way.cache_bytes) / (1 << 30);
  std::string size = fmt::format("{:.4g}", cache);
  if (cache < kLeastGigabytes) {
    size = fmt::format(
        "{}   # the least that mongod takes; {} was measured: give advise the server's --ram",
        kLeastGigabytes, size);
  }
  std::string text = fmt::format(
      "mongod.conf\n"
      "  storage:\n"
      "    wiredTiger:\n"
      "      engineConfig:\n"
      "        cacheSizeGB: {0}\n"
      "{2}"
      "  # pages of {1}: db.createCollection(NAME, {{storageEngine: {{wiredTiger: {{configString:\n"
      "  #   'leaf_page_max={1}'}}}}}})\n",
      size, ShortSize(way.page_size) + "B", MongodCompression(way));
  if (way.io != "buffered") {
    text += fmt::format("  # {} does not carry over: mongod has no setting for it\n", way.io);
  }
  if (way.checkpoint_log_bytes != 0) {
    text += fmt::format(
        "  # a checkpoint after each {} of log does not carry over: mongod takes one each 60 s\n"
        "  # (storage.syncPeriodSecs)\n",
        Megabytes(way.checkpoint_log_bytes));
  }
  return text;
}

// Returns a line with the durability of the measured commits. No setting is advised, because each
// server has settings and levels of its own, and its application chooses among them.
std::string DurabilityLine(const AdvisedWay& way) {
  if (way.durability.empty()) return "";
  return fmt::format(
      "  # commits were measured with --durability {}; for another level of the server give advise "
      "--set durability=LEVEL\n",
      way.durability);
}

// Returns a line with the command that gives the device the readahead of the measurement.
std::string ReadaheadLine(const AdvisedWay& way) {
  constexpr uint64_t kSector = 512;
  if (!way.readahead_bytes) return "";
  return fmt::format("  # measured with read_ahead_kb = {}: blockdev --setra {} DEVICE\n",
                     *way.readahead_bytes / 1024, *way.readahead_bytes / kSector);
}

std::string OfServers(const AdvisedWay& way) {
  if (way.engine == "innodb" || way.engine == "mysql") return MyCnf(way);
  if (way.engine == kMyRocks) return MyRocksCnf(way);
  if (way.engine == "postgres") return PostgresqlConf(way);
  if (way.engine == "rocksdb") return RocksdbOptions(way);
  if (way.engine == "wiredtiger") return MongodConf(way);
  if (way.engine == "btree") {
    return "As a hint only, since testbed's own b-tree was measured (--engine innodb measures "
           "InnoDB):\n" +
           MyCnf(way) + PostgresqlConf(way);
  }
  return fmt::format("No server's configuration: {} runs inside the program that uses it.\n",
                     way.engine);
}

}  // namespace

bool IsForAdvice(const std::string& setting) {
  const auto is_it = [&](const char* name) { return setting == name; };
  return std::any_of(std::begin(kRocksdbSizes), std::end(kRocksdbSizes), is_it) ||
         std::any_of(std::begin(kInnodbWriting), std::end(kInnodbWriting), is_it) ||
         is_it(kCheckpointLog);
}

std::string ConfigurationText(const AdvisedWay& way) {
  return OfServers(way) + DurabilityLine(way) + ReadaheadLine(way);
}

}  // namespace testbed

#include "engines/rocksdb/options.h"

#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/secondary_cache.h>
#include <rocksdb/utilities/options_util.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <map>
#include <type_traits>

#include "device/error.h"
#include "engines/extra_options.h"

namespace testbed {
namespace {

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kTiB = kMiB * kMiB;

// testbed's names of compressions, those of other engines where they are the same.
const std::map<std::string, rocksdb::CompressionType>& CompressionNames() {
  static const std::map<std::string, rocksdb::CompressionType> names = {
      {"none", rocksdb::kNoCompression},   {"snappy", rocksdb::kSnappyCompression},
      {"lz4", rocksdb::kLZ4Compression},   {"lz4hc", rocksdb::kLZ4HCCompression},
      {"zlib", rocksdb::kZlibCompression}, {"zstd", rocksdb::kZSTD},
  };
  return names;
}

const char* CompressionName(rocksdb::CompressionType type) {
  for (const auto& [name, known] : CompressionNames()) {
    if (known == type) return name.c_str();
  }
  return "other";
}

// Memory for rows not yet in tables. Without a budget RocksDB's default, two buffers of 64 MiB;
// with one, an eighth of it, less where the block cache leaves less than half of it to everything
// else.
uint64_t MemtableBytes(const EngineOptions& options) {
  if (options.ram_bytes == 0) return 128 * kMiB;
  const uint64_t rest =
      options.ram_bytes > options.cache_bytes ? options.ram_bytes - options.cache_bytes : 0;
  return std::clamp<uint64_t>(std::min(options.ram_bytes / 8, rest / 4), kMiB, 128 * kMiB);
}

std::shared_ptr<rocksdb::Cache> MakeCache(const EngineOptions& options, const ExtraOptions& extra) {
  const bool clock = extra.Choice("cache_type", "lru", {"lru", "hyper-clock"}) == "hyper-clock";
  const int shard_bits = extra.Has("cache_shard_bits")
                             ? static_cast<int>(extra.Integer("cache_shard_bits", 0, 0, 19))
                             : -1;
  const uint64_t compressed = extra.Bytes("compressed_secondary_cache", 0, 0, kTiB);
  if (clock) {
    if (compressed != 0) {
      throw Error(Error::kUsage,
                  "rocksdb cannot honour compressed_secondary_cache with cache_type=hyper-clock: "
                  "use cache_type=lru");
    }
    return rocksdb::HyperClockCacheOptions(options.cache_bytes, options.page_size, shard_bits)
        .MakeSharedCache();
  }
  rocksdb::LRUCacheOptions lru;
  lru.capacity = options.cache_bytes;
  lru.num_shard_bits = shard_bits;
  if (compressed != 0) {
    rocksdb::CompressedSecondaryCacheOptions secondary;
    secondary.capacity = compressed;
    secondary.compression_type = rocksdb::kLZ4Compression;
    lru.secondary_cache = rocksdb::NewCompressedSecondaryCache(secondary);
  }
  return rocksdb::NewLRUCache(lru);
}

void SetBlocks(const EngineOptions& options, const ExtraOptions& extra, RocksdbOptions* out) {
  rocksdb::BlockBasedTableOptions& blocks = out->blocks;
  out->cache = MakeCache(options, extra);
  blocks.block_cache = out->cache;
  blocks.block_size = options.page_size;
  // In the cache, so that the budget holds all of it; RocksDB's default keeps them beside it.
  blocks.cache_index_and_filter_blocks = extra.Flag("index_filter_in_cache", true);
  blocks.block_align = extra.Flag("block_align", false);
  if (blocks.block_align && options.compression != "none") {
    throw Error(Error::kUsage,
                "rocksdb cannot honour block_align with --compression " + options.compression +
                    ": blocks of unequal size have no alignment; use --compression none");
  }
  const double bits = extra.Number("bloom_bits", 10, 0, 100);
  if (bits > 0) blocks.filter_policy.reset(rocksdb::NewBloomFilterPolicy(bits));
}

void SetTable(const EngineOptions& options, const ExtraOptions& extra, RocksdbOptions* out) {
  rocksdb::ColumnFamilyOptions& table = out->table;
  table.table_factory.reset(rocksdb::NewBlockBasedTableFactory(out->blocks));
  table.compression = CompressionNames().at(options.compression);
  table.paranoid_file_checks = false;  // reads every new table once more: not IO of the workload
  table.force_consistency_checks = true;
  table.max_write_buffer_number =
      static_cast<int>(extra.Integer("max_write_buffer_number", 2, 2, 64));
  const uint64_t memtables = MemtableBytes(options);
  table.write_buffer_size = extra.Bytes(
      "write_buffer_size", memtables / static_cast<uint64_t>(table.max_write_buffer_number),
      64 * kKiB, kTiB);
  // The sizes of levels follow the write buffer, as RocksDB's own helper
  // OptimizeLevelStyleCompaction has it: level 1 as large as what triggers a compaction into it.
  table.max_bytes_for_level_base = extra.Bytes(
      "max_bytes_for_level_base",
      table.write_buffer_size * static_cast<uint64_t>(table.level0_file_num_compaction_trigger),
      kMiB, kTiB);
  table.target_file_size_base = extra.Bytes(
      "target_file_size", std::max<uint64_t>(table.write_buffer_size, 4 * kMiB), 64 * kKiB, kTiB);
  table.level_compaction_dynamic_level_bytes = true;
  if (extra.Choice("compaction_style", "level", {"level", "universal"}) == "universal") {
    table.compaction_style = rocksdb::kCompactionStyleUniversal;
  }
}

void SetDb(const EngineOptions& options, const ExtraOptions& extra, RocksdbOptions* out) {
  rocksdb::DBOptions& db = out->db;
  db.create_if_missing = options.create;
  db.paranoid_checks = true;
  db.use_direct_reads = options.io == IoMode::kDirect;
  db.use_direct_io_for_flush_and_compaction = options.io == IoMode::kDirect;
  db.allow_mmap_reads = options.io == IoMode::kMmap;
  db.advise_random_on_open =
      options.io == IoMode::kBuffered && options.file_advice == Advice::kRandom;
  db.compaction_readahead_size = extra.Bytes("compaction_readahead", 2 * kMiB, 0, kTiB);
  db.max_background_jobs = static_cast<int>(extra.Integer("max_background_jobs", 2, 1, 1024));
  db.max_subcompactions = static_cast<uint32_t>(extra.Integer("max_subcompactions", 1, 1, 1024));
  db.bytes_per_sync = extra.Bytes("bytes_per_sync", 0, 0, kTiB);
  db.wal_bytes_per_sync = extra.Bytes("wal_bytes_per_sync", 0, 0, kTiB);
  db.recycle_log_file_num = extra.Integer("recycle_log_file_num", 0, 0, 1024);
  // All tables together stay within the write buffers of one.
  db.db_write_buffer_size =
      out->table.write_buffer_size * static_cast<uint64_t>(out->table.max_write_buffer_number);
  if (extra.Flag("memtable_in_cache", false)) {
    db.write_buffer_manager =
        std::make_shared<rocksdb::WriteBufferManager>(db.db_write_buffer_size, out->cache);
  }
  // Tables are opened on the thread that opens the database, which pays for it.
  db.max_file_opening_threads = 1;
  // No work by timer, no retry behind a run's back.
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  db.max_bgerror_resume_count = 0;
  db.keep_log_file_num = 2;
}

// "a=b" pairs in the form that the report prints.
class Settings {
 public:
  explicit Settings(std::vector<std::pair<std::string, std::string>>* out) : out_(*out) {}
  template <typename T>
  void Add(const char* name, const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      out_.emplace_back(name, value ? "on" : "off");
    } else if constexpr (std::is_arithmetic_v<T>) {
      out_.emplace_back(name, std::to_string(value));
    } else {
      out_.emplace_back(name, value);
    }
  }

 private:
  std::vector<std::pair<std::string, std::string>>& out_;
};

void DescribeDb(const rocksdb::DBOptions& db, Settings* s) {
  s->Add("use_direct_reads", db.use_direct_reads);
  s->Add("use_direct_io_for_flush_and_compaction", db.use_direct_io_for_flush_and_compaction);
  s->Add("allow_mmap_reads", db.allow_mmap_reads);
  s->Add("advise_random_on_open", db.advise_random_on_open);
  s->Add("compaction_readahead_size", db.compaction_readahead_size);
  s->Add("max_background_jobs", db.max_background_jobs);
  s->Add("max_subcompactions", db.max_subcompactions);
  s->Add("bytes_per_sync", db.bytes_per_sync);
  s->Add("wal_bytes_per_sync", db.wal_bytes_per_sync);
  s->Add("recycle_log_file_num", db.recycle_log_file_num);
  s->Add("db_write_buffer_size", db.db_write_buffer_size);
  s->Add("max_open_files", db.max_open_files);
  s->Add("paranoid_checks", db.paranoid_checks);
  s->Add("manual_wal_flush", db.manual_wal_flush);
  s->Add("enable_pipelined_write", db.enable_pipelined_write);
  s->Add("allow_concurrent_memtable_write", db.allow_concurrent_memtable_write);
}

void DescribeTable(const rocksdb::ColumnFamilyOptions& table, Settings* s) {
  const bool level = table.compaction_style == rocksdb::kCompactionStyleLevel;
  s->Add("compaction_style", std::string(level ? "level" : "universal"));
  s->Add("compression", std::string(CompressionName(table.compression)));
  s->Add("write_buffer_size", table.write_buffer_size);
  s->Add("max_write_buffer_number", table.max_write_buffer_number);
  s->Add("target_file_size_base", table.target_file_size_base);
  s->Add("max_bytes_for_level_base", table.max_bytes_for_level_base);
  s->Add("max_bytes_for_level_multiplier", table.max_bytes_for_level_multiplier);
  s->Add("level_compaction_dynamic_level_bytes", table.level_compaction_dynamic_level_bytes);
  s->Add("level0_file_num_compaction_trigger", table.level0_file_num_compaction_trigger);
  s->Add("level0_slowdown_writes_trigger", table.level0_slowdown_writes_trigger);
  s->Add("level0_stop_writes_trigger", table.level0_stop_writes_trigger);
  s->Add("num_levels", table.num_levels);
  const auto* blocks = table.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  if (blocks == nullptr) return;
  s->Add("block_size", blocks->block_size);
  s->Add("block_align", blocks->block_align);
  s->Add("format_version", blocks->format_version);
  s->Add("filter_policy",
         blocks->filter_policy ? blocks->filter_policy->GetId() : std::string("none"));
  s->Add("cache_index_and_filter_blocks", blocks->cache_index_and_filter_blocks);
  s->Add("cache_index_and_filter_blocks_with_high_priority",
         blocks->cache_index_and_filter_blocks_with_high_priority);
  s->Add("max_auto_readahead_size", blocks->max_auto_readahead_size);
}

}  // namespace

RocksdbOptions MakeRocksdbOptions(const EngineOptions& options) {
  const ExtraOptions extra("rocksdb", options.extra);
  RocksdbOptions out;
  SetBlocks(options, extra, &out);
  SetTable(options, extra, &out);
  SetDb(options, extra, &out);
  out.write.sync = options.durability == Durability::kSync;
  out.write.disableWAL = options.durability == Durability::kNone;
  out.read.verify_checksums = extra.Flag("verify_checksums", true);
  out.compact_range_on_settle =
      extra.Choice("settle", "wait", {"wait", "compact-range"}) == "compact-range";
  return out;
}

Capabilities RocksdbCapabilities() {
  Capabilities can;
  can.io_modes = {IoMode::kDirect, IoMode::kBuffered, IoMode::kMmap};
  can.durabilities = {Durability::kSync, Durability::kLazy, Durability::kNone};
  const std::vector<rocksdb::CompressionType> supported = rocksdb::GetSupportedCompressions();
  can.compressions = {"none"};
  for (const auto& [name, type] : CompressionNames()) {
    const bool has = std::find(supported.begin(), supported.end(), type) != supported.end();
    if (has && name != "none") can.compressions.push_back(name);
  }
  can.min_page_size = 1024;
  can.max_page_size = 1024 * 1024;
  can.max_key_size = 8 * kMiB;       // as RocksDB's FAQ has it
  can.max_value_size = 3072 * kMiB;  // likewise
  can.resizable_cache = true;
  can.extra_options = {
      {"block_align", "pad data blocks to a divisor of the page size (off)"},
      {"bloom_bits", "bits a key of the Bloom filters, 0 = none (10)"},
      {"bytes_per_sync", "start writeback of tables after each so many bytes, 0 = never (0)"},
      {"cache_shard_bits", "shards of the block cache, as a power of two (RocksDB chooses)"},
      {"cache_type", "lru or hyper-clock (lru)"},
      {"compaction_readahead", "bytes that a compaction reads at once (2M)"},
      {"compaction_style", "level or universal (level)"},
      {"compressed_secondary_cache", "bytes of a compressed cache behind the cache, 0 = none (0)"},
      {"index_filter_in_cache", "index and filter blocks live in the cache (on)"},
      {"max_background_jobs", "threads for flush and compaction (2)"},
      {"max_bytes_for_level_base", "size of level 1 (4 write buffers)"},
      {"max_subcompactions", "threads of one compaction (1)"},
      {"max_write_buffer_number", "write buffers a table may have (2)"},
      {"memtable_in_cache", "charge write buffers to the cache (off)"},
      {"recycle_log_file_num", "log files kept to be written over (0)"},
      {"settle", "wait = flush and wait for compactions, compact-range = into one level (wait)"},
      {"target_file_size", "size of a table (the write buffer, at least 4M)"},
      {"verify_checksums", "check a block's checksum at each read (on)"},
      {"wal_bytes_per_sync", "start writeback of the log after each so many bytes, 0 = never (0)"},
      {"write_buffer_size", "bytes of one write buffer (an eighth of --ram / buffers, or 64M)"},
  };
  return can;
}

uint64_t RecordedBlockSize(const std::string& dir) {
  rocksdb::ConfigOptions config;
  config.ignore_unknown_options = true;
  config.ignore_unsupported_options = true;
  rocksdb::DBOptions db;
  std::vector<rocksdb::ColumnFamilyDescriptor> tables;
  if (!rocksdb::LoadLatestOptions(config, dir, &db, &tables).ok() || tables.empty()) return 0;
  if (tables[0].options.table_factory == nullptr) return 0;
  const auto* blocks =
      tables[0].options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  return blocks == nullptr ? 0 : blocks->block_size;
}

std::vector<std::pair<std::string, std::string>> DescribeRocksdb(rocksdb::DB* db,
                                                                 const RocksdbOptions& options) {
  std::vector<std::pair<std::string, std::string>> out;
  Settings s(&out);
  s.Add("version", rocksdb::GetRocksVersionAsString());
  DescribeDb(db->GetDBOptions(), &s);
  DescribeTable(db->GetOptions(db->DefaultColumnFamily()), &s);
  s.Add("block_cache", std::string(options.cache->Name()));
  s.Add("block_cache_capacity", options.cache->GetCapacity());
  s.Add("strict_capacity_limit", options.cache->HasStrictCapacityLimit());
  // Write buffers are no part of the block cache: they are memory of the process beside it.
  const bool charged = options.db.write_buffer_manager != nullptr;
  s.Add("memtables_charged_to", std::string(charged ? "block cache" : "process, beside the cache"));
  // In mmap mode RocksDB keeps no copy of an uncompressed block: its cache stays all but empty.
  s.Add("wal_io", std::string("buffered"));
  s.Add("wal", !options.write.disableWAL);
  s.Add("sync", options.write.sync);
  s.Add("verify_checksums", options.read.verify_checksums);
  s.Add("settle", std::string(options.compact_range_on_settle ? "compact-range" : "wait"));
  return out;
}

}  // namespace testbed

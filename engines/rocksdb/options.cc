#include "engines/rocksdb/options.h"

#include <rocksdb/compaction_filter.h>
#include <rocksdb/convenience.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/utilities/options_util.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <map>
#include <memory>
#include <thread>

#include "device/error.h"
#include "engines/extra_options.h"
#include "engines/rocksdb/sanitized_options.h"

namespace testbed {
namespace {

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kTiB = kMiB * kMiB;
constexpr size_t kOfOneTable = SIZE_MAX;  // a db_write_buffer_size that nobody gave; 0 is no limit
constexpr uint64_t kMostOfBuffer = 64 * 1024 * kMiB;  // RocksDB uses this value for all above it

// Returns RocksDB's compressions by testbed's names, which other engines use, too.
const std::map<std::string, rocksdb::CompressionType>& CompressionNames() {
  static const std::map<std::string, rocksdb::CompressionType> names = {
      {"none", rocksdb::kNoCompression},   {"snappy", rocksdb::kSnappyCompression},
      {"lz4", rocksdb::kLZ4Compression},   {"lz4hc", rocksdb::kLZ4HCCompression},
      {"zlib", rocksdb::kZlibCompression}, {"zstd", rocksdb::kZSTD},
  };
  return names;
}

// Returns how many bytes of rows memtables may have. Without a memory budget it is RocksDB's
// default, two buffers of 64 MiB. With a budget it is an eighth of the budget, or half of what the
// block cache leaves when that is less.
uint64_t MemtableBytes(const EngineOptions& options) {
  if (options.ram_bytes == 0) return 128 * kMiB;
  const uint64_t rest =
      options.ram_bytes > options.cache_bytes ? options.ram_bytes - options.cache_bytes : 0;
  return std::clamp<uint64_t>(std::min(options.ram_bytes / 8, rest / 2), kMiB, 128 * kMiB);
}

// Returns the bytes that one entry of the cache is assumed to hold, from which a HyperClockCache
// before RocksDB 9 sizes its table once and for all. The number is smaller when the cache may grow
// later. A table with too few slots leaves a part of the cache unused: 52 of 61 MB were used when
// blocks of 8k were assumed to be full. Each slot too many costs 64 bytes.
size_t EntryCharge(const EngineOptions& options) {
  if (kRocksdbClockCacheGrows) return 0;
  const uint64_t most = std::max(options.cache_bytes, options.most_cache_bytes);
  const double share = most == 0 ? 1 : static_cast<double>(options.cache_bytes) / most;
  return std::max<size_t>(256, static_cast<size_t>(options.page_size * 0.75 * share));
}

std::shared_ptr<rocksdb::Cache> MakeCache(
    const EngineOptions& options, const ExtraOptions& extra,
    std::shared_ptr<const std::atomic<uint64_t>>* compressed_bytes) {
  const uint64_t compressed = extra.Bytes("compressed_secondary_cache", 0, 0, kTiB);
  if (compressed != 0 && !kRocksdbHasCompressedCache) {
    RefuseForRelease("compressed_secondary_cache", "0");
  }
  const bool by_default = kRocksdbHasClockCache && compressed == 0;
  const bool clock = extra.Choice("cache_type", by_default ? "hyper-clock" : "lru",
                                  {"lru", "hyper-clock"}) == "hyper-clock";
  if (clock && !kRocksdbHasClockCache) RefuseForRelease("cache_type=hyper-clock", "lru");
  const int shard_bits = extra.Has("cache_shard_bits")
                             ? static_cast<int>(extra.Integer("cache_shard_bits", 0, 0, 19))
                             : -1;
  if (clock) {
    if (compressed != 0) {
      throw Error(Error::kUsage,
                  "rocksdb cannot honour compressed_secondary_cache with cache_type=hyper-clock: "
                  "use cache_type=lru");
    }
    return NewRocksdbClockCache(options.cache_bytes, EntryCharge(options), shard_bits);
  }
  rocksdb::LRUCacheOptions lru;
  lru.capacity = options.cache_bytes;
  lru.num_shard_bits = shard_bits;
  if (compressed != 0) *compressed_bytes = UseCompressedCache(compressed, &lru);
  return rocksdb::NewLRUCache(lru);
}

// Sets what RocksDB's developers recommend (wiki, "Setup Options and Basic Tuning") and is not the
// default. The sizes of levels follow from the `buffers` memtables of `write_buffer` bytes.
void SetDefaults(const EngineOptions& options, uint64_t write_buffer, int buffers,
                 RocksdbOptions* out) {
  out->blocks.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  rocksdb::ColumnFamilyOptions& table = out->table;
  table.max_write_buffer_number = buffers;
  table.write_buffer_size = write_buffer;
  // Level 1 gets the size of the files that trigger a compaction into it, as in RocksDB's own
  // helper OptimizeLevelStyleCompaction.
  table.max_bytes_for_level_base = std::max(
      kMiB, write_buffer * static_cast<uint64_t>(table.level0_file_num_compaction_trigger));
  table.target_file_size_base = std::max<uint64_t>(write_buffer, 4 * kMiB);
  table.level_compaction_dynamic_level_bytes = true;
  rocksdb::DBOptions& db = out->db;
  db.compaction_readahead_size = 2 * kMiB;
  db.max_background_jobs = static_cast<int>(std::max(2u, std::thread::hardware_concurrency()));
  db.bytes_per_sync = options.io == IoMode::kDirect ? 0 : kMiB;
  db.db_write_buffer_size = kOfOneTable;
}

}  // namespace

void RefuseForRelease(const std::string& setting, const std::string& accepted) {
  throw Error(Error::kUsage, "rocksdb " + rocksdb::GetRocksVersionAsString() +
                                 " has no --engine-option " + setting +
                                 ", which later releases have; it accepts " + accepted);
}

namespace {

// Throws Error (kUsage) with the message of a bad status of RocksDB's parser in one sentence. The
// sentence names the release, because another release may have the option.
[[noreturn]] void RefuseOption(const std::string& setting, const rocksdb::Status& status) {
  std::string why = status.ToString();
  std::replace(why.begin(), why.end(), '\n', ' ');
  throw Error(Error::kUsage, "rocksdb " + rocksdb::GetRocksVersionAsString() +
                                 " cannot honour --engine-option " + setting + ": " + why);
}

void TakeFile(const std::string& path, RocksdbOptions* out) {
  rocksdb::ConfigOptions config;
  config.ignore_unknown_options = false;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  rocksdb::DBOptions db;
  const rocksdb::Status status = rocksdb::LoadOptionsFromFile(config, path, &db, &families);
  if (!status.ok()) RefuseOption("options_file=" + path, status);
  out->db = db;
  out->table = families.at(0).options;
  const auto* blocks = out->table.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  if (blocks == nullptr) {
    throw Error(Error::kUsage, "rocksdb cannot honour --engine-option options_file=" + path +
                                   ": its tables are not block-based");
  }
  out->blocks = *blocks;
}

void TakeString(const std::string& text, RocksdbOptions* out) {
  rocksdb::ConfigOptions config;
  config.ignore_unknown_options = false;
  // By default RocksDB passes over objects that it does not have, such as memtable=nosuch.
  config.ignore_unsupported_options = false;
  // RocksDB passes over a filter policy that it does not have even so, and keeps the one before.
  rocksdb::BlockBasedTableOptions before = out->blocks;
  before.filter_policy.reset(rocksdb::NewBloomFilterPolicy(1));
  out->table.table_factory.reset(rocksdb::NewBlockBasedTableFactory(before));
  rocksdb::Options parsed;
  const rocksdb::Status status =
      rocksdb::GetOptionsFromString(config, rocksdb::Options(out->db, out->table), text, &parsed);
  if (!status.ok()) RefuseOption("options=" + text, status);
  out->db = rocksdb::DBOptions(parsed);
  out->table = rocksdb::ColumnFamilyOptions(parsed);
  const auto* blocks = parsed.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  if (blocks == nullptr) {
    throw Error(Error::kUsage, "rocksdb cannot honour --engine-option options=" + text +
                                   ": its tables are not block-based");
  }
  const std::shared_ptr<const rocksdb::FilterPolicy> own = out->blocks.filter_policy;
  out->blocks = *blocks;
  if (out->blocks.filter_policy != before.filter_policy) return;
  if (text.find("filter_policy") != std::string::npos) {
    throw Error(Error::kUsage, "rocksdb cannot honour --engine-option options=" + text +
                                   ": it has no such filter_policy");
  }
  out->blocks.filter_policy = own;
}

void SetFilter(const ExtraOptions& extra, rocksdb::BlockBasedTableOptions* blocks) {
  if (!extra.Has("bloom_bits") && !extra.Has("filter")) return;
  const double bits = extra.Number("bloom_bits", 10, 0, 100);
  const std::string kind = extra.Choice("filter", "bloom", {"bloom", "ribbon", "none"});
  if (bits == 0 || kind == "none") {
    blocks->filter_policy.reset();
  } else if (kind == "ribbon") {
    blocks->filter_policy.reset(NewRocksdbRibbonFilter(bits));
  } else {
    blocks->filter_policy.reset(rocksdb::NewBloomFilterPolicy(bits));
  }
}

// Sets the options that have names of their own in testbed, which override the earlier ones.
void SetNamedBlocks(const ExtraOptions& extra, rocksdb::BlockBasedTableOptions* blocks) {
  using Blocks = rocksdb::BlockBasedTableOptions;
  using Tier = rocksdb::PinningTier;
  SetFilter(extra, blocks);
  blocks->cache_index_and_filter_blocks =
      extra.Flag("index_filter_in_cache", blocks->cache_index_and_filter_blocks);
  blocks->block_align = extra.Flag("block_align", blocks->block_align);
  if (extra.Has("pin_index_filter")) {
    const std::string pin = extra.Choice("pin_index_filter", "none", {"none", "level-0", "all"});
    if (pin != "none" && !blocks->cache_index_and_filter_blocks) {
      throw Error(Error::kUsage,
                  "rocksdb cannot honour --engine-option pin_index_filter=" + pin +
                      " while index and filter stand outside of the cache: add --engine-option "
                      "index_filter_in_cache=on");
    }
    const Tier tier = pin == "all"       ? Tier::kAll
                      : pin == "level-0" ? Tier::kFlushedAndSimilar
                                         : Tier::kNone;
    blocks->metadata_cache_options.top_level_index_pinning = tier;
    blocks->metadata_cache_options.partition_pinning = tier;
    blocks->metadata_cache_options.unpartitioned_pinning = tier;
  }
  if (extra.Has("data_block_hash_index")) {
    blocks->data_block_index_type = extra.Flag("data_block_hash_index", false)
                                        ? Blocks::kDataBlockBinaryAndHash
                                        : Blocks::kDataBlockBinarySearch;
  }
  if (extra.Has("partitioned_index_filter")) {
    const bool parts = extra.Flag("partitioned_index_filter", false);
    blocks->index_type = parts ? Blocks::kTwoLevelIndexSearch : Blocks::kBinarySearch;
    blocks->partition_filters = parts && blocks->filter_policy != nullptr;
  }
}

// Returns the value of the option `name`, if the user gave it. If not, returns `otherwise`, which
// may be below `least`, since RocksDB's own syntax may have set it.
int Whole(const ExtraOptions& extra, const char* name, int otherwise, int least) {
  if (!extra.Has(name)) return otherwise;
  return static_cast<int>(
      extra.Integer(name, static_cast<uint64_t>(least), static_cast<uint64_t>(least), 1 << 20));
}

void SetNamedTable(const ExtraOptions& extra, rocksdb::ColumnFamilyOptions* table) {
  table->max_write_buffer_number = static_cast<int>(extra.Integer(
      "max_write_buffer_number", static_cast<uint64_t>(table->max_write_buffer_number), 2, 64));
  table->write_buffer_size =
      extra.Bytes("write_buffer_size", table->write_buffer_size, 64 * kKiB, kMostOfBuffer);
  table->max_bytes_for_level_base =
      extra.Bytes("max_bytes_for_level_base", table->max_bytes_for_level_base, kMiB, kTiB);
  table->target_file_size_base =
      extra.Bytes("target_file_size", table->target_file_size_base, 64 * kKiB, kTiB);
  table->level0_file_num_compaction_trigger =
      Whole(extra, "level0_compaction_trigger", table->level0_file_num_compaction_trigger, 1);
  table->level0_slowdown_writes_trigger =
      Whole(extra, "level0_slowdown_trigger", table->level0_slowdown_writes_trigger, 1);
  table->level0_stop_writes_trigger =
      Whole(extra, "level0_stop_trigger", table->level0_stop_writes_trigger, 1);
  if (extra.Has("compaction_style")) {
    table->compaction_style =
        extra.Choice("compaction_style", "level", {"level", "universal"}) == "universal"
            ? rocksdb::kCompactionStyleUniversal
            : rocksdb::kCompactionStyleLevel;
  }
}

void SetNamedDb(const ExtraOptions& extra, rocksdb::DBOptions* db) {
  db->compaction_readahead_size =
      extra.Bytes("compaction_readahead", db->compaction_readahead_size, 0, kTiB);
  db->max_background_jobs = Whole(extra, "max_background_jobs", db->max_background_jobs, 1);
  db->max_subcompactions = static_cast<uint32_t>(
      Whole(extra, "max_subcompactions", static_cast<int>(db->max_subcompactions), 1));
  if (db->max_subcompactions > 1 && !kRocksdbTellsSubcompactions) {
    RefuseForRelease("max_subcompactions=" + std::to_string(db->max_subcompactions), "1");
  }
  db->bytes_per_sync = extra.Bytes("bytes_per_sync", db->bytes_per_sync, 0, kTiB);
  db->wal_bytes_per_sync = extra.Bytes("wal_bytes_per_sync", db->wal_bytes_per_sync, 0, kTiB);
  db->recycle_log_file_num =
      extra.Integer("recycle_log_file_num", db->recycle_log_file_num, 0, 1024);
}

// Sets the options that the run's own options decide, and those on which the run's figures and
// promises rest.
void SetRun(const EngineOptions& options, RocksdbOptions* out) {
  rocksdb::DBOptions& db = out->db;
  db.create_if_missing = options.create;
  db.create_missing_column_families = false;
  db.error_if_exists = false;
  db.paranoid_checks = true;
  db.track_and_verify_wals_in_manifest = kRocksdbTracksLogs;
  db.use_direct_reads = options.io == IoMode::kDirect;
  db.use_direct_io_for_flush_and_compaction = options.io == IoMode::kDirect;
  db.allow_mmap_reads = options.io == IoMode::kMmap;
  db.allow_mmap_writes = false;
  db.advise_random_on_open =
      options.io == IoMode::kBuffered && options.file_advice == Advice::kRandom;
  db.manual_wal_flush = false;
  db.unordered_write = false;
  db.avoid_flush_during_shutdown = false;
  db.avoid_flush_during_recovery = false;
  db.db_paths.clear();
  db.db_log_dir.clear();
  db.wal_dir.clear();
  db.row_cache = nullptr;  // a row cache would be memory outside of the cache
  // The thread that opens the database also opens the tables, so that their IO is charged to it.
  db.max_file_opening_threads = 1;
  // No timer starts work, and nothing is retried without the run's knowledge.
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  db.max_bgerror_resume_count = 0;
  db.keep_log_file_num = 2;
  rocksdb::ColumnFamilyOptions& table = out->table;
  table.compression = CompressionNames().at(options.compression);
  table.compression_per_level.clear();
  table.bottommost_compression = rocksdb::kDisableCompressionOption;
  table.blob_compression_type = table.compression;
  table.paranoid_file_checks = false;  // would read every new table again: not IO of the workload
  table.force_consistency_checks = true;
  table.inplace_update_support = false;
  table.comparator = rocksdb::BytewiseComparator();
  table.cf_paths.clear();
  rocksdb::BlockBasedTableOptions& blocks = out->blocks;
  blocks.block_cache = out->cache;
  blocks.no_block_cache = false;
  blocks.block_size = options.page_size;
}

// Returns the name of an option of SetRun that the user's own text has changed, or "".
std::string Changed(const EngineOptions& options, const RocksdbOptions& read) {
  RocksdbOptions set = read;
  SetRun(options, &set);
  if (set.db.row_cache != read.db.row_cache) return "row_cache";
  if (set.blocks.block_cache != read.blocks.block_cache) return "block_cache";
  return FirstDifference(set, read);
}

void TakeOptions(const EngineOptions& options, RocksdbOptions* out) {
  const auto file = options.extra.find("options_file");
  if (file != options.extra.end()) {
    TakeFile(file->second, out);
    AddGivenFile(file->second, *out, &out->given);
  }
  SetRun(options, out);
  const auto text = options.extra.find("options");
  if (text == options.extra.end()) return;
  const RocksdbOptions before = *out;
  TakeString(text->second, out);
  const std::string changed = Changed(options, *out);
  if (changed.empty()) {
    AddGivenText(text->second, before, *out, &out->given);
    return;
  }
  throw Error(Error::kUsage, "rocksdb cannot honour --engine-option options=" + text->second +
                                 ": " + changed +
                                 " follows from the run's own options (--io, --page-size, "
                                 "--compression, the cache) or is what its figures rest on; leave "
                                 "it out");
}

void CheckTogether(const EngineOptions& options, const RocksdbOptions& out) {
  if (out.blocks.block_align && options.compression != "none") {
    throw Error(Error::kUsage,
                "rocksdb cannot honour block_align with --compression " + options.compression +
                    ": blocks of unequal size have no alignment; use --compression none");
  }
  if (out.table.compaction_style == rocksdb::kCompactionStyleFIFO) {
    throw Error(Error::kUsage,
                "rocksdb cannot honour compaction_style=kCompactionStyleFIFO: it deletes rows; it "
                "accepts level and universal");
  }
  if (out.table.compaction_filter != nullptr || out.table.compaction_filter_factory != nullptr) {
    // RocksDB leaves a filter that it has made of a text to the caller.
    const std::unique_ptr<const rocksdb::CompactionFilter> made(out.table.compaction_filter);
    throw Error(Error::kUsage,
                "rocksdb cannot honour a compaction filter: it deletes rows; leave it out");
  }
}

}  // namespace

RocksdbOptions MakeRocksdbOptions(const EngineOptions& options) {
  const ExtraOptions extra("rocksdb", options.extra);
  RocksdbOptions out;
  out.cache = MakeCache(options, extra, &out.compressed_cache_bytes);
  const int buffers = static_cast<int>(extra.Integer("max_write_buffer_number", 2, 2, 64));
  SetDefaults(
      options,
      extra.Bytes("write_buffer_size", MemtableBytes(options) / static_cast<uint64_t>(buffers),
                  64 * kKiB, kMostOfBuffer),
      buffers, &out);
  TakeOptions(options, &out);
  SetNamedBlocks(extra, &out.blocks);
  SetNamedTable(extra, &out.table);
  SetNamedDb(extra, &out.db);
  CheckTogether(options, out);
  CheckSanitized(extra, out.given, options.durability, out.db, out.table);
  out.index_filter_charged = extra.Flag("index_filter_charged", kRocksdbChargesReaders);
  if (out.index_filter_charged && !kRocksdbChargesReaders) {
    RefuseForRelease("index_filter_charged=on", "off");
  }
  if (!out.blocks.cache_index_and_filter_blocks && out.index_filter_charged) {
    // Index and filter blocks that are not cached still reserve their memory in the cache.
    ChargeTableReaders(&out.blocks);
  }
  CheckRead(out);
  out.table.table_factory.reset(rocksdb::NewBlockBasedTableFactory(out.blocks));
  // Unless the user says otherwise, the write buffers of all tables together stay within the size
  // for one table.
  if (out.db.db_write_buffer_size == kOfOneTable) {
    out.db.db_write_buffer_size =
        out.table.write_buffer_size * static_cast<uint64_t>(out.table.max_write_buffer_number);
  }
  if (extra.Flag("memtable_in_cache", false)) {
    out.db.write_buffer_manager =
        std::make_shared<rocksdb::WriteBufferManager>(out.db.db_write_buffer_size, out.cache);
  }
  out.write.sync = options.durability == Durability::kSync;
  out.write.disableWAL = options.durability == Durability::kNone;
  out.read.verify_checksums = extra.Flag("verify_checksums", true);
  // A prefix extractor must not change which rows a cursor finds.
  out.read.auto_prefix_mode = out.table.prefix_extractor != nullptr;
  out.compact_range_on_settle =
      extra.Choice("settle", "wait", {"wait", "compact-range"}) == "compact-range";
  if (extra.Has("tables")) {
    out.layout = extra.Choice("tables", "", {"key-prefix", "column-families"}) == "key-prefix"
                     ? RocksdbLayout::kKeyPrefix
                     : RocksdbLayout::kColumnFamilies;
  }
  return out;
}

void CheckRocksdbOptions(const EngineOptions& options) {
  // A HyperClockCache allocates its whole table when it is made, and a plan checks thousands of
  // cells. So this makes a small cache: no option is refused for the size of the cache.
  EngineOptions small = options;
  small.cache_bytes = std::min(options.cache_bytes, 8 * kMiB);
  const RocksdbOptions made = MakeRocksdbOptions(small);
  const std::shared_ptr<rocksdb::TableFactory> factory(
      rocksdb::NewBlockBasedTableFactory(made.blocks));
  const rocksdb::Status status = factory->ValidateOptions(made.db, made.table);
  if (status.ok()) return;
  throw Error(Error::kUsage,
              "rocksdb cannot honour the values of --engine-option: " + status.ToString());
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
  can.max_key_size = kLongestRocksdbKey;
  can.max_value_size = kLongestRocksdbValue;
  can.resizable_cache = true;
  can.extra_options = {
      {"block_align", "on, off: pad data blocks to multiples of min(4k, page size) (off)"},
      {"bloom_bits", "bits of the filter for each key, 0 = no filter (10)"},
      {"bytes_per_sync",
       "bytes of a table file between two starts of its write-back; 0 = never (1M; direct: 0)"},
      {"cache_shard_bits", "n, for 2^n shards of the block cache (RocksDB chooses)"},
      {"cache_type", "lru or hyper-clock (hyper-clock from 7.8, else lru)"},
      {"compaction_readahead", "bytes that a compaction reads at once (2M)"},
      {"compaction_style", "level or universal (level)"},
      {"compressed_secondary_cache",
       "bytes of a cache of compressed blocks behind the block cache (then lru) and beside its "
       "size, 0 = none (0)"},
      {"data_block_hash_index", "on, off: each data block has a hash index (off)"},
      {"filter", "filter of a table file: bloom, ribbon or none (bloom)"},
      {"index_filter_charged",
       "on, off: index and filter blocks outside of the cache count in its size (on from 7.4)"},
      {"index_filter_in_cache", "on, off: the block cache holds index and filter blocks (off)"},
      {"level0_compaction_trigger", "files of level 0 that start a compaction (4)"},
      {"level0_slowdown_trigger", "files of level 0 that slow writers down (20)"},
      {"level0_stop_trigger", "files of level 0 that stop writers (36)"},
      {"max_background_jobs", "threads for flushes and compactions (processors, at least 2)"},
      {"max_bytes_for_level_base", "size of level 1 (4 write buffers)"},
      {"max_subcompactions", "threads of one compaction (1)"},
      {"max_write_buffer_number", "most write buffers of a column family (2)"},
      {"memtable_in_cache", "on, off: write buffers count in the size of the block cache (off)"},
      {"options", "any options in RocksDB's own syntax, as in max_open_files=100;ttl=0"},
      {"options_file", "a file of options in RocksDB's format, which the other options override"},
      {"partitioned_index_filter", "on, off: index and filter have two levels (off)"},
      {"pin_index_filter",
       "none, level-0 or all: which index and filter blocks the cache never evicts (none)"},
      {"recycle_log_file_num", "old log files that are kept to be overwritten, from 9.9 (0)"},
      {"settle", "wait: for flushes and compactions; compact-range: compact into one level (wait)"},
      {"tables", "key-prefix: one column family; column-families: one per table (key-prefix)"},
      {"target_file_size", "size of a table file (the write buffer, at least 4M)"},
      {"verify_checksums", "on, off: each read of a block verifies its checksum (on)"},
      {"wal_bytes_per_sync", "bytes of the log per start of its write-back; 0 = never (0)"},
      {"write_buffer_size",
       "bytes of a write buffer (together --ram / 8, at most half the cache's rest and 128M)"},
  };
  return can;
}

std::vector<std::pair<std::string, std::string>> DescribeRocksdb(rocksdb::DB* db,
                                                                 const RocksdbOptions& options) {
  const auto flag = [](bool on) { return on ? "on" : "off"; };
  std::vector<std::pair<std::string, std::string>> out;
  out.emplace_back("version", rocksdb::GetRocksVersionAsString());
  out.emplace_back("assertions", flag(RocksdbHasAssertions()));
  for (auto& option : RocksdbOptionsInForce(db)) out.push_back(std::move(option));
  out.emplace_back("block_cache", options.cache->Name());
  out.emplace_back("block_cache_capacity", std::to_string(options.cache->GetCapacity()));
  out.emplace_back("strict_capacity_limit", flag(options.cache->HasStrictCapacityLimit()));
  // Write buffers are memory of the process outside of the block cache, unless they are charged to
  // it.
  const bool charged = options.db.write_buffer_manager != nullptr;
  out.emplace_back("memtables_charged_to", charged ? "block cache" : "process, beside the cache");
  const bool inside = options.blocks.cache_index_and_filter_blocks || options.index_filter_charged;
  out.emplace_back("index_filter_charged_to", inside ? "block cache" : "process, beside the cache");
  // RocksDB never writes its log with direct IO.
  out.emplace_back("wal_io", "buffered");
  out.emplace_back("wal", flag(!options.write.disableWAL));
  out.emplace_back("sync", flag(options.write.sync));
  out.emplace_back("verify_checksums", flag(options.read.verify_checksums));
  out.emplace_back("settle", options.compact_range_on_settle ? "compact-range" : "wait");
  return out;
}

}  // namespace testbed

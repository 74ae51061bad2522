#include "engines/pebble/settings.h"

#include <algorithm>
#include <thread>

#include "engines/extra_options.h"

namespace testbed::pebble {
namespace {

constexpr uint64_t kKiB = 1 << 10, kMiB = 1 << 20, kGiB = 1ull << 30, kTiB = 1ull << 40;
constexpr uint64_t kMemtables = 2;  // one memtable is written while the other is flushed

// Returns the size by the rule of all engines with memtables: an eighth of the memory budget, and
// no more than half of what the cache leaves of it.
uint64_t MemtableBytes(const EngineOptions& options) {
  if (options.ram_bytes == 0) return 128 * kMiB;
  const uint64_t rest =
      options.ram_bytes > options.cache_bytes ? options.ram_bytes - options.cache_bytes : 0;
  return std::clamp<uint64_t>(std::min(options.ram_bytes / 8, rest / 2), kMiB, 128 * kMiB);
}

uint64_t Processors() { return std::max(1u, std::thread::hardware_concurrency()); }

}  // namespace

Settings MakeSettings(const EngineOptions& options) {
  const ExtraOptions extra("pebble", options.extra);
  Settings s;
  s.io = options.io;
  s.advice = options.io == IoMode::kMmap ? options.mmap_advice : options.file_advice;
  s.durability = options.durability;
  s.lazy_interval_ms = options.lazy_interval_ms;
  const uint64_t memtable =
      extra.Bytes("memtable_size", MemtableBytes(options) / kMemtables, 256 * kKiB, 4 * kGiB - 1);
  s.memtable_bytes = memtable * kMemtables;
  s.page_size = options.page_size;
  s.cache_bytes = options.cache_bytes;
  s.compact_on_settle =
      extra.Choice("settle", "wait", {"wait", "compact-range"}) == "compact-range";
  const uint64_t log_bytes_per_sync = extra.Bytes("wal_bytes_per_sync", 0, 0, kGiB);
  const bool has_log = options.durability != Durability::kNone;
  s.library = {
      // Pebble takes the memory of memtables out of the cache that it is given.
      {"cache_bytes", s.cache_bytes + s.memtable_bytes},
      {"cache_for_memtables", s.memtable_bytes},
      {"block_bytes", options.page_size},
      {"index_block_bytes", extra.Bytes("index_block_size", 256 * kKiB, kKiB, kGiB)},
      {"compression", options.compression},
      {"bloom_bits", extra.Integer("bloom_bits", 10, 0, 100)},
      {"last_level_filter", extra.Flag("last_level_filter", true)},
      {"memtable_bytes", memtable},
      {"memtable_stop", extra.Integer("memtable_stop", 4, 2, 100)},
      {"level0_trigger", extra.Integer("level0_trigger", 2, 1, 10000)},
      {"level0_stop", extra.Integer("level0_stop", 1000, 2, 100000)},
      {"base_level_bytes",
       extra.Bytes("base_level_size", std::max(kMiB, std::min(64 * kMiB, memtable)), 64 * kKiB,
                   kTiB)},
      {"target_file_bytes", extra.Bytes("target_file_size", 2 * kMiB, 64 * kKiB, kGiB)},
      {"compactions", extra.Integer("max_compactions", std::max<uint64_t>(2, Processors()), 1, 64)},
      {"bytes_per_sync", extra.Bytes("bytes_per_sync", 512 * kKiB, 4 * kKiB, kGiB)},
      {"log_bytes_per_sync", has_log ? log_bytes_per_sync : 0},
      {"max_open_files", extra.Integer("max_open_files", 16384, 100, 1000000)},
      {"columnar_blocks", extra.Flag("columnar_blocks", true)},
      {"disable_log", !has_log},
      {"sync", options.durability == Durability::kSync},
      {"no_create", !options.create},
  };
  return s;
}

Capabilities PebbleCapabilities() {
  Capabilities can;
  can.io_modes = {IoMode::kDirect, IoMode::kBuffered, IoMode::kMmap};
  can.durabilities = {Durability::kSync, Durability::kLazy, Durability::kNone};
  can.compressions = {"none", "snappy", "zstd", "minlz"};
  can.min_page_size = 1024;
  can.max_page_size = 1024 * 1024;
  can.max_key_size = kLongestKey;
  can.max_value_size = kLongestValue;
  can.min_cache_bytes = kMiB;
  can.most_cache_pct = 70;  // Go's collector lets garbage grow in addition to the cache
  can.extra_options = {
      {"base_level_size", "size of the first level below level 0 (a memtable, at most 64M)"},
      {"bloom_bits", "bits of the filter for each key, 0 = no filter (10)"},
      {"bytes_per_sync",
       "bytes of a table between two starts of its write-back (512k; without effect with --io "
       "direct)"},
      {"columnar_blocks", "on, off: blocks hold keys by column, as in CockroachDB (on)"},
      {"index_block_size", "bytes of an index block (256k)"},
      {"last_level_filter",
       "on, off: tables of the last level have a filter, too, which point reads do not use (on)"},
      {"level0_stop", "sublevels of level 0 that stop writers (1000)"},
      {"level0_trigger", "sublevels of level 0 that start a compaction (2)"},
      {"max_compactions", "compactions at once (processors, at least 2)"},
      {"max_open_files", "tables that are kept open (16384)"},
      {"memtable_size", "bytes of a memtable (two together --ram / 8, at most 128M)"},
      {"memtable_stop", "memtables that stop writers (4)"},
      {"settle", "wait: for flushes and compactions; compact-range: compact all (wait)"},
      {"target_file_size", "size of a table in level 0, which doubles with each level (2M)"},
      {"wal_bytes_per_sync",
       "bytes of the log between two starts of its write-back; 0 = never (0)"},
  };
  return can;
}

}  // namespace testbed::pebble

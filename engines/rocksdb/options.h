// MakeRocksdbOptions turns EngineOptions into RocksDB's options; DescribeRocksdb lists the options
// in force.
//
// The options come from these sources, each of which overrides those before it:
// - testbed's defaults: what RocksDB's developers recommend, else RocksDB's own defaults;
// - the extra option `options_file`, which replaces all of testbed's defaults;
// - the run's own options (--io, --page-size, --compression, the cache, the place of files);
// - the extra option `options`, in RocksDB's own syntax;
// - the extra options that have names of their own, such as `bloom_bits`.
//
// `options` is refused when it would change one of the run's own options, and so is any value that
// the user gave and RocksDB replaces (sanitized_options.h).
#ifndef TESTBED_ENGINES_ROCKSDB_OPTIONS_H_
#define TESTBED_ENGINES_ROCKSDB_OPTIONS_H_

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engines/engine.h"
#include "engines/rocksdb/sanitized_options.h"
#include "engines/rocksdb/tables.h"
#include "engines/rocksdb/versions.h"

namespace testbed {

// These are the greatest lengths of a key and a value in bytes, by RocksDB's FAQ.
inline constexpr size_t kLongestRocksdbKey = size_t{8} << 20;
inline constexpr size_t kLongestRocksdbValue = size_t{3} << 30;

struct RocksdbOptions {
  rocksdb::DBOptions db;  // without env, statistics and listeners: RocksdbEngine sets them
  rocksdb::ColumnFamilyOptions table;
  rocksdb::BlockBasedTableOptions blocks;
  std::shared_ptr<rocksdb::Cache> cache;
  // This is what the compressed secondary cache holds, in addition to `cache`; null without one.
  std::shared_ptr<const std::atomic<uint64_t>> compressed_cache_bytes;
  rocksdb::WriteOptions write;
  rocksdb::ReadOptions read;
  bool compact_range_on_settle = false;
  // If set, index and filter blocks that are not in the block cache reserve their memory in it.
  bool index_filter_charged = true;
  std::optional<RocksdbLayout> layout;  // layout that the extra option `tables` gave
  RocksdbGivenOptions given;            // options that `options_file` and `options` gave
};

// Returns the options of a run. Throws Error (kUsage) for an extra option that cannot be honoured.
RocksdbOptions MakeRocksdbOptions(const EngineOptions& options);

// Throws Error (kUsage) when MakeRocksdbOptions throws it, and when RocksDB cannot make tables with
// the options. Opens nothing.
void CheckRocksdbOptions(const EngineOptions& options);

Capabilities RocksdbCapabilities();

// Returns the options that the open database runs with: those of its OPTIONS file, and settings
// that the file does not have.
std::vector<std::pair<std::string, std::string>> DescribeRocksdb(rocksdb::DB* db,
                                                                 const RocksdbOptions& options);

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_OPTIONS_H_

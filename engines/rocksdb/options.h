// From EngineOptions to RocksDB's options and back to what is in force.
//
// Who wins, the later over the earlier: testbed's defaults (what RocksDB's developers recommend, or
// RocksDB's own where they recommend nothing), `options_file`, which begins anew from RocksDB's
// defaults, `options`, the options that have names here. What the run's own options decide (--io,
// --page-size, --compression, the cache, where files are) stays theirs: a file cannot change it, and
// `options` that would are refused.
#ifndef TESTBED_ENGINES_ROCKSDB_OPTIONS_H_
#define TESTBED_ENGINES_ROCKSDB_OPTIONS_H_

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#if __has_include(<rocksdb/advanced_cache.h>)
#include <rocksdb/advanced_cache.h>  // defines Cache, which cache.h only declares from 8.0 on
#endif

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engines/engine.h"
#include "engines/rocksdb/tables.h"

namespace testbed {

struct RocksdbOptions {
  rocksdb::DBOptions db;  // without env and listeners
  rocksdb::ColumnFamilyOptions table;
  rocksdb::BlockBasedTableOptions blocks;
  std::shared_ptr<rocksdb::Cache> cache;
  rocksdb::WriteOptions write;
  rocksdb::ReadOptions read;
  bool compact_range_on_settle = false;
  bool index_filter_charged = true;     // to the cache, when they stand outside of it
  std::optional<RocksdbLayout> layout;  // when one was asked for
};

// Throws Error (kUsage) for an extra option that cannot be honoured.
RocksdbOptions MakeRocksdbOptions(const EngineOptions& options);

Capabilities RocksdbCapabilities();

// The block size that the database in `dir` was last opened with; 0 when it does not say.
uint64_t RecordedBlockSize(const std::string& dir);

// The options that the open database runs with: all of its OPTIONS file, and what that leaves out.
std::vector<std::pair<std::string, std::string>> DescribeRocksdb(rocksdb::DB* db,
                                                                 const RocksdbOptions& options);

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_OPTIONS_H_

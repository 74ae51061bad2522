// This header has all differences between the releases of RocksDB for which the adapter is
// compiled, 6.20 to 11. The rest of the adapter is written for the newest of them and names no
// release.
//
//   if (!kRocksdbHasClockCache) RefuseForRelease("cache_type=hyper-clock", "lru");
//   Check(OpenRocksdb(options, dir, families, &handles, &db),
//         "rocksdb could not open its database");
//
// A class here that stands between RocksDB's interface and the adapter declares the functions that
// older releases lack, so that the adapter may override them in every release; these releases never
// call them. The borders between releases are those seen in the headers of 6.20.3, 6.28.2, 7.4.4,
// 7.8.3, 7.9.2, 8.1.1, 8.10.0, 9.9.3, 10.4.2 and 11.8.1. A release between two of these counts as
// the older one.
//
// The code tests the release's number and not __has_include, because that finds Debian's header
// where the release has no such header.
#ifndef TESTBED_ENGINES_ROCKSDB_VERSIONS_H_
#define TESTBED_ENGINES_ROCKSDB_VERSIONS_H_

#include <malloc.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/file_system.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/memory_allocator.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#define TESTBED_ROCKSDB_FROM(major, minor) \
  (ROCKSDB_MAJOR > (major) || (ROCKSDB_MAJOR == (major) && ROCKSDB_MINOR >= (minor)))

// An installation of the user's own may be of any release.
#if !TESTBED_ROCKSDB_FROM(6, 20)
#error "testbed runs RocksDB 6.20 and later: this one is older"
#endif

#if TESTBED_ROCKSDB_FROM(8, 0)
#include <rocksdb/advanced_cache.h>  // defines Cache, which cache.h only declares from 8.0 on
#endif
#if TESTBED_ROCKSDB_FROM(7, 4)
#include <rocksdb/secondary_cache.h>
#endif

// RocksDB has this class only if it was compiled with assertions. Then its operations also pass the
// hooks of its own tests. Debian 12's library is compiled so.
namespace rocksdb {
class SyncPoint {
 public:
  __attribute__((weak)) static SyncPoint* GetInstance();
};
}  // namespace rocksdb

namespace testbed {

inline bool RocksdbHasAssertions() { return &rocksdb::SyncPoint::GetInstance != nullptr; }

// These constants say what the release has.
constexpr bool kRocksdbHasClockCache = TESTBED_ROCKSDB_FROM(7, 8);    // HyperClockCache
constexpr bool kRocksdbClockCacheGrows = TESTBED_ROCKSDB_FROM(9, 0);  // its table grows as needed
constexpr bool kRocksdbHasCompressedCache =
    TESTBED_ROCKSDB_FROM(7, 4);  // RocksDB has a compressed secondary cache
constexpr bool kRocksdbChargesReaders =
    TESTBED_ROCKSDB_FROM(7, 4);  // it can charge table readers to the block cache
// The manifest can record which logs were synced and are no longer written, so that an opening
// notices when such a log is missing. Older releases have the option, too, but testbed was not
// tried with it there.
constexpr bool kRocksdbTracksLogs = TESTBED_ROCKSDB_FROM(7, 8);
// In this release RocksDB can recycle the log even with the recovery to a point in time, which is
// its default. Older releases set recycle_log_file_num to 0.
constexpr bool kRocksdbRecyclesLogs = TESTBED_ROCKSDB_FROM(9, 9);
// In this release the listener learns on which threads the parts of a compaction run, so that their
// IO can be charged.
constexpr bool kRocksdbTellsSubcompactions = TESTBED_ROCKSDB_FROM(7, 4);

// Throws Error (kUsage), which says that this release of RocksDB lacks what the --engine-option
// `setting` asks for. `accepted` is what it accepts instead.
[[noreturn]] void RefuseForRelease(const std::string& setting, const std::string& accepted);

// Returns a HyperClockCache; null in a release that has none.
inline std::shared_ptr<rocksdb::Cache> NewRocksdbClockCache(uint64_t bytes, size_t entry_charge,
                                                            int shard_bits) {
#if TESTBED_ROCKSDB_FROM(7, 8)
  return rocksdb::HyperClockCacheOptions(bytes, entry_charge, shard_bits).MakeSharedCache();
#else
  return nullptr;
#endif
}

// A CountingAllocator counts the memory that it has given and not got back. A secondary cache does
// not tell its size.
class CountingAllocator : public rocksdb::MemoryAllocator {
 public:
  explicit CountingAllocator(std::shared_ptr<std::atomic<uint64_t>> bytes)
      : bytes_(std::move(bytes)) {}
  const char* Name() const override { return "testbed.CountingAllocator"; }
  void* Allocate(size_t size) override {
    void* const block = std::malloc(size);
    if (block == nullptr) throw std::bad_alloc();
    bytes_->fetch_add(::malloc_usable_size(block), std::memory_order_relaxed);
    return block;
  }
  void Deallocate(void* block) override {
    bytes_->fetch_sub(::malloc_usable_size(block), std::memory_order_relaxed);
    std::free(block);
  }

 private:
  const std::shared_ptr<std::atomic<uint64_t>> bytes_;
};

// Adds a secondary cache of `bytes`, which holds blocks compressed by LZ4. Returns the number of
// bytes that its blocks take, which changes with them; null in a release that has no such cache.
inline std::shared_ptr<const std::atomic<uint64_t>> UseCompressedCache(
    uint64_t bytes, rocksdb::LRUCacheOptions* options) {
#if TESTBED_ROCKSDB_FROM(7, 4)
  const auto held = std::make_shared<std::atomic<uint64_t>>(0);
  rocksdb::CompressedSecondaryCacheOptions secondary;
  secondary.capacity = bytes;
  secondary.compression_type = rocksdb::kLZ4Compression;
  secondary.memory_allocator = std::make_shared<CountingAllocator>(held);
  options->secondary_cache = rocksdb::NewCompressedSecondaryCache(secondary);
  return held;
#else
  return nullptr;
#endif
}

// Charges the memory of table readers (index and filter blocks) to the block cache.
inline void ChargeTableReaders(rocksdb::BlockBasedTableOptions* blocks) {
#if TESTBED_ROCKSDB_FROM(7, 4)
  blocks->cache_usage_options.options_overrides[rocksdb::CacheEntryRole::kBlockBasedTableReader]
      .charged = rocksdb::CacheEntryRoleOptions::Decision::kEnabled;
#endif
}

inline const rocksdb::FilterPolicy* NewRocksdbRibbonFilter(double bits) {
#if TESTBED_ROCKSDB_FROM(7, 0)
  return rocksdb::NewRibbonFilterPolicy(bits);
#else
  return rocksdb::NewExperimentalRibbonFilterPolicy(bits);
#endif
}

// Opens a database, as DB::Open does.
inline rocksdb::Status OpenRocksdb(const rocksdb::DBOptions& options, const std::string& dir,
                                   const std::vector<rocksdb::ColumnFamilyDescriptor>& families,
                                   std::vector<rocksdb::ColumnFamilyHandle*>* handles,
                                   std::unique_ptr<rocksdb::DB>* db) {
#if TESTBED_ROCKSDB_FROM(11, 0)
  return rocksdb::DB::Open(options, dir, families, handles, db);
#else
  rocksdb::DB* opened = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(options, dir, families, handles, &opened);
  db->reset(opened);
  return status;
#endif
}

#if TESTBED_ROCKSDB_FROM(7, 4)
using RocksdbSubcompaction = rocksdb::SubcompactionJobInfo;
using RocksdbListener = rocksdb::EventListener;
using RocksdbDirectory = rocksdb::FSDirectory;
#else
struct RocksdbSubcompaction {};
class RocksdbListener : public rocksdb::EventListener {
 public:
  virtual const char* Name() const { return ""; }
  virtual void OnSubcompactionBegin(const RocksdbSubcompaction&) {}
};
class RocksdbDirectory : public rocksdb::FSDirectory {
 public:
  virtual rocksdb::IOStatus Close(const rocksdb::IOOptions&, rocksdb::IODebugContext*) {
    return rocksdb::IOStatus::OK();
  }
};
#endif

#if TESTBED_ROCKSDB_FROM(6, 28)
using RocksdbStatistics = rocksdb::Statistics;
#else
class RocksdbStatistics : public rocksdb::Statistics {
 public:
  virtual const char* Name() const { return ""; }
};
#endif

#if TESTBED_ROCKSDB_FROM(8, 10)
using RocksdbFileSystemBase = rocksdb::FileSystemWrapper;
// Returns the bit by which a file system says that it can read ahead; 0 when the release asks any
// file system to. A release after 10.4 began to ask only file systems that have this bit. The
// release is not known exactly, so this looks for the bit and not for a release's number.
template <typename Ops>
constexpr int64_t RocksdbPrefetchOf() {
  if constexpr (requires { Ops::kFSPrefetch; }) {
    return int64_t{1} << Ops::kFSPrefetch;
  } else {
    return 0;
  }
}
constexpr int64_t kRocksdbPrefetch = RocksdbPrefetchOf<rocksdb::FSSupportedOps>();
#else
constexpr int64_t kRocksdbPrefetch = 0;
class RocksdbFileSystemBase : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  virtual void SupportedOps(int64_t& supported) { supported = 0; }
};
#endif

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_VERSIONS_H_

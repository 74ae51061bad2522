// The CompressedCache is a second-level cache behind the pool: it holds pages in compressed form,
// as they are in the file.
//
// It holds the pages that were last read from the file, whether the pool has them too or not. The
// bytes lie in a ring. A page that is requested while it is in the older half of the ring is copied
// to the young end, which approximates LRU. The cache holds the same bytes of a page as the file:
// the thread that writes a page replaces or erases it here before another thread can read the page.
//
// Ring and index together never take more memory than the budget. Thread-safe.
#ifndef TESTBED_ENGINES_BTREE_POOL_COMPRESSED_CACHE_H_
#define TESTBED_ENGINES_BTREE_POOL_COMPRESSED_CACHE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "device/os/mutex.h"
#include "engines/btree/page/page.h"

namespace testbed::btree {

class CompressedCache {
 public:
  static constexpr size_t kParts = 8;  // each part has an equal share of the budget
  // `bytes` is the memory budget. Throws std::bad_alloc.
  explicit CompressedCache(uint64_t bytes) { Resize(bytes); }

  // Copies the compressed page to `to`, which must have room for a page. Returns false when the
  // cache does not have the page. Counts a request and, if it has, a hit.
  bool Get(PageId id, char* to);
  // Adds or replaces a page. A page that is too long for the ring is not added.
  void Put(PageId id, std::string_view stored);
  // Replaces a page that the cache has; does nothing for another page.
  void Replace(PageId id, std::string_view stored);
  // Removes the page, if the cache has it. Its bytes stay in the ring until the ring comes round.
  void Erase(PageId id);
  // Changes the memory budget, and keeps the youngest pages. Throws std::bad_alloc; each part of
  // the cache then has its old size or the new one.
  void Resize(uint64_t bytes);

  struct Counters {
    uint64_t requests = 0, hits = 0, pages = 0;  // `pages` is the number of pages in the cache
    uint64_t bytes = 0;                          // bytes of these pages
    uint64_t budget = 0;                         // bytes
    uint64_t memory = 0;  // bytes that were touched: of the ring up to its youngest record, and
                          // of the index
  };
  // Returns the sum over the parts, each of them as it was at a moment of its own. Requests and
  // hits are those since the cache was made.
  Counters Count() const;

 private:
  // A Part caches some of the pages, under a lock of its own.
  class Part {
   public:
    bool Get(PageId id, char* to);
    void Put(PageId id, std::string_view stored, bool only_replace);
    void Erase(PageId id);
    void Resize(uint64_t bytes);
    void Count(Counters* sum) const;

   private:
    struct Record {
      PageId id;       // kNoPage: the record is unused
      uint32_t bytes;  // bytes after this header
    };
    // This is the size in bytes of an entry of std::unordered_map: a node, rounded up by the
    // allocator, and a bucket.
    static constexpr uint64_t kIndexBytes = 48;
    static constexpr uint64_t kIndexShare = 32;  // the index gets 1 / kIndexShare of the budget
    // Returns the bytes of the ring that a page of `bytes` bytes takes.
    static uint64_t Needed(uint64_t bytes) { return sizeof(Record) + (bytes + 7) / 8 * 8; }
    char* At(uint64_t position) REQUIRES(mutex_) { return ring_.get() + position % capacity_; }
    Record* RecordAt(uint64_t position) REQUIRES(mutex_) {
      return reinterpret_cast<Record*>(At(position));
    }
    void Append(PageId id, std::string_view stored) REQUIRES(mutex_);
    void DropOldest() REQUIRES(mutex_);
    void Forget(PageId id) REQUIRES(mutex_);
    bool Full(uint64_t more) const REQUIRES(mutex_) {
      return young_ - old_ + more > capacity_ || index_.size() >= most_records_;
    }

    mutable Mutex mutex_;  // protects the members below
    std::unique_ptr<char[]> ring_ GUARDED_BY(mutex_);
    uint64_t bytes_ GUARDED_BY(mutex_) = 0;         // memory budget
    uint64_t capacity_ GUARDED_BY(mutex_) = 0;      // bytes of the ring, a multiple of 8
    uint64_t most_records_ GUARDED_BY(mutex_) = 0;  // pages for which the index has room
    // The records lie from position old_ to position young_. Positions only grow; a position modulo
    // capacity_ is an offset in the ring.
    uint64_t old_ GUARDED_BY(mutex_) = 0, young_ GUARDED_BY(mutex_) = 0;
    std::unordered_map<PageId, uint64_t> index_
        GUARDED_BY(mutex_);                 // position of the page's record
    uint64_t held_ GUARDED_BY(mutex_) = 0;  // bytes of the pages in the ring
    uint64_t requests_ GUARDED_BY(mutex_) = 0, hits_ GUARDED_BY(mutex_) = 0;
  };
  Part& PartOf(PageId id) { return parts_[id % kParts]; }

  std::array<Part, kParts> parts_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_COMPRESSED_CACHE_H_

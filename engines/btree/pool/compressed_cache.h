// A second-level cache: pages as they are in the file, compressed, behind those of the pool.
//
// It has what was read from the file lately, as long as there is room, whether the pool has the
// page too or not. The bytes lie in a ring; what is asked for goes to its young end again when it
// has got to the older half (so what stays is about what was used last). What the cache holds of a
// page is what the file holds; who writes the page replaces or erases it before others can read it.
//
// Memory is exact: ring and index together never take more than the bytes given. Thread-safe.
#ifndef TESTBED_ENGINES_BTREE_POOL_COMPRESSED_CACHE_H_
#define TESTBED_ENGINES_BTREE_POOL_COMPRESSED_CACHE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "engines/btree/page/page.h"

namespace testbed::btree {

class CompressedCache {
 public:
  explicit CompressedCache(uint64_t bytes) { Resize(bytes); }

  // Copies the page to `to`, which has room for it; false when it is not here.
  bool Get(PageId id, char* to);
  void Put(PageId id, std::string_view stored);
  // Puts it only where an older one is.
  void Replace(PageId id, std::string_view stored);
  void Erase(PageId id);
  // Keeps what is youngest.
  void Resize(uint64_t bytes);

  struct Counters {
    uint64_t requests = 0, hits = 0, pages = 0;
    uint64_t bytes = 0;   // of these
    uint64_t budget = 0;  // given
  };
  Counters Count() const;

 private:
  // A part of the pages, with a lock of its own.
  class Part {
   public:
    bool Get(PageId id, char* to);
    void Put(PageId id, std::string_view stored, bool only_replace);
    void Erase(PageId id);
    void Resize(uint64_t bytes);
    void Count(Counters* sum) const;

   private:
    struct Record {
      PageId id;       // kNoPage: nobody's any more
      uint32_t bytes;  // that follow
    };
    // What std::unordered_map takes for an entry: a node as the allocator rounds it, and a bucket.
    static constexpr uint64_t kIndexBytes = 48;
    static constexpr uint64_t kIndexShare = 32;  // of the memory, one part in so many
    static uint64_t Needed(uint64_t bytes) { return sizeof(Record) + (bytes + 7) / 8 * 8; }
    char* At(uint64_t position) { return ring_.get() + position % capacity_; }
    Record* RecordAt(uint64_t position) { return reinterpret_cast<Record*>(At(position)); }
    void Append(PageId id, std::string_view stored);
    void DropOldest();
    void Forget(PageId id);
    bool Full(uint64_t more) const {
      return young_ - old_ + more > capacity_ || index_.size() >= most_records_;
    }

    mutable std::mutex mutex_;
    std::unique_ptr<char[]> ring_;
    uint64_t bytes_ = 0;            // given
    uint64_t capacity_ = 0;         // of the ring, a multiple of 8
    uint64_t most_records_ = 0;     // what the index has room for
    uint64_t old_ = 0, young_ = 0;  // positions, ever growing; records lie from old_ to young_
    std::unordered_map<PageId, uint64_t> index_;
    uint64_t held_ = 0;  // bytes of the pages that are here
    uint64_t requests_ = 0, hits_ = 0;
  };
  static constexpr size_t kParts = 8;
  Part& PartOf(PageId id) { return parts_[id % kParts]; }

  std::array<Part, kParts> parts_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_COMPRESSED_CACHE_H_

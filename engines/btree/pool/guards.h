// This header has what a thread holds of the pool: its connection, and guards of pages, which
// release their latch when they are destroyed.
#ifndef TESTBED_ENGINES_BTREE_POOL_GUARDS_H_
#define TESTBED_ENGINES_BTREE_POOL_GUARDS_H_

#include <cstdint>
#include <type_traits>
#include <utility>

#include "device/account/counts.h"
#include "engines/btree/page/page.h"
#include "engines/btree/pool/page_table.h"

namespace testbed::btree {

class Pool;

// A PoolClient is one thread's connection to the pool. It counts the thread's requests.
class PoolClient {
 public:
  explicit PoolClient(Pool* pool);
  ~PoolClient();
  PoolClient(const PoolClient&) = delete;
  PoolClient& operator=(const PoolClient&) = delete;

  Counter requests;  // pages requested
  // These are requested pages that were read from the file, each with one call. In mmap mode they
  // include pages that were read in place. Pages from the cache of compressed pages are not
  // counted.
  Counter misses;
  Counter fetched;  // pages read before they were requested
 private:
  Pool* const pool_;
};

class SharedGuard {
 public:
  SharedGuard() = default;
  SharedGuard(SharedGuard&& other) noexcept { *this = std::move(other); }
  SharedGuard& operator=(SharedGuard&& other) noexcept;
  ~SharedGuard() { Release(); }
  const char* page() const { return data_; }
  PageId id() const { return id_; }
  explicit operator bool() const { return data_ != nullptr; }
  void Release();

 private:
  friend class Pool;
  Pool* pool_ = nullptr;
  const char* data_ = nullptr;
  PageId id_ = kNoPage;
};

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kLatchedReads = true;
#else
inline constexpr bool kLatchedReads = false;
#endif

// A NoLatch takes the place of the SharedGuard of an optimistic read that latches nothing.
struct NoLatch {
  NoLatch& operator=(SharedGuard&&) { return *this; }
  operator SharedGuard() && { return {}; }
  const char* page() const { return nullptr; }
  void Release() {}
};

class OptimisticGuard {
 public:
  OptimisticGuard() = default;
  // Returns whether the page has not changed since the guard was made, so that all that was read of
  // it belongs together and is current.
  bool Valid() const;
  const char* page() const { return data_; }
  PageId id() const { return id_; }

 private:
  friend class Pool;
  const PageTable* table_ = nullptr;
  const char* data_ = nullptr;
  PageWord seen_;
  PageId id_ = kNoPage;
  [[no_unique_address]] std::conditional_t<kLatchedReads, SharedGuard, NoLatch> held_;
};

class ExclusiveGuard {
 public:
  ExclusiveGuard() = default;
  ExclusiveGuard(ExclusiveGuard&& other) noexcept { *this = std::move(other); }
  ExclusiveGuard& operator=(ExclusiveGuard&& other) noexcept;
  ~ExclusiveGuard() { Release(); }
  char* page() const { return data_; }
  PageId id() const { return id_; }
  explicit operator bool() const { return data_ != nullptr; }
  void Release();
  // Notes that the page was changed as the log record [begin, end) describes. With `overflow`, the
  // page has become an overflow page (Pool::Discard).
  void MarkDirty(Lsn begin, Lsn end, bool overflow = false);

 private:
  friend class Pool;
  Pool* pool_ = nullptr;
  uint32_t frame_ = kNoFrame;
  char* data_ = nullptr;
  PageId id_ = kNoPage;
};

inline bool OptimisticGuard::Valid() const {
  return kLatchedReads || table_->Unchanged(id_, seen_);
}

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_GUARDS_H_

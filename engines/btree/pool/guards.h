// What a thread holds of the pool: its connection, and guards of pages, which let go when they end.
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

// One thread's connection to the pool; counts what the thread asked for.
class PoolClient {
 public:
  explicit PoolClient(Pool* pool);
  ~PoolClient();
  PoolClient(const PoolClient&) = delete;
  PoolClient& operator=(const PoolClient&) = delete;

  Counter requests;  // pages asked for
  Counter misses;    // of these, read from the file; each with one call (not those that the cache
                     // of compressed pages had)
  Counter fetched;   // and read before they were asked for
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

// What an optimistic read holds where it holds nothing.
struct NoLatch {
  NoLatch& operator=(SharedGuard&&) { return *this; }
  operator SharedGuard() && { return {}; }
  const char* page() const { return nullptr; }
  void Release() {}
};

class OptimisticGuard {
 public:
  OptimisticGuard() = default;
  // What was read of the page so far was all of one moment, and that moment is now.
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
  // The page was changed, as described by the log record [begin, end).
  void MarkDirty(Lsn begin, Lsn end);

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

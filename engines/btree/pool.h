// The buffer pool: a fixed number of page frames over the data file.
//
//   PoolClient client(&pool);                       // one a thread
//   SharedGuard leaf = pool.Read(&client, id);      // pinned and latched until the guard ends
//   use(leaf.page());
//   ExclusiveGuard page = pool.Write(&client, id);
//   change(page.page());
//   page.MarkDirty(begin, end);                     // of the log record that describes the change
//
// Page 0, the superblock, never comes through the pool.
// A guard pins its page (it stays in its frame) and holds its latch (nobody changes it, or nobody
// sees it). docs/btree.md has the order in which latches are taken. Guards hide how a page is found
// and latched, so that reads without pins (optimistic latches) can come in behind them.
//
// Memory is exact: all frames are one allocation made at open, and FramesFor says how many fit a
// number of bytes, the tables around them included. On top come the write batches (kFixedBytes).
//
// Replacement is S3-FIFO (replacement.h). A reader that needs a frame takes a clean one and does
// no write. Dirty pages that should go are handed to the cleaner, a thread that writes them in
// batches sorted by page number, through the doublewrite file; readers wait for it only when it
// finds no clean page at all.
//
// In mmap mode clean pages are read in place from the mapping, and only pages that change come into
// the pool (mapped.h). A page that is in the pool is always read there.
//
// Errors: reads throw what the file layer throws (kIo, kCorruption). A failed write leaves the page
// dirty; the next operation that needs its frame, and each checkpoint, throws the error.
#ifndef TESTBED_ENGINES_BTREE_POOL_H_
#define TESTBED_ENGINES_BTREE_POOL_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/ledger.h"
#include "engines/btree/latch.h"
#include "engines/btree/mapped.h"
#include "engines/btree/page_file.h"
#include "engines/btree/redo_log.h"
#include "engines/btree/replacement.h"

namespace testbed::btree {

class Pool;

inline constexpr Lsn kNoLsn = UINT64_MAX;

struct alignas(64) Frame {
  Latch latch;
  std::atomic<uint32_t> pins{0};
  std::atomic<PageId> page{kNoPage};
  uint32_t next = UINT32_MAX;        // in the page table's chain, under the chain's latch
  std::atomic<bool> valid{false};    // the frame holds the page's bytes; set under the latch
  std::atomic<bool> dirty{false};    // changed under the exclusive latch, or while writing is held
  std::atomic<bool> writing{false};  // a copy is on its way to the file
  std::atomic<Lsn> rec_lsn{kNoLsn};  // begin of the first record not yet in the file's page
  std::atomic<Lsn> write_lsn{kNoLsn};  // rec_lsn of the copy under way

  void LowerRecLsn(Lsn lsn) {
    Lsn now = rec_lsn.load(std::memory_order_relaxed);
    while (lsn < now && !rec_lsn.compare_exchange_weak(now, lsn, std::memory_order_acq_rel)) {
    }
  }
};
static_assert(sizeof(Frame) == 64);

// One thread's connection to the pool; counts what the thread asked for.
class PoolClient {
 public:
  explicit PoolClient(Pool* pool);
  ~PoolClient();
  PoolClient(const PoolClient&) = delete;
  PoolClient& operator=(const PoolClient&) = delete;

  Counter requests;  // pages asked for
  Counter misses;    // of these, read from the file; each with one call
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
  Frame* frame_ = nullptr;  // null: read in place from the mapping
  const char* data_ = nullptr;
  PageId id_ = kNoPage;
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
  Frame* frame_ = nullptr;
  char* data_ = nullptr;
  PageId id_ = kNoPage;
};

struct PoolCounters {
  uint64_t requests = 0, misses = 0;
  uint64_t evictions = 0;    // pages that left
  uint64_t written = 0;      // pages written, by whom:
  uint64_t cleaned = 0;      //   by the cleaner
  uint64_t frame_waits = 0;  // times a thread waited for the cleaner
};

class Pool {
 public:
  // How many frames fit `bytes`, tables included. 0 when fewer than kMinFrames.
  static uint32_t FramesFor(uint64_t bytes, uint32_t page_size);
  static constexpr uint32_t kMinFrames = 16;
  static constexpr uint64_t kFixedBytes = 3u << 20;  // write batches of cleaner and checkpoint

  Pool(PageFile* file, RedoLog* log, uint32_t frames);
  ~Pool();  // stops the cleaner; writes nothing
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  SharedGuard Read(PoolClient* client, PageId id);
  ExclusiveGuard Write(PoolClient* client, PageId id);
  // For a page that the caller will fill: nothing is read, the bytes are undefined.
  ExclusiveGuard WriteNew(PoolClient* client, PageId id);
  // For recovery: a page that cannot be read comes back too, and *state says why.
  ExclusiveGuard WriteAny(PoolClient* client, PageId id, PageState* state);

  // The overflow pages are free now: what the pool holds of them need not be written.
  void Discard(PageId first, uint32_t pages);

  // Writes every page that was dirtied by log records before `lsn`. Throws the first error of a
  // write. Does not stop writers. The caller's scope is charged.
  void FlushBefore(Lsn lsn);

  PoolCounters Counters() const;
  uint64_t MemoryBytes() const;
  uint32_t frames() const { return frame_count_; }
  uint32_t page_size() const { return page_size_; }
  PageFile* file() { return file_; }

 private:
  friend class SharedGuard;
  friend class ExclusiveGuard;
  friend class PoolClient;
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kDirtyScan = 64;   // dirty candidates passed over before waiting
  static constexpr size_t kCleanStart = 32;  // candidates that wake the cleaner
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPatience{30};  // for a frame, before it is an error
  enum class Load : uint8_t { kRead, kNew, kAny };

  char* Data(const Frame* frame) {
    return memory_.data() + static_cast<size_t>(frame - frames_.get()) * page_size_;
  }
  uint32_t Index(const Frame* frame) const { return static_cast<uint32_t>(frame - frames_.get()); }
  size_t Bucket(PageId id) const { return (id * 0x9e3779b97f4a7c15ull) >> bucket_shift_; }
  Latch& BucketLatch(size_t bucket) { return bucket_latches_[bucket % kBucketLatches]; }

  Frame* PinExisting(PageId id);
  // Finds or brings in the page. The frame is pinned; *loading tells that it is new, latched
  // exclusively and without content.
  Frame* Pin(PageId id, bool* loading);
  Frame* PinExclusive(PoolClient* client, PageId id, Load load, PageState* state);
  void LoadPage(PoolClient* client, Frame* frame, PageId id, Load load, PageState* state);
  void Unlink(Frame* frame, PageId id);
  void AbandonLoad(Frame* frame, PageId id);
  ExclusiveGuard MakeExclusive(Frame* frame, PageId id);

  uint32_t AcquireFrame();
  uint32_t TryPolicy();
  bool TryEvict(uint32_t index);
  void WaitForFrame(std::unique_lock<std::mutex>* lock, Clock::time_point give_up);
  void ReleaseFrame(uint32_t index);

  // Writing (pool_write.cc).
  void CleanerLoop();
  void CollectForCleaning(std::vector<uint32_t>* frames);
  void CleanSome(std::vector<uint32_t>* frames, WriteBatch* batch);
  bool BeginWrite(Frame* frame, WriteBatch* batch, std::vector<Frame*>* writing);
  void FinishWrite(WriteBatch* batch, std::vector<Frame*>* writing);
  void UndoWrite(std::vector<Frame*>* writing);
  void FlushFrames(const std::vector<std::pair<PageId, uint32_t>>& dirty);

  PageFile* const file_;
  RedoLog* const log_;
  const uint32_t page_size_;
  const uint32_t frame_count_;
  AlignedBuffer memory_;
  std::unique_ptr<Frame[]> frames_;

  // Page table: chains of frames.
  static constexpr size_t kBucketLatches = 256;
  std::vector<uint32_t> buckets_;
  int bucket_shift_;
  std::unique_ptr<Latch[]> bucket_latches_;
  std::unique_ptr<MappedPages> mapped_;  // mmap mode only

  // Free frames and replacement.
  mutable std::mutex mutex_;
  Replacement replacement_;
  std::vector<uint32_t> free_;
  std::vector<uint32_t> cleaned_;   // written and not asked for since: the next to go
  std::vector<uint32_t> to_clean_;  // chosen to go, but dirty
  std::condition_variable frames_available_, work_for_cleaner_;
  uint32_t waiters_ = 0;
  uint64_t clean_rounds_ = 0;
  std::string clean_error_;
  int clean_error_code_ = 0;
  bool stop_ = false;

  std::mutex flush_mutex_;  // one flush at a time
  WriteBatch flush_batch_;

  std::set<PoolClient*> clients_;
  mutable std::mutex clients_mutex_;
  uint64_t past_requests_ = 0, past_misses_ = 0;                  // of clients that are gone
  uint64_t evictions_ = 0, cleaned_pages_ = 0, frame_waits_ = 0;  // under mutex_
  std::thread cleaner_;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_H_

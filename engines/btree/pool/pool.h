// The Pool is the buffer pool: page frames over the data file.
//
//   PoolClient client(&pool);                       // one for each thread
//   OptimisticGuard leaf = pool.Optimistic(&client, id);
//   Copy(leaf.page());                              // the bytes that are needed of it
//   if (!leaf.Valid()) ...                          // it was changed meanwhile: read it again
//
//   SharedGuard page = pool.Read(&client, id);      // latched until the guard ends
//   Use(page.page());
//
//   ExclusiveGuard page = pool.Write(&client, id);
//   Change(page.page());
//   page.MarkDirty(begin, end);                     // of the log record that describes the change
//
// Page 0, the superblock, never comes through the pool.
// The page table (page_table.h) holds each page's frame and latch. An optimistic read changes no
// shared data: it takes the page's version, reads the page, which another thread may be changing or
// replacing, and believes what it read only if the version is still the same (Node's reads stay
// inside the page whatever it holds). docs/engines/btree.md has the order in which latches are
// taken. In builds with ThreadSanitizer, which takes such reads for data races, optimistic guards
// hold the page shared; page_word_test.cc tries the protocol itself in all executions that C++
// allows.
//
// Memory is exact: frames, their tables and the page table together take at most the bytes that the
// constructor or Resize was given. The write batches come on top (kFixedBytes), and while pages
// cannot be written a few frames (Limit), with those that the commits under way need (Applying). So
// do pages that recovery keeps back (KeepBack), at most as many as are written from one sync of the
// data file to the next (PageFileOptions::most_unsynced_bytes).
//
// Replacement is S3-FIFO (replacement.h). A reader that needs a frame takes one with a clean page
// and writes nothing. Dirty pages that should leave go to the cleaner, a thread that writes them in
// batches, sorted by page number, through the doublewrite file. A reader waits for the cleaner only
// when it finds no clean page. The cleaner also makes the memory of the next frames ready.
//
// In mmap mode clean pages are read in place from the mapping. Only pages that change, or that were
// written since the last sync, are brought into the pool, and a page in the pool is always read
// there. Bringing a page in, and changing it, takes its exclusive latch, so a thread that reads it
// in place finds its version changed.
//
// Errors: reads throw what the file layer throws (kIo, kCorruption). A failed write leaves the page
// dirty; the next operation that needs its frame, and each checkpoint, throws the error.
#ifndef TESTBED_ENGINES_BTREE_POOL_POOL_H_
#define TESTBED_ENGINES_BTREE_POOL_POOL_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/account/ledger.h"
#include "device/os/mutex.h"
#include "engines/btree/pool/frame.h"
#include "engines/btree/pool/guards.h"
#include "engines/btree/pool/page_file.h"
#include "engines/btree/pool/page_table.h"
#include "engines/btree/pool/redo_log.h"
#include "engines/btree/pool/replacement.h"
#include "engines/btree/pool/reserved_array.h"

namespace testbed::btree {

struct PoolCounters {
  uint64_t requests = 0, misses = 0, fetched = 0;
  uint64_t evictions = 0;                // pages that left the pool
  uint64_t written = 0;                  // pages written, whoever wrote them
  uint64_t cleaned = 0;                  // pages written by the cleaner
  uint64_t frame_waits = 0;              // times that a thread waited for the cleaner
  uint64_t images = 0, image_bytes = 0;  // page images in the log
};

class Pool : private VisitCounts {
 public:
  // FramesFor returns how many frames fit into `bytes`, with their tables and the table of the
  // file's pages; 0 when fewer than kMinFrames do. BytesFor is its inverse.
  static uint32_t FramesFor(uint64_t bytes, uint32_t page_size, uint64_t file_pages = 0);
  static uint64_t BytesFor(uint32_t frames, uint32_t page_size, uint64_t file_pages);
  static constexpr uint32_t kMinFrames = 16;
  static constexpr uint64_t kFixedBytes = 5u << 20;  // write batches of the cleaner and of flushes

  // `bytes` must be enough for kMinFrames.
  Pool(PageFile* file, RedoLog* log, uint64_t bytes);
  ~Pool() override;  // stops the cleaner; writes nothing
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Each of these functions counts a request and returns a guard of the page, which it reads in if
  // it is missing. Read waits for a shared latch, Write for an exclusive latch; Optimistic takes
  // none. Each throws Error when the page cannot be read or there is no frame for it.
  OptimisticGuard Optimistic(PoolClient* client, PageId id);
  SharedGuard Read(PoolClient* client, PageId id);
  ExclusiveGuard Write(PoolClient* client, PageId id);

  bool Contains(PageId id) const { return table_.Load(id).in_pool(); }

  // Look says what TryOptimistic has found.
  enum class Look : uint8_t {
    kHere,     // *guard is what Optimistic would return
    kMissing,  // *missing is latched and has a frame: the caller reads the page and calls EndRead
    kBusy,     // another thread has latched the page, or no frame is free now
  };
  struct MissingPage {
    PageId id = kNoPage;
    uint32_t frame = kNoFrame;
    char* page = nullptr;
  };
  // Looks for a page without waiting for a latch, a frame or the device. Counts no request. Not for
  // mmap mode. EndRead ends the read of a missing page, which was `valid` or failed, and unlatches
  // it.
  Look TryOptimistic(PageId id, OptimisticGuard* guard, MissingPage* missing);
  void EndRead(const MissingPage& missing, bool valid);
  // Unlatches a missing page whose read was started, and which nobody can wait for because of an
  // error. The page is read into another frame by the next thread that asks for it. The kernel may
  // write into the frame at any time, so the frame is never used again. Does not throw.
  void AbandonRead(const MissingPage& missing);
  // Returns the page as Optimistic does if it is in the pool and no thread is changing it; else an
  // empty guard. Waits for nothing and counts no request.
  OptimisticGuard Peek(PageId id);
  // Makes the processor fetch what Peek reads first.
  void PrefetchWord(PageId id) const { table_.Prefetch(id); }

  // Reads in those of the pages that are missing, with all reads in flight at once, and waits for
  // them. Skips a page that is latched or for which there is no frame. Stops at an error: a page
  // that cannot be read stays missing, and the thread that asks for it gets the error. Returns the
  // number of pages read. Throws Error (kIo) when the kernel refuses to wait for the reads, which
  // are then abandoned; the ring must be destroyed.
  uint32_t Fetch(PoolClient* client, ReadRing* ring, std::span<const PageId> ids);

  // Returns the page of `guard`, latched exclusively, if it has not changed since; else an empty
  // guard.
  ExclusiveGuard Upgrade(PoolClient* client, OptimisticGuard* guard);
  // Returns the page of `guard`, latched shared, if it has not changed since; else an empty guard.
  SharedGuard Hold(OptimisticGuard* guard);
  // Latches a page that the caller will fill. Reads nothing; if the page was missing, its bytes are
  // undefined.
  ExclusiveGuard WriteNew(PoolClient* client, PageId id);
  // Latches a page for recovery. *state says whether it could be read; if not, its bytes are zeros.
  ExclusiveGuard WriteAny(PoolClient* client, PageId id, PageState* state);

  // Tells that these overflow pages are free now, so that the pool need not write them.
  void Discard(PageId first, uint32_t pages);

  // Writes every page that log records before `lsn` have dirtied, while other threads go on, except
  // pages that are kept back. Throws the first error of a write. The IO is charged to the caller's
  // scope.
  void FlushBefore(Lsn lsn);

  // Sets the image floor, by which the log protects pages from being torn
  // (TornPage::kFullPageImage): from now on a page is written in its place only when the log has
  // its image at or after `floor`, the point from which recovery would read. When this returns, no
  // write that followed an older floor is under way. With 0 no images are logged.
  void SetImageFloor(Lsn floor);

  // Changes the size while other threads use the pool. A smaller pool has evicted its surplus pages
  // when this returns; the cleaner writes the dirty ones first. Throws Error when that fails, or
  // when too many pages are in use; the size is then the old one, and the next misses take frames
  // for it again. One thread at a time may call it.
  void Resize(uint64_t bytes);

  // Tries again to write dirty pages after a write of the cleaner has failed, and throws the error
  // if that fails again. Returns at once when the cleaner's last write succeeded. The caller holds
  // no latch.
  void RetryCleaning();

  // A commit that the log has cannot be undone, so it must find frames also when a full disk keeps
  // dirty pages from being written. While an Applying lives, the pool grows beyond its size on a
  // full disk. Once the pages are written, the next misses give that memory back.
  class Applying {
   public:
    explicit Applying(Pool* pool) : pool_(pool) { pool_->applying_.fetch_add(1); }
    ~Applying() { pool_->applying_.fetch_sub(1); }
    Applying(const Applying&) = delete;
    Applying& operator=(const Applying&) = delete;

   private:
    Pool* const pool_;
  };

  // BeginRecovery and EndRecovery frame recovery, which changes pages before there is a client that
  // could be told of a full disk. In between, pages that a full disk keeps from being written stay
  // in memory beyond the pool's size. The pool gives that memory back when they are written.
  void BeginRecovery();
  void EndRecovery();

  // Keeps the page of the guard in the pool, and does not write it, until ReleaseKept. The memory
  // of these pages comes on top of the pool's size; ReleaseKept lets the next misses give it back.
  void KeepBack(const ExclusiveGuard& guard);
  void ReleaseKept();

  // Sets how long a thread waits for a frame before that is an error. The time in which a batch of
  // pages is being written does not count. Must be called before other threads use the pool.
  void SetPatience(std::chrono::milliseconds patience) { patience_ = patience; }

  PoolCounters Counters() const;
  uint64_t MemoryBytes() const;
  uint64_t image_bytes() const { return image_bytes_.load(std::memory_order_relaxed); }
  // Returns the size that the constructor or Resize set.
  uint64_t bytes() const;
  uint32_t frames() const;  // number of frames for which bytes() suffices
  uint32_t page_size() const { return page_size_; }
  PageFile* file() { return file_; }

 private:
  friend class SharedGuard;
  friend class ExclusiveGuard;
  friend class PoolClient;
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint64_t kMostAhead = 64u << 20;  // most memory to make ready in advance
  // Returns the number of candidates that wakes the cleaner. It is low in a small pool, where
  // readers would otherwise take the few clean pages from each other, and a look-up its own upper
  // levels.
  size_t CleanStart() const REQUIRES(mutex_) { return std::min<size_t>(32, limit_ / 8); }
  // Returns the number of frames that the pool may have. Pages that are kept back do not count.
  // While pages cannot be written it is a few more than these pages take, so that readers find
  // clean ones.
  uint32_t Limit() const REQUIRES(mutex_) {
    const uint32_t limit = std::min(limit_ + kept_, most_frames_);
    if (!clean_error_) return limit;
    return std::min(std::max(limit, unwritable_) + kMinFrames, most_frames_);
  }
  // Returns the number of candidates for the cleaner that ends the search for a clean page.
  size_t MostToClean() const REQUIRES(mutex_) {
    return std::max<size_t>(CleanStart(), limit_ / 16);
  }
  using Clock = std::chrono::steady_clock;
  enum class Load : uint8_t { kRead, kNew, kAny };

  char* Data(uint32_t frame) { return memory_.data() + static_cast<size_t>(frame) * page_size_; }

  uint8_t Visits(uint32_t frame) const override;
  void SetVisits(uint32_t frame, uint8_t visits) override;

  // Share and Exclude latch a page that is in the pool; they return false when it is not.
  bool Share(PageId id);
  bool Exclude(PageId id, uint32_t* frame);
  // Gives a frame to a page that is latched exclusively and has none, and fills it as `load` says.
  // Releases the latch if it throws.
  uint32_t BringIn(PoolClient* client, PageId id, Load load, PageState* state);
  void ReadInto(PoolClient* client, PageId id, uint32_t frame, Load load, PageState* state);
  bool ReadsInPlace(PageId id) const;
  const char* ReadInPlace(PoolClient* client, PageId id, PageWord* seen);
  OptimisticGuard OptimisticSlow(PoolClient* client, PageId id);
  // Returns a guard of a page that was in the pool and not latched exclusively when its word was
  // `word`. With kLatchedReads the guard is empty when the page cannot be latched.
  OptimisticGuard GuardInPool(PageId id, PageWord word);
  ExclusiveGuard WriteAs(PoolClient* client, PageId id, Load load, PageState* state);
  ExclusiveGuard MakeExclusive(uint32_t frame, PageId id);

  bool ReadCachedInto(const MissingPage& missing);

  uint32_t AcquireFrame(PageId id);
  uint32_t TryAcquireFrame(PageId id);
  uint32_t GiveFrame(PageId id) REQUIRES(mutex_);
  uint32_t TakeFrame() REQUIRES(mutex_);
  void MakeRoomInLists() REQUIRES(mutex_);
  uint32_t TryPolicy() REQUIRES(mutex_);
  bool TryEvict(uint32_t index) REQUIRES(mutex_);
  void WaitForFrame(Clock::time_point* give_up) REQUIRES(mutex_);
  void ThrowIfNotCleaned() const;
  bool GrowWhileFull() REQUIRES(mutex_);
  uint32_t HugePageFrames() const { return static_cast<uint32_t>(memory_.kHugePage / page_size_); }
  uint32_t FramesAhead() const REQUIRES(mutex_);
  uint32_t NextHugePage() const REQUIRES(mutex_);
  bool MemoryIsShort() const REQUIRES(mutex_);
  void MakeMemoryReady() REQUIRES(mutex_);
  void DropMemoryAhead() REQUIRES(mutex_);
  void ReleaseMemory(uint32_t frame, uint32_t frames);
  uint32_t ActiveFrames() const REQUIRES(mutex_) {
    return made_ - static_cast<uint32_t>(retired_.size());
  }
  void SetLimit() REQUIRES(mutex_);
  void Retire(uint32_t index) REQUIRES(mutex_);
  void RetireSurplus() REQUIRES(mutex_);

  // The functions below write pages (pool_write.cc).
  void CleanerLoop(WriteBatch* batch, std::vector<uint32_t>* frames);
  bool HasDirtyPage() const;
  void CollectForCleaning(std::vector<uint32_t>* frames) REQUIRES(mutex_);
  void CleanSome(std::vector<uint32_t>* frames, WriteBatch* batch);
  // Writing has the frames whose copies are in a batch.
  struct Writing {
    std::vector<Frame*> frames;
    Lsn floor = 0;  // the image floor before the first copy was made
  };
  bool BeginWrite(uint32_t frame, WriteBatch* batch, Writing* writing);
  void FinishWrite(WriteBatch* batch, Writing* writing);
  Lsn LogImages(const WriteBatch& batch, const Writing& writing);
  void NoteImage(uint32_t frame);
  void UndoWrite(Writing* writing);
  void FlushPages(const std::vector<PageId>& dirty) REQUIRES(flush_mutex_);

  PageFile* const file_;
  RedoLog* const log_;
  const uint32_t page_size_;
  const bool in_place_;         // IO is in mmap mode
  const uint32_t most_frames_;  // frames for which address space is reserved
  PageTable table_;
  ReservedArray<char> memory_;
  ReservedArray<Frame> frames_;

  // These members hold the frames and the replacement. A frame is made when it is first needed.
  mutable Mutex mutex_;
  Replacement replacement_ GUARDED_BY(mutex_);
  uint64_t bytes_ GUARDED_BY(mutex_);
  uint32_t limit_ GUARDED_BY(mutex_) = 0;  // frames for which bytes_ suffices
  uint32_t kept_ GUARDED_BY(mutex_) = 0;   // frames whose pages are kept back
  std::atomic<uint32_t> made_{0};          // frames 0 to made_ - 1 have been used
  // The cleaner has made the memory of the frames below ready_ ready. Clearing a huge page takes up
  // to some milliseconds, for which a client would otherwise wait in the middle of an operation.
  uint32_t ready_ GUARDED_BY(mutex_) = 0;
  bool can_make_ready_ GUARDED_BY(mutex_) = true;
  // Each of the four lists of frames has room for all frames, so that adding to a list cannot fail.
  std::vector<uint32_t> retired_ GUARDED_BY(mutex_);  // frames without memory, since the limit fell
  std::vector<uint32_t> free_ GUARDED_BY(mutex_);
  PageId highest_page_ GUARDED_BY(mutex_) = 0;  // greatest number of a page that had a frame
  std::vector<uint32_t> cleaned_
      GUARDED_BY(mutex_);  // written and not requested since: evicted first
  std::vector<uint32_t> to_clean_ GUARDED_BY(mutex_);  // dirty pages that are to be evicted
  CondVar frames_available_, work_for_cleaner_;
  uint32_t waiters_ = 0;
  std::chrono::milliseconds patience_{30000};
  uint64_t clean_rounds_ = 0;
  std::atomic<uint32_t> batches_{0};  // number of batches of pages that are being written
  std::optional<Error> clean_error_;
  bool recovers_ = false;
  uint32_t unwritable_ = 0;            // number of frames when a full disk left none clean
  std::atomic<uint32_t> applying_{0};  // number of commits in the log that are changing pages
  bool stop_ = false;

  std::shared_mutex image_gate_;  // held shared from reading the floor until the pages are written
  std::atomic<Lsn> image_floor_{0};
  // This is the end of the log when the floor was set. If a page in the file has a later LSN, the
  // log has an image of it at or after the floor.
  std::atomic<Lsn> floor_set_{kNoLsn};
  std::atomic<uint64_t> images_{0}, image_bytes_{0};

  Mutex flush_mutex_;  // held during a flush, so that there is one at a time
  WriteBatch flush_batch_ GUARDED_BY(flush_mutex_);

  mutable Mutex clients_mutex_;
  std::set<PoolClient*> clients_ GUARDED_BY(clients_mutex_);
  uint64_t past_requests_ GUARDED_BY(clients_mutex_) = 0,
                          past_misses_ GUARDED_BY(clients_mutex_) = 0,
                          past_fetched_ GUARDED_BY(clients_mutex_) = 0;  // of ended clients
  uint64_t evictions_ GUARDED_BY(mutex_) = 0, cleaned_pages_ GUARDED_BY(mutex_) = 0,
                      frame_waits_ GUARDED_BY(mutex_) = 0;
  std::thread cleaner_;
};

inline OptimisticGuard Pool::Optimistic(PoolClient* client, PageId id) {
  client->requests.Add(1);
  if constexpr (!kLatchedReads) {
    const PageWord word = table_.Load(id);
    if (word.in_pool() && !word.exclusive()) [[likely]] {
      table_.Touch(id, word);
      OptimisticGuard guard;
      guard.table_ = &table_;
      guard.data_ = Data(word.frame());
      guard.seen_ = word;
      guard.id_ = id;
      return guard;
    }
  }
  return OptimisticSlow(client, id);
}

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_POOL_H_

// The buffer pool: page frames over the data file.
//
//   PoolClient client(&pool);                       // one a thread
//   OptimisticGuard leaf = pool.Optimistic(&client, id);
//   Copy(leaf.page());                              // what is needed of it
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
// The page table (page_table.h) holds each page's frame and latch. An optimistic read writes
// nothing that others read: it takes the page's version, reads what may be half changed or another
// page by now, and asks whether the version still holds before it believes any of it (Node's reads
// stay in the page whatever it holds). docs/engines/btree.md has the order in which latches are taken. In
// builds with ThreadSanitizer, to which such reads are races, optimistic guards hold the page
// shared; page_word_test.cc tries the protocol itself in all executions that C++ allows.
//
// Memory is exact: frames, their tables and the page table together never take more than the bytes
// given, but for the write batches (kFixedBytes). Resize changes it at any time.
//
// Replacement is S3-FIFO (replacement.h). A reader that needs a frame takes a clean one and does
// no write. Dirty pages that should go are handed to the cleaner, a thread that writes them in
// batches sorted by page number, through the doublewrite file; readers wait for it only when it
// finds no clean page at all. It also makes the memory of the next frames ready.
//
// In mmap mode clean pages are read in place from the mapping, and only pages that change come into
// the pool. A page that is in the pool is always read there: bringing it in, and changing it, needs
// its latch, and those who read it in place find its version changed.
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
  uint64_t evictions = 0;                // pages that left
  uint64_t written = 0;                  // pages written, by whom:
  uint64_t cleaned = 0;                  //   by the cleaner
  uint64_t frame_waits = 0;              // times a thread waited for the cleaner
  uint64_t images = 0, image_bytes = 0;  // whole pages in the log, against torn ones
};

class Pool : private VisitCounts {
 public:
  // FramesFor returns how many frames fit into `bytes`, with their tables and the table of the
  // file's pages; 0 when fewer than kMinFrames do. BytesFor is its inverse.
  static uint32_t FramesFor(uint64_t bytes, uint32_t page_size, uint64_t file_pages = 0);
  static uint64_t BytesFor(uint32_t frames, uint32_t page_size, uint64_t file_pages);
  static constexpr uint32_t kMinFrames = 16;
  static constexpr uint64_t kFixedBytes = 5u << 20;  // write batches of cleaner and checkpoint

  // `bytes` must be enough for kMinFrames.
  Pool(PageFile* file, RedoLog* log, uint64_t bytes);
  ~Pool() override;  // stops the cleaner; writes nothing
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  OptimisticGuard Optimistic(PoolClient* client, PageId id);
  SharedGuard Read(PoolClient* client, PageId id);
  ExclusiveGuard Write(PoolClient* client, PageId id);

  bool Contains(PageId id) const { return table_.Load(id).in_pool(); }

  // A look that waits for nothing, not for mmap mode; counts nothing.
  enum class Look : uint8_t {
    kHere,     // *guard is as Optimistic gives it
    kMissing,  // *missing is latched and has a frame: the caller reads the page and calls EndRead
    kBusy,     // somebody else has it latched, or there is no frame now
  };
  struct MissingPage {
    PageId id = kNoPage;
    uint32_t frame = kNoFrame;
    char* page = nullptr;
  };
  Look TryOptimistic(PageId id, OptimisticGuard* guard, MissingPage* missing);
  void EndRead(const MissingPage& missing, bool valid);

  // Brings in those of the pages that are missing, all their reads in flight at once, and waits for
  // them; as far as there are frames. A page that cannot be read stays missing: who asks for it is
  // told. Returns how many were read.
  uint32_t Fetch(PoolClient* client, ReadRing* ring, std::span<const PageId> ids);

  // The page of `guard`, exclusively, if nothing has changed since; else no guard.
  ExclusiveGuard Upgrade(PoolClient* client, OptimisticGuard* guard);
  SharedGuard Hold(OptimisticGuard* guard);  // the same, shared
  // For a page that the caller will fill: nothing is read, the bytes are undefined.
  ExclusiveGuard WriteNew(PoolClient* client, PageId id);
  // For recovery: a page that cannot be read comes back too, and *state says why.
  ExclusiveGuard WriteAny(PoolClient* client, PageId id, PageState* state);

  // The overflow pages are free now: what the pool holds of them need not be written.
  void Discard(PageId first, uint32_t pages);

  // Writes every page that was dirtied by log records before `lsn`. Throws the first error of a
  // write. Does not stop writers. The caller's scope is charged.
  void FlushBefore(Lsn lsn);

  // Protection from torn pages by the log (TornPage::kFullPageImage): from now on a page goes to
  // its place only when the log has it whole at or after `floor`, the point from which recovery
  // would read. When it returns no write that went by an older floor is under way. 0 (the
  // beginning): none.
  void SetImageFloor(Lsn floor);

  // Changes the size while others work. What is too much goes before it returns, written by the
  // cleaner where it is dirty; throws when that fails, or when too many pages are in use.
  void Resize(uint64_t bytes);

  // Lets the cleaner try again after a write of it has failed, waits for that, and throws its
  // error. Returns at once when the last write succeeded.
  void RetryCleaning();

  // Recovery changes pages before there is a client that could be told of a full device. Between these
  // calls pages that cannot be written for that reason stay in memory beyond the pool's size; it
  // gives the memory back when they are written.
  void BeginRecovery();
  void EndRecovery();

  // Sets how long a thread waits for a frame before that is an error. Must be called before other
  // threads use the pool.
  void SetPatience(std::chrono::milliseconds patience) { patience_ = patience; }

  PoolCounters Counters() const;
  uint64_t MemoryBytes() const;
  uint64_t image_bytes() const { return image_bytes_.load(std::memory_order_relaxed); }
  uint64_t bytes() const;   // the setting
  uint32_t frames() const;  // that it gives
  uint32_t page_size() const { return page_size_; }
  PageFile* file() { return file_; }

 private:
  friend class SharedGuard;
  friend class ExclusiveGuard;
  friend class PoolClient;
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint64_t kMostAhead = 64u << 20;  // bytes made ready before they are needed
  // Candidates that wake the cleaner; few in a small pool, where readers would else take the few
  // clean pages from each other, and one look-up its own upper levels.
  size_t CleanStart() const REQUIRES(mutex_) { return std::min<size_t>(32, limit_ / 8); }
  // Frames that the pool may have. While pages cannot be written it has a few more than those that
  // hold them, so that readers find some that are clean.
  uint32_t Limit() const REQUIRES(mutex_) {
    if (!clean_error_) return limit_;
    return std::min(std::max(limit_, unwritable_) + kMinFrames, most_frames_);
  }
  // Candidates for the cleaner at which the search for a clean page ends.
  size_t MostToClean() const REQUIRES(mutex_) {
    return std::max<size_t>(CleanStart(), limit_ / 16);
  }
  using Clock = std::chrono::steady_clock;
  enum class Load : uint8_t { kRead, kNew, kAny };

  char* Data(uint32_t frame) { return memory_.data() + static_cast<size_t>(frame) * page_size_; }

  uint8_t Visits(uint32_t frame) const override;
  void SetVisits(uint32_t frame, uint8_t visits) override;

  // Latches a page that is in the pool; false when it is not.
  bool Share(PageId id);
  bool Exclude(PageId id, uint32_t* frame);
  // Gives a frame, with its content, to a page that is latched exclusively and has none. Releases
  // the latch if it throws.
  uint32_t BringIn(PoolClient* client, PageId id, Load load, PageState* state);
  void ReadInto(PoolClient* client, PageId id, uint32_t frame, Load load, PageState* state);
  bool ReadsInPlace(PageId id) const;
  const char* ReadInPlace(PoolClient* client, PageId id, PageWord* seen);
  OptimisticGuard OptimisticSlow(PoolClient* client, PageId id);
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
  void WaitForFrame(Clock::time_point give_up) REQUIRES(mutex_);
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

  // Writing (pool_write.cc).
  void CleanerLoop(WriteBatch* batch, std::vector<uint32_t>* frames);
  bool HasDirtyPage() const;
  void CollectForCleaning(std::vector<uint32_t>* frames) REQUIRES(mutex_);
  void CleanSome(std::vector<uint32_t>* frames, WriteBatch* batch);
  // The frames whose copies are in a batch.
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
  const bool in_place_;         // mmap mode
  const uint32_t most_frames_;  // that there is address space for
  PageTable table_;
  ReservedArray<char> memory_;
  ReservedArray<Frame> frames_;

  // Free frames and replacement. A frame is made when first needed.
  mutable Mutex mutex_;
  Replacement replacement_ GUARDED_BY(mutex_);
  uint64_t bytes_ GUARDED_BY(mutex_);
  uint32_t limit_ GUARDED_BY(mutex_) = 0;  // frames to have
  std::atomic<uint32_t> made_{0};          // frames that have ever been used: the first ones
  // Frames whose memory the cleaner made ready, the first ones: clearing a huge page takes up to
  // some milliseconds, for which a client would wait in the middle of an operation.
  uint32_t ready_ GUARDED_BY(mutex_) = 0;
  bool can_make_ready_ GUARDED_BY(mutex_) = true;
  // Each of the four lists of frames has room for all frames, so that adding to one cannot fail.
  std::vector<uint32_t> retired_
      GUARDED_BY(mutex_);  // of these without memory, since the limit fell
  std::vector<uint32_t> free_ GUARDED_BY(mutex_);
  PageId highest_page_ GUARDED_BY(mutex_) = 0;  // whose word is in use
  std::vector<uint32_t> cleaned_
      GUARDED_BY(mutex_);  // written and not asked for since: the next to go
  std::vector<uint32_t> to_clean_ GUARDED_BY(mutex_);  // chosen to go, but dirty
  CondVar frames_available_, work_for_cleaner_;
  uint32_t waiters_ = 0;
  std::chrono::milliseconds patience_{30000};
  uint64_t clean_rounds_ = 0;
  std::optional<Error> clean_error_;
  bool recovers_ = false;
  uint32_t unwritable_ = 0;  // frames there were when a full disk left none that was clean
  bool stop_ = false;

  std::shared_mutex
      image_gate_;  // held shared from a look at the floor until the pages are written
  std::atomic<Lsn> image_floor_{0};
  // End of the log when the floor was set: a page in the file with a later change came there with
  // an image at or after the floor.
  std::atomic<Lsn> floor_set_{kNoLsn};
  std::atomic<uint64_t> images_{0}, image_bytes_{0};

  Mutex flush_mutex_;  // one flush at a time
  WriteBatch flush_batch_ GUARDED_BY(flush_mutex_);

  mutable Mutex clients_mutex_;
  std::set<PoolClient*> clients_ GUARDED_BY(clients_mutex_);
  uint64_t past_requests_ GUARDED_BY(clients_mutex_) = 0,
                          past_misses_ GUARDED_BY(clients_mutex_) = 0,
                          past_fetched_ GUARDED_BY(clients_mutex_) = 0;  // of clients that are gone
  uint64_t evictions_ GUARDED_BY(mutex_) = 0, cleaned_pages_ GUARDED_BY(mutex_) = 0,
                      frame_waits_ GUARDED_BY(mutex_) = 0;  // under mutex_
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

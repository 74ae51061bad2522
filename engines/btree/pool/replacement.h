// Replacement chooses the page that leaves the pool, by S3-FIFO (Yang et al., "FIFO queues are all
// you need for cache eviction", SOSP 2023).
//
// A new page enters the small queue, which has a tenth of the frames. If it is requested again
// while it is in that queue, it moves on to the main queue. Otherwise it leaves the pool, and its
// number is kept in a ghost table: if the page is read again soon, it enters the main queue at
// once. The main queue is a FIFO, too, in which a page that was requested since its last pass goes
// round again. So the pages of a scan pass through the small queue only, and a hit takes no lock
// and, for a hot page, writes nothing.
//
// The class knows only frame numbers, so that it can be tested on traces. The owner counts the
// visits of each frame, up to kMaxVisits. Not thread-safe. A frame is in a queue from Admit or
// Return until NextVictim returns it.
#ifndef TESTBED_ENGINES_BTREE_POOL_REPLACEMENT_H_
#define TESTBED_ENGINES_BTREE_POOL_REPLACEMENT_H_

#include <cstdint>
#include <vector>

#include "engines/btree/page/page.h"
#include "engines/btree/pool/reserved_array.h"

namespace testbed::btree {

// VisitCounts are the owner's counts of visits. Visits returns the visits of a frame since Admit or
// SetVisits.
class VisitCounts {
 public:
  virtual ~VisitCounts() = default;
  virtual uint8_t Visits(uint32_t frame) const = 0;
  virtual void SetVisits(uint32_t frame, uint8_t visits) = 0;
};

class Replacement {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint8_t kMaxVisits = 3;  // a frame's further visits are not counted
  // `most` is the largest number of frames that SetFrames will be called with; all frame numbers
  // are below it. `visits` must outlive this object.
  Replacement(uint32_t frames, uint32_t most, VisitCounts* visits);
  // Sets the number of frames, from which the target size of the small queue follows.
  void SetFrames(uint32_t frames);

  // Adds a frame that now holds `page`, which was not visited yet.
  void Admit(uint32_t frame, PageId page);
  // Removes the frame that should be evicted next from its queue and returns it; kNone when all
  // queues are empty. The caller then calls Return, Evicted or, later, Admit for it.
  uint32_t NextVictim();
  // Puts a frame from NextVictim back into its queue, because it could not be evicted.
  void Return(uint32_t frame);
  // Tells that `page` was evicted from a frame of NextVictim.
  void Evicted(uint32_t frame, PageId page);

  // Returns whether a frame from NextVictim was visited often enough since then to stay.
  bool Wanted(uint32_t frame) const {
    return visits_->Visits(frame) > (entries_[frame].home == kSmall ? 1 : 0);
  }

  // Returns the bytes of memory for each frame.
  static constexpr size_t BytesPerFrame() { return sizeof(Entry) + 2 * sizeof(Ghost); }

 private:
  enum Home : uint8_t { kSmall, kMain };
  struct Entry {
    uint32_t prev, next;
    Home home;
  };
  struct Queue {
    uint32_t head = kNone, tail = kNone, size = 0;
  };
  struct Ghost {
    PageId page = kNoPage;
    uint32_t when = 0;
  };

  void Push(Queue* queue, uint32_t frame);
  uint32_t Pop(Queue* queue);
  Ghost& GhostOf(PageId page) { return ghosts_[(page * 0x9e3779b97f4a7c15ull) >> ghost_shift_]; }

  VisitCounts* const visits_;
  ReservedArray<Entry> entries_;
  Queue small_, main_;
  uint32_t small_target_ = 0;
  // The ghost table is direct-mapped by page number. A ghost may overwrite an older one, which then
  // is forgotten.
  std::vector<Ghost> ghosts_;
  int ghost_shift_ = 0;
  uint32_t ghost_reach_ = 0;  // a ghost counts for this number of evictions
  uint32_t evictions_ = 0;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_REPLACEMENT_H_

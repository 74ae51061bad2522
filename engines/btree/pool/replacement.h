// Which page leaves the pool: S3-FIFO (Yang et al., "FIFO queues are all you need for cache
// eviction", SOSP 2023).
//
// New pages enter a small queue (a tenth of the frames). A page that is asked for again while it
// waits there goes on to the main queue; one that is not leaves the pool, and its number is kept in
// a ghost table: if it is read again soon, it enters the main queue at once. The main queue is a
// FIFO too, in which a page asked for since its last pass goes round again. So a scan passes
// through the small queue and leaves the main one alone, and a hit costs no lock and, for a hot
// page, no write.
//
// Works on frame numbers only, so that it can be tested on traces; how often a frame was visited
// its owner counts, up to kMaxVisits. One thread at a time. A frame is in a queue from Admit (or
// Return) until NextVictim gives it out.
#ifndef TESTBED_ENGINES_BTREE_POOL_REPLACEMENT_H_
#define TESTBED_ENGINES_BTREE_POOL_REPLACEMENT_H_

#include <cstdint>
#include <vector>

#include "engines/btree/page/page.h"
#include "engines/btree/pool/reserved_array.h"

namespace testbed::btree {

// The visits of a frame since SetVisits.
class VisitCounts {
 public:
  virtual ~VisitCounts() = default;
  virtual uint8_t Visits(uint32_t frame) const = 0;
  virtual void SetVisits(uint32_t frame, uint8_t visits) = 0;
};

class Replacement {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint8_t kMaxVisits = 3;
  // `most` is the highest number of frames that SetFrames will ever name. `visits` must outlive it.
  Replacement(uint32_t frames, uint32_t most, VisitCounts* visits);
  // How many frames there are from now on; which, is the owner's affair.
  void SetFrames(uint32_t frames);

  // The frame now holds `page`, not visited yet.
  void Admit(uint32_t frame, PageId page);
  // Takes the frame that should go next out of its queue; kNone when all queues are empty.
  uint32_t NextVictim();
  // Puts a frame back that could not go (it is in use).
  void Return(uint32_t frame);
  // The frame given out by NextVictim lost `page`.
  void Evicted(uint32_t frame, PageId page);

  // The frame was asked for since NextVictim gave it out, often enough to stay.
  bool Wanted(uint32_t frame) const {
    return visits_->Visits(frame) > (entries_[frame].home == kSmall ? 1 : 0);
  }

  // Bytes of memory for each frame.
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
  // Direct-mapped: a later ghost may overwrite an earlier one, which costs a little memory of the
  // past and nothing else.
  std::vector<Ghost> ghosts_;
  int ghost_shift_ = 0;
  uint32_t ghost_reach_ = 0;  // how many evictions back a ghost counts
  uint32_t evictions_ = 0;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_POOL_REPLACEMENT_H_

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
// Works on frame numbers only, so that it can be tested on traces. Touch may be called by any
// thread at any time; the rest by one thread at a time. A frame is in a queue from Admit (or
// Return) until NextVictim gives it out.
#ifndef TESTBED_ENGINES_BTREE_REPLACEMENT_H_
#define TESTBED_ENGINES_BTREE_REPLACEMENT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "engines/btree/page.h"

namespace testbed::btree {

class Replacement {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  explicit Replacement(uint32_t frames);

  void Touch(uint32_t frame) {
    std::atomic<uint8_t>& visits = entries_[frame].visits;
    const uint8_t v = visits.load(std::memory_order_relaxed);
    if (v < kMaxVisits) visits.store(v + 1, std::memory_order_relaxed);
  }

  // The frame now holds `page`.
  void Admit(uint32_t frame, PageId page);
  // Takes the frame that should go next out of its queue; kNone when all queues are empty.
  uint32_t NextVictim();
  // Puts a frame back that could not go (it is in use).
  void Return(uint32_t frame);
  // The frame given out by NextVictim lost `page`.
  void Evicted(uint32_t frame, PageId page);

  // The frame was asked for since NextVictim gave it out, often enough to stay.
  bool Wanted(uint32_t frame) const {
    const Entry& e = entries_[frame];
    return e.visits.load(std::memory_order_relaxed) > (e.home == kSmall ? 1 : 0);
  }

  // Bytes of memory for each frame.
  static constexpr size_t BytesPerFrame() { return sizeof(Entry) + 2 * sizeof(Ghost); }

 private:
  enum Home : uint8_t { kSmall, kMain };
  struct Entry {
    uint32_t prev = kNone, next = kNone;
    Home home = kSmall;
    std::atomic<uint8_t> visits{0};
  };
  struct Queue {
    uint32_t head = kNone, tail = kNone, size = 0;
  };
  struct Ghost {
    PageId page = kNoPage;
    uint32_t when = 0;
  };
  static constexpr uint8_t kMaxVisits = 3;

  void Push(Queue* queue, uint32_t frame);
  uint32_t Pop(Queue* queue);
  Ghost& GhostOf(PageId page) { return ghosts_[(page * 0x9e3779b97f4a7c15ull) >> ghost_shift_]; }

  std::unique_ptr<Entry[]> entries_;
  Queue small_, main_;
  const uint32_t small_target_;
  // Direct-mapped: a later ghost may overwrite an earlier one, which costs a little memory of the
  // past and nothing else.
  std::vector<Ghost> ghosts_;
  int ghost_shift_;
  uint32_t ghost_reach_;  // how many evictions back a ghost counts
  uint32_t evictions_ = 0;
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_REPLACEMENT_H_

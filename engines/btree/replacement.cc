#include "engines/btree/replacement.h"

#include <algorithm>
#include <bit>

namespace testbed::btree {

Replacement::Replacement(uint32_t frames)
    : entries_(std::make_unique<Entry[]>(frames)),
      small_target_(std::max<uint32_t>(1, frames / 10)),
      ghosts_(std::bit_ceil(std::max<uint32_t>(frames, 2))),
      ghost_shift_(64 - std::countr_zero(ghosts_.size())),
      ghost_reach_(frames - small_target_) {}

void Replacement::Push(Queue* queue, uint32_t frame) {
  Entry& e = entries_[frame];
  e.prev = kNone;
  e.next = queue->head;
  if (queue->head != kNone) entries_[queue->head].prev = frame;
  queue->head = frame;
  if (queue->tail == kNone) queue->tail = frame;
  ++queue->size;
}

uint32_t Replacement::Pop(Queue* queue) {
  const uint32_t frame = queue->tail;
  Entry& e = entries_[frame];
  queue->tail = e.prev;
  if (e.prev != kNone) {
    entries_[e.prev].next = kNone;
  } else {
    queue->head = kNone;
  }
  --queue->size;
  return frame;
}

void Replacement::Admit(uint32_t frame, PageId page) {
  Entry& e = entries_[frame];
  e.visits.store(0, std::memory_order_relaxed);
  Ghost& ghost = GhostOf(page);
  const bool known = ghost.page == page && evictions_ - ghost.when <= ghost_reach_;
  if (known) ghost.page = kNoPage;
  e.home = known ? kMain : kSmall;
  Push(known ? &main_ : &small_, frame);
}

uint32_t Replacement::NextVictim() {
  // Each pass moves a page on or takes a visit off it, so the loop ends.
  while (small_.size + main_.size > 0) {
    if (small_.size > small_target_ || main_.size == 0) {
      const uint32_t frame = Pop(&small_);
      Entry& e = entries_[frame];
      if (e.visits.load(std::memory_order_relaxed) <= 1) return frame;
      e.visits.store(0, std::memory_order_relaxed);
      e.home = kMain;
      Push(&main_, frame);
    } else {
      const uint32_t frame = Pop(&main_);
      Entry& e = entries_[frame];
      const uint8_t visits = e.visits.load(std::memory_order_relaxed);
      if (visits == 0) return frame;
      e.visits.store(visits - 1, std::memory_order_relaxed);
      Push(&main_, frame);
    }
  }
  return kNone;
}

void Replacement::Return(uint32_t frame) {
  Push(entries_[frame].home == kMain ? &main_ : &small_, frame);
}

void Replacement::Evicted(uint32_t frame, PageId page) {
  if (entries_[frame].home != kSmall) return;
  GhostOf(page) = {page, ++evictions_};
}

}  // namespace testbed::btree

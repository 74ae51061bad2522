#include "engines/btree/pool/replacement.h"

#include <algorithm>
#include <bit>

namespace testbed::btree {

Replacement::Replacement(uint32_t frames, uint32_t most, VisitCounts* visits)
    : visits_(visits), entries_(most) {
  SetFrames(frames);
}

void Replacement::SetFrames(uint32_t frames) {
  small_target_ = std::max<uint32_t>(1, frames / 10);
  ghost_reach_ = frames - small_target_;
  const size_t ghosts = std::bit_ceil(std::max<uint32_t>(frames, 2));
  if (ghosts == ghosts_.size()) return;
  std::vector<Ghost>(ghosts).swap(ghosts_);
  ghost_shift_ = 64 - std::countr_zero(ghosts_.size());
}

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
  Ghost& ghost = GhostOf(page);
  const bool known = ghost.page == page && evictions_ - ghost.when <= ghost_reach_;
  if (known) ghost.page = kNoPage;
  entries_[frame].home = known ? kMain : kSmall;
  Push(known ? &main_ : &small_, frame);
}

uint32_t Replacement::NextVictim() {
  // The loop ends: each pass moves a frame to the main queue or takes a visit off a frame of it.
  while (small_.size + main_.size > 0) {
    if (small_.size > small_target_ || main_.size == 0) {
      const uint32_t frame = Pop(&small_);
      if (visits_->Visits(frame) <= 1) return frame;
      visits_->SetVisits(frame, 0);
      entries_[frame].home = kMain;
      Push(&main_, frame);
    } else {
      const uint32_t frame = Pop(&main_);
      const uint8_t visits = visits_->Visits(frame);
      if (visits == 0) return frame;
      visits_->SetVisits(frame, static_cast<uint8_t>(visits - 1));
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

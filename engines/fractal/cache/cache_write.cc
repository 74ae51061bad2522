// This file writes nodes, for evictions and for checkpoints.
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "device/error.h"
#include "device/os/mutex.h"
#include "engines/fractal/cache/cache.h"

namespace testbed::fractal {

// Returns memory for an image. Images are as long as nodes, and their memory is reused: otherwise
// the allocator would scatter long-lived blocks around it.
AlignedBuffer Cache::TakeBuffer() {
  LockGuard lock(saved_mutex_);
  if (spare_.empty()) return {};
  AlignedBuffer buffer = std::move(spare_.back());
  spare_.pop_back();
  return buffer;
}

void Cache::KeepBuffer(AlignedBuffer buffer) {
  constexpr size_t kMostKept = 2;  // one for an eviction and one for a checkpoint
  LockGuard lock(saved_mutex_);
  if (spare_.size() < kMostKept) spare_.push_back(std::move(buffer));
}

// Allocates an extent for the image, writes the image there, and returns the place.
BlockPlace Cache::WriteImage(const NodeImage& image, const Snapshot& snapshot) {
  const uint64_t offset = table_->Allocate(image.extent);
  try {
    file_->Write(offset, image.bytes.data(), image.extent);
  } catch (const std::exception& e) {
    // A writer that finds the disk full gets the error, and may try again. A worse error stops all
    // writers, even if a reader or the cleaner has met it.
    const auto* error = dynamic_cast<const Error*>(&e);
    if (error == nullptr || !error->disk_is_full()) gate_->Break();
    table_->Discard(offset, image.extent);
    throw;
  }
  const auto add = [](std::atomic<uint64_t>* to, uint64_t n) {
    to->fetch_add(n, std::memory_order_relaxed);
  };
  add(&writes_.nodes, 1);
  add(&writes_.bytes, image.extent);
  add(&writes_.raw_bytes, image.raw_bytes);
  if (snapshot.height == 0) {
    add(&writes_.leaves, 1);
    add(&writes_.leaf_bytes, image.extent);
    add(&writes_.basements, image.places.size());
    add(&writes_.basement_raw_bytes, image.raw_bytes);
  } else {
    add(&writes_.inner, 1);
    add(&writes_.inner_bytes, image.extent);
  }
  return {offset, static_cast<uint32_t>(image.extent), image.header_bytes, image.header_checksum};
}

void Cache::Write(const NodeRef& node) {
  LockGuard writing(node->writing);
  Snapshot snapshot;
  {
    std::shared_lock latch(node->latch);
    if (!node->dirty || node->gone) return;
    snapshot = TakeSnapshot(*node);
  }
  NodeImage image = MakeImage(snapshot, options_.codec, TakeBuffer());
  const BlockPlace place = WriteImage(image, snapshot);
  Publish(node, snapshot, image, place);
  KeepBuffer(std::move(image.bytes));
}

// Enters the written image into the tables. The current table gets it if the node has not changed
// since the snapshot. The checkpoint's table gets it if the node is pending, since the node then
// has not changed since the checkpoint began.
void Cache::Publish(const NodeRef& node, const Snapshot& snapshot, const NodeImage& image,
                    const BlockPlace& place) {
  const Gate::Pass pass(gate_);
  std::lock_guard latch(node->latch);
  if (node->gone || node->changes != snapshot.changes) {
    table_->Discard(place.offset, place.bytes);
    return;
  }
  table_->Set(node->block, place, true, node->pending);
  if (node->pending) writes_.for_checkpoints.fetch_add(1, std::memory_order_relaxed);
  node->pending = false;
  node->dirty = false;
  node->extent = place.offset;
  ++node->version;
  for (size_t i = 0; i < node->parts.size(); ++i) node->parts[i].place = image.places[i];
}

bool Cache::HasDirtyNode() {
  bool found = false;
  ForEach([&found](const NodeRef& node) {
    if (found) return;
    std::shared_lock latch(node->latch);
    found = node->dirty && !node->gone;
  });
  return found;
}

void Cache::BeginCheckpoint() {
  ForEach([this](const NodeRef& node) {
    std::lock_guard latch(node->latch);
    if (!node->dirty || node->gone) return;
    node->pending = true;
    pending_.push_back(node->block);
  });
  table_->BeginCheckpoint();
}

void Cache::WriteIfPending(const NodeRef& node) {
  {
    std::shared_lock latch(node->latch);
    if (!node->pending) return;
  }
  Write(node);
}

void Cache::WriteCheckpoint() {
  for (const BlockId block : pending_) {
    // If a node changes while it is written, its change has saved a snapshot, and the node is no
    // longer pending.
    while (const NodeRef node = Find(block)) {
      bool pending;
      {
        std::shared_lock latch(node->latch);
        pending = node->pending;
      }
      if (!pending) break;
      Write(node);
    }
    WriteSaved();
  }
  CheckGateWhole();
  pending_.clear();
}

// Throws when the gate is broken. An exception that cuts a change short breaks the gate before it
// releases the gate. The running checkpoint may then lack a node that the change took from it.
void Cache::CheckGateWhole() {
  const Gate::Close close(gate_);
  if (!gate_->broken()) return;
  throw Error(Error::kIo, "a change or a write of a node of the data file " + file_->path() +
                              " was cut short; open the database again");
}

void Cache::WriteSaved() {
  for (;;) {
    Snapshot snapshot;
    {
      LockGuard lock(saved_mutex_);
      if (saved_.empty()) return;
      snapshot = std::move(saved_.back());
      saved_.pop_back();
    }
    NodeImage image = MakeImage(snapshot, options_.codec, TakeBuffer());
    const BlockPlace place = WriteImage(image, snapshot);
    writes_.for_checkpoints.fetch_add(1, std::memory_order_relaxed);
    table_->Set(snapshot.block, place, false, true);
    KeepBuffer(std::move(image.bytes));
  }
}

void Cache::AbandonCheckpoint() {
  ForEach([](const NodeRef& node) {
    std::lock_guard latch(node->latch);
    node->pending = false;
  });
  pending_.clear();
  {
    LockGuard lock(saved_mutex_);
    saved_.clear();
  }
  table_->AbortCheckpoint();
}

}  // namespace testbed::fractal

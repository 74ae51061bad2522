#include "device/file/read_trace.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace testbed {
namespace {

// The slots are filled from the front. Start() does not initialize them, so that they take no
// memory before a read is written to them.
std::unique_ptr<ReadTrace::Read[]> slots;
size_t slot_count = 0;
std::atomic<uint64_t> next_slot{0};
std::atomic<uint32_t> next_file{0};

}  // namespace

std::atomic<bool> ReadTrace::on_{false};

uint32_t ReadTrace::NewFile() { return next_file.fetch_add(1, std::memory_order_relaxed); }

void ReadTrace::Start(size_t most) {
  slots.reset(new Read[most]);
  slot_count = most;
  next_slot.store(0);
  on_.store(true);
}

void ReadTrace::Record(uint32_t file, uint64_t offset, size_t bytes, bool mapped) {
  const uint64_t slot = next_slot.fetch_add(1, std::memory_order_relaxed);
  if (slot >= slot_count) return;
  slots[slot] = {offset, static_cast<uint32_t>(std::min<size_t>(bytes, UINT32_MAX)),
                 file & 0x7fffffff, mapped};
}

ReadTrace::Recording ReadTrace::Stop() {
  on_.store(false);
  Recording recording;
  const uint64_t n = next_slot.load();
  recording.count = std::min<uint64_t>(n, slot_count);
  recording.dropped = n - recording.count;
  recording.slots = std::move(slots);
  return recording;
}

}  // namespace testbed

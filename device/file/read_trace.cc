#include "device/file/read_trace.h"

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

namespace testbed {
namespace {

// The slots are filled from the front. Start() does not initialize them, so that they take no
// memory before a read is written to them.
std::unique_ptr<ReadTrace::Read[]> slots;
size_t slot_count = 0;
std::atomic<uint64_t> next_slot{0};
std::atomic<uint32_t> next_file{0};
// threads_in_record is the number of threads that may use the slots. A thread adds itself before it
// looks once more whether the recording is on, and Stop ends the recording before it looks at the
// number. So either the thread sees the end, or Stop sees the thread.
std::atomic<uint32_t> threads_in_record{0};

}  // namespace

std::atomic<bool> ReadTrace::on_{false};

uint32_t ReadTrace::NewFile() { return next_file.fetch_add(1, std::memory_order_relaxed); }

void ReadTrace::Start(size_t most) {
  slots = std::make_unique_for_overwrite<Read[]>(most);
  slot_count = most;
  next_slot.store(0);
  on_.store(true);
}

void ReadTrace::Record(uint32_t file, uint64_t offset, size_t bytes, bool mapped) {
  threads_in_record.fetch_add(1);
  if (on_.load()) {
    const uint64_t slot = next_slot.fetch_add(1, std::memory_order_relaxed);
    if (slot < slot_count) {
      slots[slot] = {offset, static_cast<uint32_t>(std::min<size_t>(bytes, UINT32_MAX)),
                     file & 0x7fffffff, mapped};
    }
  }
  threads_in_record.fetch_sub(1);
}

ReadTrace::Recording ReadTrace::Stop() {
  on_.store(false);
  while (threads_in_record.load() != 0) std::this_thread::yield();
  Recording recording;
  const uint64_t n = next_slot.load();
  recording.count = std::min<uint64_t>(n, slot_count);
  recording.dropped = n - recording.count;
  recording.slots = std::move(slots);
  return recording;
}

}  // namespace testbed

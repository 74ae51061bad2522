// Samples the memory that a run holds while a phase lasts: the charge of its budget and the part of
// it that is page cache, four times a second. A single figure at the phase's end would miss memory
// that was freed, or not yet filled, a moment before.
//
//   MemoryWatch watch(budget);      // null: watches nothing
//   ... the phase ...
//   MemoryWatch::Held held = watch.Stop();
#ifndef TESTBED_TOOLS_RUN_MEMORY_WATCH_H_
#define TESTBED_TOOLS_RUN_MEMORY_WATCH_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "device/machine/memory_budget.h"
#include "device/os/mutex.h"

namespace testbed {

class MemoryWatch {
 public:
  struct Sample {
    uint64_t charged = 0;     // bytes charged to the budget, page cache included
    uint64_t page_cache = 0;  // bytes of `charged` that the kernel reclaims when memory is short
    uint64_t limit = 0;       // bytes that the budget allows
    // Returns the charge without the page cache.
    uint64_t own() const { return charged - (page_cache < charged ? page_cache : charged); }
  };
  struct Held {
    uint64_t charged_mean = 0, charged_most = 0;
    uint64_t own_mean = 0, own_most = 0;  // without the page cache
    uint64_t page_cache_mean = 0;
    uint64_t samples = 0;
    uint64_t shortages = 0;  // samples at which memory was short, so that `relieve` was called
  };
  // Watches `budget`, which must outlive the watch; a null budget is not watched. When memory is
  // short, the watch makes the allocator return its free pages to the system (ReturnFreeMemory).
  // Otherwise the kernel could kill an engine near its limit for gaps that nobody uses.
  explicit MemoryWatch(const MemoryBudget* budget);
  // Watches what `sample` returns; an empty `sample` watches nothing. The watch's thread calls
  // `sample` every `interval`, and `relieve` when memory is short: when less than the share kShort
  // of the limit is free or page cache.
  MemoryWatch(std::function<Sample()> sample, std::chrono::milliseconds interval,
              std::function<void()> relieve = {});
  ~MemoryWatch() { Stop(); }
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  // Ends the watch's thread, takes a last sample and returns the figures of all samples, in bytes.
  // Without a watched budget they are all 0. Later calls return the same figures.
  Held Stop();

  static constexpr double kShort = 0.03;

 private:
  void Take();
  void Watch(std::chrono::milliseconds interval);

  const std::function<Sample()> sample_;
  const std::function<void()> relieve_;
  Mutex mutex_;
  CondVar wake_;
  bool stop_ = false;
  Held sums_;
  std::thread thread_;
};

// Returns the fields of "memory" that docs/results.md lists for a phase. "held" is the whole charge
// when page cache answers reads of the engine (ReadsPageCache). Else, as with direct IO, it is the
// charge without the page cache: what is left there of log files is never read.
nlohmann::json HeldJson(const MemoryWatch::Held& held, bool reads_page_cache);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_MEMORY_WATCH_H_

// Watches what a run holds of its memory budget during a phase: the budget's charge, and the page
// cache's part of it, read four times a second. A reading at the end of the phase alone would miss
// memory that was freed, or not yet filled, a moment earlier.
//
//   MemoryWatch watch(budget);      // null: watches nothing
//   ... the phase ...
//   MemoryWatch::Held held = watch.Stop();
#ifndef TESTBED_TOOLS_RUN_MEMORY_WATCH_H_
#define TESTBED_TOOLS_RUN_MEMORY_WATCH_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "device/machine/memory_budget.h"

namespace testbed {

class MemoryWatch {
 public:
  struct Sample {
    uint64_t charged = 0;     // bytes charged to the budget, page cache included
    uint64_t page_cache = 0;  // part of `charged`; the kernel reclaims it on demand
    uint64_t limit = 0;       // of the budget
    uint64_t own() const { return charged - (page_cache < charged ? page_cache : charged); }
  };
  struct Held {
    uint64_t charged_mean = 0, charged_most = 0;
    uint64_t own_mean = 0, own_most = 0;  // without the page cache
    uint64_t page_cache_mean = 0;
    uint64_t samples = 0;
    uint64_t shortages = 0;  // samples at which memory was short
  };
  // Watches a budget, which must outlive the watch; null watches nothing. When memory is short, the
  // watch makes the allocator return free memory to the system (malloc_trim): otherwise the kernel
  // could end an engine near its limit because of unused gaps.
  explicit MemoryWatch(const MemoryBudget* budget);
  // Calls `sample` from its own thread at each interval; an empty `sample` watches nothing. Calls
  // `relieve` when the memory without page cache exceeds a share of 1 - kShort of the limit.
  MemoryWatch(std::function<Sample()> sample, std::chrono::milliseconds interval,
              std::function<void()> relieve = {});
  ~MemoryWatch() { Stop(); }
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  // Takes a last sample, ends the thread and returns what was held, with samples == 0 when nothing
  // was watched.
  Held Stop();

  static constexpr double kShort = 0.03;

 private:
  void Take();
  void Watch(std::chrono::milliseconds interval);

  const std::function<Sample()> sample_;
  const std::function<void()> relieve_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  Held sums_;
  std::thread thread_;
};

// Returns the figures as in docs/results.md. An engine that reads through the page cache holds the
// whole charge. With direct I/O it holds the charge without the page cache, which then contains
// only pages of files that are not read directly (logs) and that answer no reads.
nlohmann::json HeldJson(const MemoryWatch::Held& held, bool reads_page_cache);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_MEMORY_WATCH_H_

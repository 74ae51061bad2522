// What a run holds of its budget while a phase lasts: the budget's charge and what of it is page
// cache, read four times a second. The figure at a phase's end alone would miss what was freed, or
// not yet filled, a moment before.
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
    uint64_t charged = 0;     // to the budget, page cache included
    uint64_t page_cache = 0;  // of it: what the kernel takes back when memory is asked for
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
  // Of a budget, whose process returns what its allocator keeps for itself (malloc_trim) when memory
  // is short: an engine near its limit would be ended for gaps that nobody uses.
  explicit MemoryWatch(const MemoryBudget* budget);
  // `sample` tells what is charged now; empty: watches nothing. `relieve` is called at samples of
  // which all but kShort of the limit is not page cache.
  MemoryWatch(std::function<Sample()> sample, std::chrono::milliseconds interval,
              std::function<void()> relieve = {});
  ~MemoryWatch() { Stop(); }
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  // Takes a last sample and returns what was held; no samples when nothing was watched.
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

// As docs/results.md has it. What the run holds is the whole charge when its engine reads through
// the page cache; with direct IO it is the charge without the page cache, in which files that are
// not read directly (logs) leave pages that no read is answered from.
nlohmann::json HeldJson(const MemoryWatch::Held& held, bool reads_page_cache);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_MEMORY_WATCH_H_

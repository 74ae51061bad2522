// What a run holds of its budget while a phase lasts: the budget's charge (the engine's cache, the
// rest of the process, the page cache, the kernel's), read each second. The figure at a phase's end
// alone would miss what was freed, or not yet filled, a moment before.
//
//   MemoryWatch watch(budget);      // null: watches nothing
//   ... the phase ...
//   MemoryWatch::Held held = watch.Stop();
#ifndef TESTBED_TOOLS_MEMORY_WATCH_H_
#define TESTBED_TOOLS_MEMORY_WATCH_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "device/memory_budget.h"

namespace testbed {

class MemoryWatch {
 public:
  struct Held {
    uint64_t mean = 0, most = 0;
    uint64_t samples = 0;
  };
  explicit MemoryWatch(const MemoryBudget* budget)
      : MemoryWatch(budget == nullptr ? std::function<uint64_t()>()
                                      : [budget] { return budget->Usage().usage; },
                    std::chrono::seconds(1)) {}
  // `usage` tells the bytes held now; empty: watches nothing.
  MemoryWatch(std::function<uint64_t()> usage, std::chrono::milliseconds interval);
  ~MemoryWatch() { Stop(); }
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  // Takes a last sample and returns what was held; no samples when nothing was watched.
  Held Stop();

 private:
  void Sample();
  void Watch(std::chrono::milliseconds interval);

  const std::function<uint64_t()> usage_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  uint64_t sum_ = 0, most_ = 0, samples_ = 0;
  std::thread thread_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_MEMORY_WATCH_H_

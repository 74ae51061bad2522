#include "tools/run/memory_watch.h"

#include <algorithm>
#include <utility>

#include "device/os/allocator.h"
#include "device/os/mutex.h"
#include "device/os/thread.h"

namespace testbed {
namespace {

std::function<MemoryWatch::Sample()> SampleOf(const MemoryBudget* budget) {
  if (budget == nullptr) return {};
  return [budget] {
    const MemoryUsage usage = budget->Usage();
    return MemoryWatch::Sample{usage.usage, usage.file, usage.limit};
  };
}

}  // namespace

MemoryWatch::MemoryWatch(const MemoryBudget* budget)
    : MemoryWatch(SampleOf(budget), std::chrono::milliseconds(250), ReturnFreeMemory) {}

MemoryWatch::MemoryWatch(std::function<Sample()> sample, std::chrono::milliseconds interval,
                         std::function<void()> relieve)
    : sample_(std::move(sample)), relieve_(std::move(relieve)) {
  if (sample_) {
    thread_ = StartThread("watching the memory", [this, interval] { Watch(interval); });
  }
}

void MemoryWatch::Take() {
  const Sample now = sample_();
  sums_.charged_mean += now.charged;
  sums_.charged_most = std::max(sums_.charged_most, now.charged);
  sums_.own_mean += now.own();
  sums_.own_most = std::max(sums_.own_most, now.own());
  sums_.page_cache_mean += now.page_cache;
  ++sums_.samples;
  if (static_cast<double>(now.own()) <= (1 - kShort) * static_cast<double>(now.limit)) return;
  if (now.limit == 0 || !relieve_) return;
  ++sums_.shortages;
  relieve_();
}

void MemoryWatch::Watch(std::chrono::milliseconds interval) {
  UniqueLock lock(mutex_);
  while (!wake_.wait_for(mutex_, interval, [this]() REQUIRES(mutex_) { return stop_; })) Take();
}

MemoryWatch::Held MemoryWatch::Stop() {
  if (thread_.joinable()) {
    {
      LockGuard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
    Take();
  }
  Held held = sums_;
  if (held.samples == 0) return held;
  for (uint64_t* mean : {&held.charged_mean, &held.own_mean, &held.page_cache_mean}) {
    *mean /= held.samples;
  }
  return held;
}

nlohmann::json HeldJson(const MemoryWatch::Held& held, bool reads_page_cache) {
  return {{"held_mean", reads_page_cache ? held.charged_mean : held.own_mean},
          {"held_most", reads_page_cache ? held.charged_most : held.own_most},
          {"own_mean", held.own_mean},
          {"own_most", held.own_most},
          {"page_cache_mean", held.page_cache_mean},
          {"shortages", held.shortages}};
}

}  // namespace testbed

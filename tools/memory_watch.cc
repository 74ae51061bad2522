#include "tools/memory_watch.h"

#include <algorithm>
#include <utility>

namespace testbed {

MemoryWatch::MemoryWatch(std::function<uint64_t()> usage, std::chrono::milliseconds interval)
    : usage_(std::move(usage)) {
  if (usage_) thread_ = std::thread([this, interval] { Watch(interval); });
}

void MemoryWatch::Sample() {
  const uint64_t now = usage_();
  sum_ += now;
  most_ = std::max(most_, now);
  ++samples_;
}

void MemoryWatch::Watch(std::chrono::milliseconds interval) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!wake_.wait_for(lock, interval, [this] { return stop_; })) Sample();
}

MemoryWatch::Held MemoryWatch::Stop() {
  if (thread_.joinable()) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
    Sample();
  }
  return {samples_ == 0 ? 0 : sum_ / samples_, most_, samples_};
}

}  // namespace testbed

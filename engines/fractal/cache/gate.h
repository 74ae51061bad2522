// The gate between changes and the begin of a checkpoint. Whatever changes nodes, or which of them
// is dirty, does so inside (`Pass`); a checkpoint begins while nobody is (`Close`). So it begins
// between two flushes and between two commits, never in the middle of one. Who waits to close goes
// before those who come later to pass. Passes are short: no IO happens in one.
#ifndef TESTBED_ENGINES_FRACTAL_CACHE_GATE_H_
#define TESTBED_ENGINES_FRACTAL_CACHE_GATE_H_

#include <mutex>
#include <shared_mutex>

namespace testbed::fractal {

class Gate {
 public:
  class Pass {
   public:
    explicit Pass(Gate* gate) {
      std::lock_guard turn(gate->turnstile_);
      lock_ = std::shared_lock(gate->mutex_);
    }

   private:
    std::shared_lock<std::shared_mutex> lock_;
  };
  class Close {
   public:
    explicit Close(Gate* gate) : turn_(gate->turnstile_), lock_(gate->mutex_) {}

   private:
    std::lock_guard<std::mutex> turn_;
    std::lock_guard<std::shared_mutex> lock_;
  };

 private:
  std::mutex turnstile_;
  std::shared_mutex mutex_;
};

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_CACHE_GATE_H_

// A Gate keeps changes and the begin of a checkpoint apart. A thread that changes nodes, or changes
// which nodes are dirty, holds a Pass. A checkpoint begins while it holds Close, and then no Pass
// is held: so it begins between two flushes and between two commits, never in the middle of one. A
// thread that waits for Close goes before threads that come later for a Pass. Passes are short,
// because no IO happens in them.
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

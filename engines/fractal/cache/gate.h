// A Gate keeps changes and the begin of a checkpoint apart. A thread that changes nodes, or changes
// which nodes are dirty, holds a Pass. A checkpoint begins while it holds Close, and no Pass is
// held then: so it begins between two flushes and between two commits, never in the middle of one.
// A thread that waits for Close goes before threads that ask for a Pass later. Passes are short,
// because no IO happens in them.
//
// An exception that ends a Pass or a Close may leave a change half done. The Pass or the Close then
// breaks the gate before it releases the gate. Nothing that was changed before a gate broke may
// become durable after that.
#ifndef TESTBED_ENGINES_FRACTAL_CACHE_GATE_H_
#define TESTBED_ENGINES_FRACTAL_CACHE_GATE_H_

#include <atomic>
#include <exception>
#include <mutex>
#include <shared_mutex>

namespace testbed::fractal {

class Gate {
  class BreakOnException {
   public:
    explicit BreakOnException(Gate* gate) : gate_(gate), before_(std::uncaught_exceptions()) {}
    ~BreakOnException() {
      if (std::uncaught_exceptions() > before_) gate_->Break();
    }
    BreakOnException(const BreakOnException&) = delete;
    BreakOnException& operator=(const BreakOnException&) = delete;

   private:
    Gate* const gate_;
    const int before_;
  };

 public:
  class Pass {
   public:
    explicit Pass(Gate* gate) : lock_(Enter(gate)), on_exception_(gate) {}

   private:
    static std::shared_lock<std::shared_mutex> Enter(Gate* gate) {
      std::lock_guard turn(gate->turnstile_);
      return std::shared_lock(gate->mutex_);
    }
    std::shared_lock<std::shared_mutex> lock_;
    BreakOnException on_exception_;  // destroyed before lock_
  };
  class Close {
   public:
    explicit Close(Gate* gate)
        : turn_(gate->turnstile_), lock_(gate->mutex_), on_exception_(gate) {}

   private:
    std::lock_guard<std::mutex> turn_;
    std::lock_guard<std::shared_mutex> lock_;
    BreakOnException on_exception_;  // destroyed before lock_ and turn_
  };

  void Break() { broken_.store(true); }
  bool broken() const { return broken_.load(std::memory_order_relaxed); }

 private:
  std::mutex turnstile_;
  std::shared_mutex mutex_;
  std::atomic<bool> broken_{false};
};

}  // namespace testbed::fractal

#endif  // TESTBED_ENGINES_FRACTAL_CACHE_GATE_H_

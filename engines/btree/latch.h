// A latch in four bytes: shared or exclusive, for the time that a page is read or changed.
//
// A waiting writer keeps new readers out, so a thread must never take the same latch shared twice.
// Spins for a short while, then sleeps in the kernel.
#ifndef TESTBED_ENGINES_BTREE_LATCH_H_
#define TESTBED_ENGINES_BTREE_LATCH_H_

#include <atomic>
#include <cstdint>

namespace testbed::btree {

inline void CpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class Latch {
 public:
  bool TryLockShared() {
    uint32_t s = state_.load(std::memory_order_relaxed);
    return (s & (kExclusive | kPending)) == 0 &&
           state_.compare_exchange_strong(s, s + 1, std::memory_order_acquire);
  }

  void LockShared() {
    for (int spin = 0;; ++spin) {
      uint32_t s = state_.load(std::memory_order_relaxed);
      if ((s & (kExclusive | kPending)) == 0) {
        if (state_.compare_exchange_weak(s, s + 1, std::memory_order_acquire)) return;
      } else if (spin < kSpins) {
        CpuRelax();
      } else {
        state_.wait(s, std::memory_order_relaxed);
      }
    }
  }

  void UnlockShared() {
    const uint32_t before = state_.fetch_sub(1, std::memory_order_release);
    if (before == (kPending | 1)) state_.notify_all();
  }

  bool TryLockExclusive() {
    uint32_t s = 0;
    return state_.compare_exchange_strong(s, kExclusive, std::memory_order_acquire);
  }

  void LockExclusive() {
    for (int spin = 0;; ++spin) {
      uint32_t s = state_.load(std::memory_order_relaxed);
      if ((s & ~kPending) == 0) {
        // Takes the mark off with it: other writers that wait set it again.
        if (state_.compare_exchange_weak(s, kExclusive, std::memory_order_acquire)) return;
      } else if ((s & kPending) == 0) {
        state_.compare_exchange_weak(s, s | kPending, std::memory_order_relaxed);
      } else if (spin < kSpins) {
        CpuRelax();
      } else {
        state_.wait(s, std::memory_order_relaxed);
      }
    }
  }

  void UnlockExclusive() {
    state_.fetch_and(~(kExclusive | kPending), std::memory_order_release);
    state_.notify_all();
  }

  // Exclusive becomes shared without a gap.
  void Downgrade() {
    uint32_t s = state_.load(std::memory_order_relaxed);
    while (!state_.compare_exchange_weak(s, 1, std::memory_order_release)) {
    }
    state_.notify_all();
  }

 private:
  static constexpr uint32_t kExclusive = 1u << 31;
  static constexpr uint32_t kPending = 1u << 30;  // a writer waits
  static constexpr int kSpins = 64;
  std::atomic<uint32_t> state_{0};  // and the number of readers
};

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_LATCH_H_

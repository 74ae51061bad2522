// An AllocationMeter counts what a thread allocates through allocators that use the meter. On
// request it also times these calls, which shows the share of malloc and free in an operation.
//
//   using Json = nlohmann::basic_json<..., MeteredAllocator>;
//   AllocationMeter& meter = AllocationMeter::ThisThread();
//   meter.timed = true;          // reads the clock around each call: for a sample of operations
//   ...
//   double ns = meter.NetNs();   // without the cost of reading the clock
//
// Each thread has its own meter; a meter is not thread-safe.
#ifndef TESTBED_WORKLOADS_DOCUMENTS_ALLOCATION_METER_H_
#define TESTBED_WORKLOADS_DOCUMENTS_ALLOCATION_METER_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "workloads/measure/clock.h"

namespace testbed {

struct AllocationMeter {
  uint64_t allocations = 0;
  uint64_t bytes = 0;
  bool timed = false;
  uint64_t timed_calls = 0, ticks = 0;  // calls and their time while `timed`; releases included

  static AllocationMeter& ThisThread() {
    static thread_local AllocationMeter meter;
    return meter;
  }

  // Runs an allocator's `call` under the meter; `size` is 0 for a release.
  template <typename Call>
  auto Metered(size_t size, Call call) {
    allocations += size != 0;
    bytes += size;
    struct Timer {
      explicit Timer(AllocationMeter* m) : meter(m) {
        if (meter->timed) start = Clock::Get().Now();
      }
      ~Timer() {
        if (!meter->timed) return;
        meter->ticks += Clock::Get().Now() - start;
        ++meter->timed_calls;
      }
      AllocationMeter* meter;
      uint64_t start = 0;
    } timer(this);
    return call();
  }

  // Returns the nanoseconds of the timed calls, less those of an equal number of empty calls.
  double NetNs() const;
};

// The standard allocator, whose calls go through the calling thread's meter.
template <typename T>
struct MeteredAllocator {
  using value_type = T;
  MeteredAllocator() = default;
  template <typename U>
  MeteredAllocator(const MeteredAllocator<U>&) {}
  T* allocate(size_t n) {
    const size_t size = n * sizeof(T);
    return static_cast<T*>(
        AllocationMeter::ThisThread().Metered(size, [size] { return ::operator new(size); }));
  }
  void deallocate(T* p, size_t) {
    AllocationMeter::ThisThread().Metered(0, [p] { ::operator delete(p); });
  }
  friend bool operator==(const MeteredAllocator&, const MeteredAllocator&) { return true; }
};

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_DOCUMENTS_ALLOCATION_METER_H_

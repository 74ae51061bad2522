// Counts the allocations of one thread that go through metered allocators, and on request measures
// their time: which share of an operation malloc and free take.
//
//   using Json = nlohmann::basic_json<std::map, std::vector, std::string, bool, int64_t, uint64_t,
//                                     double, MeteredAllocator>;
//   AllocationMeter& meter = AllocationMeter::ThisThread();
//   meter.timed = true;          // reads the clock around each call: use on a sample
//   ...
//   uint64_t ns = meter.NetNs();   // without the cost of reading the clock
#ifndef TESTBED_WORKLOADS_DOCUMENTS_ALLOCATION_METER_H_
#define TESTBED_WORKLOADS_DOCUMENTS_ALLOCATION_METER_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "workloads/documents/clock_cost.h"
#include "workloads/measure/clock.h"

namespace testbed {

// Not thread-safe: each thread has its own meter. A caller resets ticks and empty_ticks as it
// needs.
struct AllocationMeter {
  uint64_t allocations = 0;
  uint64_t bytes = 0;
  bool timed = false;
  uint64_t ticks = 0;        // time of the calls that allocate or release while `timed`
  uint64_t empty_ticks = 0;  // time of an empty interval after each of these calls (clock_cost.h)

  // Returns the calling thread's meter.
  static AllocationMeter& ThisThread() {
    static thread_local AllocationMeter meter;
    return meter;
  }

  // Runs `call`, which allocates `size` bytes, or releases memory when `size` is 0, and returns its
  // result.
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
        const Clock& clock = Clock::Get();
        const uint64_t end = clock.Now();
        meter->ticks += end - start;
        meter->empty_ticks += EmptyInterval(clock, end);
      }
      AllocationMeter* meter;
      uint64_t start = 0;
    } timer(this);
    return call();
  }

  // Returns the nanoseconds of the timed calls, without the cost of reading the clock.
  uint64_t NetNs() const { return Clock::Get().ToNs(NetOfClock(ticks, empty_ticks)); }
};

// The standard allocator, metered.
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

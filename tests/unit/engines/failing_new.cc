// This file replaces `new` and `delete` of the whole test program.
#include "tests/unit/engines/failing_new.h"

#include <cstdlib>
#include <new>

namespace testbed {
namespace {

thread_local int64_t allocations_left = -1;  // negative: none fails
thread_local bool allocation_failed = false;

void* AllocateOrFail(size_t bytes) {
  if (allocations_left >= 0 && allocations_left-- == 0) {
    allocation_failed = true;
    throw std::bad_alloc();
  }
  void* const at = std::malloc(bytes == 0 ? 1 : bytes);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}

}  // namespace

void FailingNew::Set(int64_t allocations) {
  allocation_failed = false;
  allocations_left = allocations;
}

bool FailingNew::Clear() {
  allocations_left = -1;
  return allocation_failed;
}

}  // namespace testbed

void* operator new(size_t bytes) { return testbed::AllocateOrFail(bytes); }
void* operator new[](size_t bytes) { return testbed::AllocateOrFail(bytes); }
// std::stable_sort asks so for its buffer, and gives it back to the `delete` below.
void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return testbed::AllocateOrFail(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
// GCC warns of a free() for what `new` returned when it puts a `delete` in place of a call.
[[gnu::noinline]] void operator delete(void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete[](void* at) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete(void* at, size_t) noexcept { std::free(at); }
[[gnu::noinline]] void operator delete[](void* at, size_t) noexcept { std::free(at); }

#include "device/os/allocator.h"

#ifdef TESTBED_TCMALLOC
#include <gperftools/malloc_extension.h>
#include <gperftools/tcmalloc.h>

#include <algorithm>
#else
#include <gnu/libc-version.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#endif

namespace testbed {

#ifdef TESTBED_TCMALLOC

std::string AllocatorName() {
  return std::string("tcmalloc ") + tc_version(nullptr, nullptr, nullptr);
}

// tcmalloc returns a span of free pages for each hundred pages that were freed; by default for each
// thousand. By default its threads together keep 32 MB, a quarter of a budget of 128 MB, by which
// the kernel killed one load of WiredTiger in four. With a small budget each span goes back at once,
// which takes a system call: the 10 to 35 MB of free spans that WiredTiger's loads had are a third
// of such a budget.
void SettleAllocator(uint64_t ram_bytes) {
  constexpr size_t kMost = 32 << 20, kLeast = 1 << 20;
  constexpr uint64_t kSmallRam = 160 << 20;
  MallocExtension::instance()->SetMemoryReleaseRate(10);
  const bool at_once = ram_bytes != 0 && ram_bytes < kSmallRam;
  MallocExtension::instance()->SetNumericProperty("tcmalloc.aggressive_memory_decommit", at_once);
  const size_t keep = ram_bytes == 0 ? kMost : std::clamp<size_t>(ram_bytes / 32, kLeast, kMost);
  MallocExtension::instance()->SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", keep);
}

void ReturnFreeMemory() { MallocExtension::instance()->ReleaseFreeMemory(); }

#else

std::string AllocatorName() { return std::string("glibc ") + ::gnu_get_libc_version(); }

// There is one arena for each CPU, not glibc's eight, since memory that a thread frees stays with
// its arena. Large blocks are always mapped one by one: by default glibc raises the threshold, to up
// to 32 MB, when such a block is freed, and keeps later blocks below it.
void SettleAllocator(uint64_t) {
  constexpr int kLargeBlock = 256 << 10;
  ::mallopt(M_ARENA_MAX, static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))));
  ::mallopt(M_MMAP_THRESHOLD, kLargeBlock);
}

void ReturnFreeMemory() { ::malloc_trim(0); }

#endif

}  // namespace testbed

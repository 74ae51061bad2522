#include "device/os/allocator.h"

#ifdef TESTBED_TCMALLOC
#include <gperftools/malloc_extension.h>
#include <gperftools/tcmalloc.h>
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
// thousand.
void SettleAllocator() { MallocExtension::instance()->SetMemoryReleaseRate(10); }

void ReturnFreeMemory() { MallocExtension::instance()->ReleaseFreeMemory(); }

#else

std::string AllocatorName() { return std::string("glibc ") + ::gnu_get_libc_version(); }

// There is one arena for each CPU, not glibc's eight, since memory that a thread frees stays with
// its arena. Large blocks are always mapped one by one: by default glibc raises the threshold, to up
// to 32 MB, when such a block is freed, and keeps later blocks below it.
void SettleAllocator() {
  constexpr int kLargeBlock = 256 << 10;
  ::mallopt(M_ARENA_MAX, static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))));
  ::mallopt(M_MMAP_THRESHOLD, kLargeBlock);
}

void ReturnFreeMemory() { ::malloc_trim(0); }

#endif

}  // namespace testbed

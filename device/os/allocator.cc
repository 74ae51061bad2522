#include "device/os/allocator.h"

#ifdef TESTBED_TCMALLOC
#include <gperftools/malloc_extension.h>
#include <gperftools/tcmalloc.h>

#include <algorithm>
#include <cstdlib>
#else
#include <gnu/libc-version.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#endif

namespace testbed {
namespace {

// Returns whether the environment has the variable, by which the user sets a limit of the
// allocator.
bool IsSet(const char* variable) { return std::getenv(variable) != nullptr; }

}  // namespace

#ifdef TESTBED_TCMALLOC

std::string AllocatorName() {
  return std::string("tcmalloc ") + tc_version(nullptr, nullptr, nullptr);
}

// Sets two limits of tcmalloc. First, it returns one span of free pages to the system for each
// hundred pages that are freed; its default is each thousand. With a small budget it returns every
// span at once, by a system call: the loads of WiredTiger had 10 to 35 MB in free spans, a third of
// such a budget. Second, the caches of all threads together keep at most a 32nd of the budget, 1 to
// 32 MB. The default, 32 MB, is a quarter of a budget of 128 MB, and with it the kernel killed one
// load of WiredTiger in four.
void SettleAllocator(uint64_t ram_bytes) {
  constexpr size_t kMost = 32 << 20, kLeast = 1 << 20;
  constexpr uint64_t kSmallRam = 160 << 20;
  MallocExtension* const malloc = MallocExtension::instance();
  if (!IsSet("TCMALLOC_RELEASE_RATE")) malloc->SetMemoryReleaseRate(10);
  const bool at_once = ram_bytes != 0 && ram_bytes < kSmallRam;
  if (!IsSet("TCMALLOC_AGGRESSIVE_DECOMMIT")) {
    malloc->SetNumericProperty("tcmalloc.aggressive_memory_decommit", at_once);
  }
  const size_t keep = ram_bytes == 0 ? kMost : std::clamp<size_t>(ram_bytes / 32, kLeast, kMost);
  if (!IsSet("TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES")) {
    malloc->SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", keep);
  }
}

void ReturnFreeMemory() { MallocExtension::instance()->ReleaseFreeMemory(); }

#else

std::string AllocatorName() { return std::string("glibc ") + ::gnu_get_libc_version(); }

// Returns whether GLIBC_TUNABLES sets the limit `name`.
static bool IsTunable(std::string_view name) {
  const char* const all = std::getenv("GLIBC_TUNABLES");
  return all != nullptr && std::string_view(all).find(name) != std::string_view::npos;
}

// Sets two limits of glibc. First, the number of arenas is that of the CPUs, since memory that a
// thread frees stays with its arena; the default is eight for each CPU. Second, blocks of 256 KiB
// and more are always mapped one by one. By default glibc raises this threshold, to up to 32 MB,
// when such a block is freed, and takes later blocks below it from an arena.
void SettleAllocator(uint64_t) {
  constexpr int kLargeBlock = 256 << 10;
  if (!IsSet("MALLOC_ARENA_MAX") && !IsTunable("glibc.malloc.arena_max")) {
    ::mallopt(M_ARENA_MAX, static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))));
  }
  if (!IsSet("MALLOC_MMAP_THRESHOLD_") && !IsTunable("glibc.malloc.mmap_threshold")) {
    ::mallopt(M_MMAP_THRESHOLD, kLargeBlock);
  }
}

void ReturnFreeMemory() { ::malloc_trim(0); }

#endif

}  // namespace testbed

// Tests that a limit of the allocator that the user sets by a variable stays as it is.
#include "device/os/allocator.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>

namespace testbed {
namespace {

TEST(AllocatorTest, ALimitThatTheUserSetsIsLeftAlone) {
  using GetProperty = int (*)(const char*, size_t*);
  const auto get =
      reinterpret_cast<GetProperty>(::dlsym(RTLD_DEFAULT, "MallocExtension_GetNumericProperty"));
  if (get == nullptr) GTEST_SKIP() << "the allocator of this build is " << AllocatorName();
  const auto kept = [&] {
    size_t bytes = 0;
    get("tcmalloc.max_total_thread_cache_bytes", &bytes);
    return bytes;
  };
  SettleAllocator(320 << 20);
  EXPECT_EQ(kept(), 10u << 20);
  ::setenv("TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES", "1", 1);
  SettleAllocator(640 << 20);
  EXPECT_EQ(kept(), 10u << 20);
  ::unsetenv("TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES");
  SettleAllocator(0);
  EXPECT_EQ(kept(), 32u << 20);
}

}  // namespace
}  // namespace testbed

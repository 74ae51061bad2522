#include "device/os/library/library_calls.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "tests/paths.h"

namespace testbed {
namespace {

TEST(LibraryCallsTest, TellsWhichCallsALibraryMakes) {
  void* const library = ::dlopen(CallingLibrary().c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const LibraryCall none[] = {{"fdatasync", nullptr}, {"LibrarySend", nullptr}};
  EXPECT_EQ(ReplaceCalls(library, none), 0u);
  const LibraryCall one[] = {{"fdatasync", nullptr},
                             {"write", reinterpret_cast<void*>(::dlsym(RTLD_DEFAULT, "write"))}};
  EXPECT_EQ(ReplaceCalls(library, one), 1u);
}

}  // namespace
}  // namespace testbed

#include "engines/btree/pool/reserved_array.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>

#include "device/error.h"

namespace testbed::btree {
namespace {

size_t KernelPage() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

TEST(ReservedArrayTest, SaysWhatMayBoundTheAddressSpace) {
  try {
    const ReservedArray<char> array(size_t{1} << 50);  // no process has as much
    FAIL() << "the system has reserved it";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kIo);
    EXPECT_EQ(e.code(), ENOMEM);
    const std::string sentence = e.what();
    EXPECT_NE(sentence.find("reserves no 1073741826 MiB of address space"), std::string::npos)
        << sentence;
    EXPECT_NE(sentence.find("ulimit -v"), std::string::npos) << sentence;
  }
}

TEST(ReservedArrayTest, GivesZerosAndKeepsWhatIsWritten) {
  ReservedArray<char> array(size_t{1} << 30);
  EXPECT_EQ(array[(size_t{1} << 30) - 1], 0);
  array[7] = 1;
  EXPECT_EQ(array[7], 1);
  array.Release(0, KernelPage());
  EXPECT_EQ(array[7], 0);
}

TEST(ReservedArrayTest, ReleasesOnlyWholeKernelPages) {
  const size_t page = KernelPage();
  ReservedArray<char> array(3 * page);
  array[page - 1] = array[page] = array[2 * page] = 1;
  array.Release(0, 1);
  EXPECT_EQ(array[page - 1], 1);
  array.Release(1, 2 * page);
  EXPECT_EQ(array[page - 1], 1);
  EXPECT_EQ(array[page], 0);
  EXPECT_EQ(array[2 * page], 1);
}

}  // namespace
}  // namespace testbed::btree

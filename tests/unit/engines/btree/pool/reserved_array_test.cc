#include "engines/btree/pool/reserved_array.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstddef>
#include <string>

#include "device/error.h"

namespace testbed::btree {
namespace {

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
  array.Release(0, 4096);
  EXPECT_EQ(array[7], 0);
}

}  // namespace
}  // namespace testbed::btree

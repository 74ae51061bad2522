#include "device/machine/resident_code.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "device/file/page_cache.h"

namespace testbed {
namespace {

// A mapping of a file that is only read stands for the code of a library.
TEST(ResidentCodeTest, WhatIsMappedToBeReadIsInThePageCache) {
  constexpr size_t kMiB = 1 << 20;
  std::string path = std::filesystem::current_path() / "resident_code_test_XXXXXX";
  const int fd = ::mkstemp(path.data());
  ASSERT_GE(fd, 0);
  const std::vector<char> bytes(3 * kMiB, 'x');
  EXPECT_EQ(::write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  EXPECT_EQ(::fsync(fd), 0);
  if (!IsInMemory(fd)) {
    EXPECT_EQ(DropPages(path).after.cached, 0u);
  }
  void* const code = ::mmap(nullptr, kMiB, PROT_READ, MAP_PRIVATE, fd, kMiB);
  EXPECT_NE(code, MAP_FAILED);
  EXPECT_GT(ReadOwnCode(), kMiB) << "this program has code, too";
  EXPECT_GE(Residency(path).cached, kMiB);
  ::munmap(code, kMiB);
  ::close(fd);
  std::filesystem::remove(path);
}

TEST(ResidentCodeTest, AProgramThatIsNotThereIsNoError) {
  ReadProgramFile("/there/is/no/such/program");
  ReadProgramFile("");
}

}  // namespace
}  // namespace testbed

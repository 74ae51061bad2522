#include "device/file/extents.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "device/file/page_cache.h"

namespace testbed {
namespace {

constexpr uint64_t kKiB = 1 << 10, kSize = 1024 * kKiB;

class NextWrittenTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string path = std::filesystem::current_path() / "next_written_XXXXXX";
    fd_ = ::mkstemp(path.data());
    ASSERT_GE(fd_, 0);
    const bool in_memory = IsInMemory(path);
    ::unlink(path.c_str());
    if (in_memory) GTEST_SKIP() << "the file system of " << path << " tells no extents";
    if (::fallocate(fd_, 0, 0, kSize / 2) != 0) GTEST_SKIP() << "no space can be reserved here";
    ASSERT_EQ(::ftruncate(fd_, kSize), 0);
  }
  void TearDown() override { ::close(fd_); }

  void Write(uint64_t offset, const std::string& bytes) {
    ASSERT_EQ(::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(bytes.size()));
  }
  // Fills the page cache with the zeros of space that was never written.
  void ReadAll() {
    std::vector<char> bytes(kSize);
    ASSERT_EQ(::pread(fd_, bytes.data(), kSize, 0), static_cast<ssize_t>(kSize));
  }

  int fd_ = -1;
};

TEST_F(NextWrittenTest, SpaceThatWasNeverWrittenIsPassedThoughTheCacheHasIt) {
  ReadAll();
  EXPECT_EQ(NextWritten(fd_, 0).begin, UINT64_MAX);
}

// Reserved space lies below half of the file, a hole above.
TEST_F(NextWrittenTest, FindsWhatWasWrittenBeforeItIsOnTheDevice) {
  for (const uint64_t at : {256 * kKiB, 768 * kKiB}) Write(at, "data");
  ReadAll();
  for (const uint64_t at : {256 * kKiB, 768 * kKiB}) {
    const FileRange found = NextWritten(fd_, at - 128 * kKiB);
    EXPECT_EQ(found.begin, at);
    EXPECT_GT(found.end, at);
    EXPECT_LE(found.end, at + 64 * kKiB);
    EXPECT_EQ(NextWritten(fd_, at + 1).begin, at + 1) << "within the range";
  }
  EXPECT_EQ(NextWritten(fd_, 896 * kKiB).begin, UINT64_MAX);
}

TEST(NextWrittenOfAPipeTest, IsAllOfWhatCannotBeKnown) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const FileRange found = NextWritten(ends[0], 4096);
  EXPECT_EQ(found.begin, 4096u);
  EXPECT_EQ(found.end, UINT64_MAX);
  for (const int end : ends) ::close(end);
}

}  // namespace
}  // namespace testbed

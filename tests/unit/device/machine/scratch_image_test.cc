#include "device/machine/scratch_image.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "device/os/signal_guard.h"

namespace testbed {
namespace {

TEST(ScratchImageTest, IsWrittenWholeAndUntilTheRunShouldEnd) {
  const std::string path = testing::TempDir() + "scratch_image_test";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  ::unlink(path.c_str());
  constexpr uint64_t kBytes = 24 << 20;
  const SignalGuard signals;
  uint64_t done = 0;
  WriteImage(fd, path, kBytes, [&](uint64_t now, uint64_t all) {
    EXPECT_EQ(all, kBytes);
    done = now;
  });
  EXPECT_EQ(done, kBytes);
  EXPECT_THROW(WriteImage(fd, path, kBytes,
                          [&](uint64_t now, uint64_t) {
                            done = now;
                            if (!StopRequested()) ::raise(SIGTERM);
                          }),
               Stopped);
  EXPECT_LT(done, kBytes) << "the rest is not written";
  ::close(fd);
}

}  // namespace
}  // namespace testbed

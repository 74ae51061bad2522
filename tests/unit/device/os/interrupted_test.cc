#include "device/os/interrupted.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace testbed {
namespace {

TEST(UninterruptedTest, AnInterruptedCallIsMadeAnewAndNoOther) {
  int calls = 0;
  const auto fails_twice = [&] {
    errno = EINTR;
    return ++calls < 3 ? -1 : 7;
  };
  EXPECT_EQ(Uninterrupted(fails_twice), 7);
  EXPECT_EQ(calls, 3);

  calls = 0;
  const auto fails = [&] {
    ++calls;
    errno = EIO;
    return -1;
  };
  EXPECT_EQ(Uninterrupted(fails), -1);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace testbed

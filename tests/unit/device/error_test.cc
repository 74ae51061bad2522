#include "device/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace testbed {
namespace {

// A write that found the disk full may be tried again when there is room. A sync may not: what it
// could not write is lost.
TEST(ErrorTest, OnlyAFullDiskThatRefusedAWriteIsTemporary) {
  EXPECT_TRUE(Error::Io("write", "f", ENOSPC).disk_is_full());
  EXPECT_TRUE(Error::Io("write", "f", EDQUOT).disk_is_full());
  EXPECT_TRUE(Error::Io("fallocate", "f", ENOSPC).disk_is_full());
  EXPECT_FALSE(Error::Io("write", "f", EIO).disk_is_full());
  for (const char* call : {"fsync", "fdatasync", "msync", "sync_file_range"}) {
    EXPECT_FALSE(Error::Io(call, "f", ENOSPC).disk_is_full()) << call;
    EXPECT_FALSE(Error::Io(call, "f", EDQUOT).disk_is_full()) << call;
  }
  EXPECT_FALSE(Error(Error::kRun, "no room").disk_is_full());
}

TEST(ErrorTest, AFileAtItsLimitNamesTheLimit) {
  EXPECT_NE(std::string(Error::Io("write", "f", EFBIG).what()).find("ulimit -f"),
            std::string::npos);
}

}  // namespace
}  // namespace testbed

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

// Names and the strings of foreign files may have them.
TEST(ErrorTest, ControlCharactersAreWrittenOut) {
  const std::string name("a\0b\n\x1b[1m\x7f \xc3\xa4", 12);
  const Error error(Error::kUsage, "the engine " + name + " is not known");
  EXPECT_STREQ(error.what(), "the engine a\\x00b\\x0a\\x1b[1m\\x7f \xc3\xa4 is not known");
  EXPECT_STREQ(error.With(error.what()).what(), error.what());
}

TEST(ErrorTest, AFileAtItsLimitNamesTheLimit) {
  EXPECT_NE(std::string(Error::Io("write", "f", EFBIG).what()).find("ulimit -f"),
            std::string::npos);
}

}  // namespace
}  // namespace testbed

#include "device/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <string>

namespace testbed {
namespace {

// A write that found the disk full may be tried again when there is room. A failed sync may not:
// the data that it could not write are lost.
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

TEST(ErrorTest, WantOfMemoryHasOneSentenceWhereverItIsFound) {
  const std::string begin = "no memory is left", advice = "; free some, or give a larger --ram";
  const Error connection = Error::NoMemory("for a connection");
  for (const Error& error : {Error::Of(std::bad_alloc()), Error::Of(std::bad_array_new_length()),
                             connection, Error::Io("mmap", "/d/f", ENOMEM)}) {
    EXPECT_EQ(error.code(), ENOMEM);
    EXPECT_EQ(std::string(error.what()).find(begin), 0u) << error.what();
    EXPECT_NE(std::string(error.what()).find(advice), std::string::npos) << error.what();
  }
  EXPECT_EQ(std::string(connection.what()).find(begin + " for a connection" + advice), 0u);
  EXPECT_STREQ(Error::NoMemory("for a page", "take less").what(),
               "no memory is left for a page; take less");
}

TEST(ErrorTest, AnExceptionIsTheErrorThatItIs) {
  const Error full = Error::Of(Error::Io("write", "f", ENOSPC));
  EXPECT_TRUE(full.disk_is_full());
  EXPECT_EQ(full.kind(), Error::kIo);
  const std::runtime_error other("something else");
  EXPECT_EQ(Error::Of(other).kind(), Error::kRun);
  EXPECT_STREQ(Error::Of(other).what(), "something else");
  EXPECT_STREQ(SentenceOf(other), "something else");
  EXPECT_STREQ(SentenceOf(full), full.what());
  EXPECT_STREQ(SentenceOf(std::bad_alloc()), Error::Of(std::bad_alloc()).what());
}

// Programs without an option --dir give the same advice, and so do commands that write elsewhere.
TEST(ErrorTest, TheAdviceNamesNoOption) {
  for (const int code : {ENOSPC, EDQUOT, EROFS, EACCES}) {
    const std::string sentence = Error::Io("open", "/d/f", code).what();
    EXPECT_NE(sentence.find("directory"), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find("--dir"), std::string::npos) << sentence;
  }
}

// Names, and strings from files of others, may have control characters.
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

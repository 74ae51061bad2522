// Tests files that a user names to be read: opening must never wait, everything but a regular file
// must be refused, and no more may be read than was asked for.
#include "device/file/input_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "device/error.h"

namespace testbed {
namespace {

using testing::HasSubstr;

class InputFileTest : public testing::Test {
 protected:
  InputFileTest() {
    std::string pattern = std::filesystem::current_path() / "input_file_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    path_ = dir_ + "/file";
  }
  ~InputFileTest() override { std::filesystem::remove_all(dir_); }

  static InputRequest Named(const std::string& path, bool pipes) {
    return {.path = path, .name = "the file " + path, .advice = "give another", .pipes = pipes};
  }
  static std::string ReadAll(const std::string& path, bool pipes, uint64_t most = 1 << 20) {
    return InputFile(Named(path, pipes)).ReadAll(most);
  }
  static std::string Refusal(const std::string& path, bool pipes, uint64_t most = 1 << 20) {
    try {
      ReadAll(path, pipes, most);
      return "";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::kUsage) << error.what();
      return error.what();
    }
  }
  // Makes a pipe that holds `text`. Returns its read end, and sets *writer to the other end.
  static int PipeWith(const std::string& text, int* writer) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    *writer = ends[1];
    return ends[0];
  }

  std::string dir_, path_;
};

TEST_F(InputFileTest, ARegularFileIsReadAsAWholeInPartsAndAsAStream) {
  const std::string text = std::string(200'000, 'x') + "\nend\n";
  std::ofstream(path_) << text;
  EXPECT_EQ(ReadAll(path_, false), text);
  EXPECT_EQ(ReadAll(path_, true, text.size()), text);
  InputFile parts(Named(path_, false));
  char buffer[100'000];
  EXPECT_EQ(parts.Read(buffer, sizeof buffer), sizeof buffer);
  EXPECT_EQ(parts.ReadAll().size(), text.size() - sizeof buffer);
  EXPECT_EQ(parts.Read(buffer, sizeof buffer), 0u);
  InputFile file(Named(path_, false));
  InputStream lines(&file);
  std::string first, second, third;
  std::getline(lines, first);
  std::getline(lines, second);
  EXPECT_EQ(first.size() + 1 + second.size() + 1, text.size());
  EXPECT_FALSE(std::getline(lines, third));
  std::ofstream(path_, std::ios::trunc).flush();
  EXPECT_EQ(ReadAll(path_, false), "");
}

TEST_F(InputFileTest, WhatIsNoRegularFileIsRefusedAtOnce) {
  const std::string fifo = dir_ + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const bool pipes : {false, true}) {
    SCOPED_TRACE(pipes);
    for (const char* device : {"/dev/zero", "/dev/full", "/dev/null"}) {
      EXPECT_EQ(Refusal(device, pipes),
                std::string("the file ") + device + " is no regular file; give another");
    }
    EXPECT_THAT(Refusal(dir_, pipes), HasSubstr("is a directory; give another"));
    EXPECT_THAT(Refusal(path_, pipes), HasSubstr("cannot be read: No such file"));
    EXPECT_THAT(Refusal(fifo, pipes), HasSubstr(pipes ? "that nobody writes to" : "no regular"));
    EXPECT_THAT(Refusal("/proc/self/mem", pipes), HasSubstr("a file of the kernel"));
    EXPECT_THAT(Refusal("/proc/version", pipes), HasSubstr("a file of the kernel"));
  }
}

TEST_F(InputFileTest, APipeWithAWriterIsReadToItsEnd) {
  int writer = -1;
  const int reader = PipeWith("from a pipe", &writer);
  const std::string path = "/dev/fd/" + std::to_string(reader);
  EXPECT_THAT(Refusal(path, false), HasSubstr("is no regular file"));
  InputFile file(Named(path, true));
  ::close(writer);
  EXPECT_EQ(file.ReadAll(), "from a pipe");
  ::close(reader);
}

// The writer has written nothing yet when the file is opened.
TEST_F(InputFileTest, AWriterThatIsLateIsAwaited) {
  int writer = -1;
  const int reader = PipeWith("", &writer);
  InputFile file(Named("/dev/fd/" + std::to_string(reader), true));
  ASSERT_EQ(::write(writer, "late", 4), 4);
  ::close(writer);
  EXPECT_EQ(file.ReadAll(), "late");
  ::close(reader);
}

TEST_F(InputFileTest, NoMoreIsReadThanWasAskedFor) {
  std::ofstream(path_) << "12345";
  EXPECT_EQ(ReadAll(path_, false, 5), "12345");
  EXPECT_THAT(Refusal(path_, false, 4), HasSubstr("has more than the 4 bytes that are read; give"));
  InputRequest told = Named(path_, false);
  told.if_long = "cut it";
  try {
    InputFile(told).ReadAll(4);
    ADD_FAILURE() << "the file is longer";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("that are read; cut it"));
  }
  int writer = -1;
  const int reader = PipeWith("12345", &writer);
  EXPECT_THAT(Refusal("/dev/fd/" + std::to_string(reader), true, 4), HasSubstr("more than the 4"));
  ::close(writer);
  ::close(reader);
}

}  // namespace
}  // namespace testbed

#include "tools/output/stream_output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "device/error.h"
#include "device/file/replacement.h"
#include "tools/output/output_file.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using testing::HasSubstr;

class StreamOutputTest : public testing::Test {
 protected:
  StreamOutputTest() {
    std::string pattern = fs::current_path() / "stream_output_test_XXXXXX";
    dir_ = std::string(::mkdtemp(pattern.data())) + "/";
  }
  ~StreamOutputTest() override { fs::remove_all(dir_); }

  static std::string Contents(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Returns the sentence with which the option is refused before a run; "" when it is accepted.
  static std::string Refusal(const std::string& path) {
    try {
      CheckOutputFiles({{"--json", path}});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::kUsage);
      return error.what();
    }
    return "";
  }

  std::string dir_;
};

TEST_F(StreamOutputTest, APipeThatNobodyReadsIsAnErrorAfterAWhile) {
  const std::string pipe = dir_ + "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(Refusal(pipe), "") << "its reader may come later";
  EXPECT_TRUE(IsStream(pipe));
  try {
    WriteStream(pipe, "text", milliseconds(20));
    ADD_FAILURE() << "nobody reads";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("nobody has opened the pipe"));
  }
}

TEST_F(StreamOutputTest, AReaderOfAPipeMayComeLateAndBeSlow) {
  const std::string pipe = dir_ + "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string text(1 << 20, 'x');  // more than a pipe holds
  std::string read;
  std::thread reader([&] {
    std::this_thread::sleep_for(milliseconds(50));
    std::ifstream in(pipe);
    std::this_thread::sleep_for(milliseconds(50));
    read.assign(std::istreambuf_iterator<char>(in), {});
  });
  EXPECT_NO_THROW(WriteStream(pipe, text));
  reader.join();
  EXPECT_EQ(read.size(), text.size());
}

// One process reads both pipes: the last one to its end, and then the other.
TEST_F(StreamOutputTest, SeveralPipesMayBeReadInAnyOrder) {
  const std::vector<std::string> pipes = {dir_ + "a", dir_ + "b"};
  for (const std::string& pipe : pipes) ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string first(1 << 20, 'x'), second(1 << 20, 'y');
  std::string a, b;
  std::thread reader([&] {
    b = Contents(pipes[1]);
    a = Contents(pipes[0]);
  });
  for (const auto& error : WriteStreams({{pipes[0], first}, {pipes[1], second}})) {
    EXPECT_FALSE(error.has_value());
  }
  reader.join();
  EXPECT_TRUE(a == first);
  EXPECT_TRUE(b == second);
}

TEST_F(StreamOutputTest, APipeThatNobodyReadsKeepsNoOtherFromItsText) {
  const std::string pipe = dir_ + "pipe", nobodys = dir_ + "nobody's";
  for (const std::string& each : {pipe, nobodys}) ASSERT_EQ(::mkfifo(each.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  const auto errors = WriteStreams({{nobodys, "text"}, {pipe, "text"}}, milliseconds(20));
  EXPECT_TRUE(errors[0].has_value());
  EXPECT_FALSE(errors[1].has_value());
  char read[10];
  EXPECT_EQ(std::string(read, static_cast<size_t>(::read(reader, read, sizeof read))), "text");
  ::close(reader);
}

// The reader has both pipes open at the same time, as has a shell that passes them as >(...).
TEST_F(StreamOutputTest, APipeThatIsFullKeepsNoOtherWaiting) {
  for (const bool given : {false, true}) {
    SCOPED_TRACE(given);
    const std::string text(1 << 20, 'x');
    std::vector<std::string> names, read(2);
    int readers[2], writers[2] = {-1, -1};
    for (int i = 0; i < 2; ++i) {
      names.push_back(dir_ + (given ? "given" : "named") + std::to_string(i));
      ASSERT_EQ(::mkfifo(names[i].c_str(), 0600), 0);
      readers[i] = ::open(names[i].c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
      ASSERT_EQ(::fcntl(readers[i], F_SETFL, 0), 0);
      if (!given) continue;
      writers[i] = ::open(names[i].c_str(), O_WRONLY);
      names[i] = "/dev/fd/" + std::to_string(writers[i]);
    }
    std::thread reader([&] {
      std::vector<char> part(1 << 16);
      for (int i : {1, 0}) {
        while (read[i].size() < text.size()) {
          // poll waits for a writer: a read from a pipe without one returns the end of the file.
          pollfd ready = {.fd = readers[i], .events = POLLIN, .revents = 0};
          ::poll(&ready, 1, -1);
          const ssize_t n = ::read(readers[i], part.data(), part.size());
          if (n <= 0) break;
          read[i].append(part.data(), static_cast<size_t>(n));
        }
      }
    });
    for (const auto& error :
         WriteStreams({{FollowLinks(names[0]), text}, {FollowLinks(names[1]), text}})) {
      EXPECT_FALSE(error.has_value());
    }
    reader.join();
    for (const std::string& one : read) EXPECT_EQ(one.size(), text.size());
    for (const int fd : {readers[0], readers[1], writers[0], writers[1]}) {
      if (fd >= 0) ::close(fd);
    }
  }
}

// The device node has a number that no driver can have, so that no device belongs to it.
TEST_F(StreamOutputTest, ABlockDeviceIsNeverWritten) {
  const std::string node = dir_ + "node";
  if (::mknod(node.c_str(), S_IFBLK | 0600, ::makedev(4000, 1)) != 0) {
    GTEST_SKIP() << "only root may make device nodes";
  }
  fs::create_symlink("node", dir_ + "link");
  for (const std::string& path : {node, dir_ + "link"}) {
    EXPECT_THAT(Refusal(path), HasSubstr("it is a block device; give the name of a file"));
    EXPECT_THROW(CheckOutputPlaces({{"--svg", path}}, {}), Error);
    try {
      WriteOutputFile("--json", path, "text");
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("it is a block device")) << "and was not opened";
    }
  }
  EXPECT_TRUE(fs::is_block_file(node));
}

TEST_F(StreamOutputTest, AFileThatThisProgramWasGivenOpenIsAppendedTo) {
  const std::string path = dir_ + "file";
  std::ofstream(path) << "before ";
  const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND);
  const std::string name = "/dev/fd/" + std::to_string(fd);
  EXPECT_EQ(Refusal(name), "");
  WriteOutputFile("--json", name, "first ");
  WriteOutputFile("--json", "/proc/self/fd/" + std::to_string(fd), "second");
  EXPECT_EQ(Contents(path), "before first second");
  // The real name names the same file, and an output there would replace it.
  EXPECT_THROW(CheckOutputPlaces({{"--json", name}, {"--csv", fs::canonical(path)}}, {}), Error);
  fs::remove(path);
  EXPECT_EQ(Refusal(name), "") << "a file without a name";
  EXPECT_NO_THROW(WriteOutputFile("--json", name, "third"));
  EXPECT_FALSE(fs::exists(path));
  ::close(fd);
}

TEST_F(StreamOutputTest, WhatCannotBeWrittenThroughADescriptorIsRefused) {
  const std::string path = dir_ + "file";
  std::ofstream(path) << "theirs";
  const auto name = [](int fd) { return "/dev/fd/" + std::to_string(fd); };
  const int reads = ::open(path.c_str(), O_RDONLY);
  EXPECT_THAT(Refusal(name(reads)), HasSubstr("it was opened for reading only"));
  ::close(reads);
  const int own = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  EXPECT_THAT(Refusal(name(own)), HasSubstr("give the name of a file"));
  EXPECT_THROW(WriteOutputFile("--json", name(own), "ours"), Error);
  ::close(own);
  EXPECT_EQ(Contents(path), "theirs");
}

TEST_F(StreamOutputTest, TheFileThatStandardOutputGoesToIsNoOutput) {
  testing::internal::CaptureStdout();
  const std::string captured = fs::read_symlink("/proc/self/fd/1");
  const std::string refusal = Refusal(captured), stream = StandardStreamOf(captured);
  const std::string by_descriptor = Refusal("/dev/stdout");
  WriteOutputs({{"--json", "/dev/stdout", [] { return std::string("last"); }}}, "first ");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "first last");
  EXPECT_THAT(refusal, HasSubstr("standard output goes to that file; give another file"));
  EXPECT_EQ(stream, "standard output");
  EXPECT_EQ(by_descriptor, "");
  EXPECT_EQ(StandardStreamOf(dir_ + "none"), "");
}

}  // namespace
}  // namespace testbed

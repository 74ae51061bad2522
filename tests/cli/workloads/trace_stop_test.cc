// Tests that a command on a trace ends when its user stops it, and leaves no part of a trace.
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

#include "tests/cli/started_command.h"

namespace testbed {
namespace {

class TraceStopTest : public StartedCommandTest {
 protected:
  // Expects that the process ends as one that was stopped, with this sentence, and that the trace
  // is not there.
  void ExpectStopped(pid_t pid, const std::string& sentence, const std::string& trace) {
    EXPECT_EQ(ExitCodeOf(pid), 130);
    EXPECT_EQ(Read(directory_ / "out"), "");
    EXPECT_EQ(Read(directory_ / "err"), "testbed: " + sentence + "\n");
    EXPECT_FALSE(std::filesystem::exists(directory_ / trace));
    EXPECT_FALSE(std::filesystem::exists(directory_ / (trace + ".new")));
  }
};

// Ctrl-C also ends the program that writes into the pipe. Once, what that program had written until
// then passed for the whole file, and the import reported success.
TEST_F(TraceStopTest, AnImportThatIsStoppedMakesNoTraceOfAPart) {
  ::signal(SIGPIPE, SIG_IGN);
  const std::string fifo = directory_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::pair<const char*, std::string> parts[] = {
      {"csv", "key,operation\na,get\nb,get\n"},
      {"twitter", "0,a,1,9,1,get,0\n1,b,1,9,1,get,0\n"},
      {"rocksdb", "the beginning of a trace"}};
  for (const auto& [format, part] : parts) {
    SCOPED_TRACE(format);
    const pid_t pid =
        Start(std::string("trace import --format ") + format + " - -o i.trace <fifo >out 2>err");
    const int writer = ::open(fifo.c_str(), O_WRONLY | O_CLOEXEC);  // waits for the reader
    ASSERT_GE(writer, 0);
    EXPECT_TRUE(Becomes([&] { return CatchesInterrupts(pid); }));
    ::kill(pid, SIGINT);
    const ssize_t written = ::write(writer, part.data(), part.size());
    EXPECT_TRUE(written > 0 || errno == EPIPE);
    ::close(writer);
    ExpectStopped(pid, "the import was stopped before the whole file was read", "i.trace");
  }
}

// The signal lets a read that waits go on, and nothing more comes from this pipe.
TEST_F(TraceStopTest, AnImportFromASilentPipeIsStopped) {
  const std::string fifo = directory_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const int writer = ::open(fifo.c_str(), O_RDWR | O_CLOEXEC);  // needs no reader yet
  ASSERT_GE(writer, 0);
  for (const char* input : {"- <fifo", "fifo"}) {
    for (const char* format : {"csv", "rocksdb"}) {
      SCOPED_TRACE(std::string(format) + " " + input);
      const pid_t pid = Start(std::string("trace import -o i.trace --format ") + format + " " +
                              input + " >out 2>err");
      EXPECT_TRUE(Becomes([&] { return CatchesInterrupts(pid); }));
      LetItWork();
      ::kill(pid, SIGTERM);
      ExpectStopped(pid, "the import was stopped before the whole file was read", "i.trace");
    }
  }
  ::close(writer);
}

// The interrupt comes when the head of RocksDB's first record is read, and the rest is not there.
TEST_F(TraceStopTest, AnImportThatIsStoppedWithinARecordIsStopped) {
  ::signal(SIGPIPE, SIG_IGN);
  const std::string fifo = directory_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const pid_t pid = Start("trace import --format rocksdb - -o i.trace <fifo >out 2>err");
  const int writer = ::open(fifo.c_str(), O_WRONLY | O_CLOEXEC);  // waits for the reader
  ASSERT_GE(writer, 0);
  EXPECT_TRUE(Becomes([&] { return CatchesInterrupts(pid); }));
  const char head[13] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 100, 0, 0, 0};  // time, kind, bytes that follow
  EXPECT_EQ(::write(writer, head, sizeof head), static_cast<ssize_t>(sizeof head));
  EXPECT_TRUE(Becomes([&] {
    int unread = -1;
    return ::ioctl(writer, FIONREAD, &unread) == 0 && unread == 0;
  }));
  ::kill(pid, SIGINT);
  EXPECT_TRUE(::write(writer, "feed", 4) == 4 || errno == EPIPE);
  ::close(writer);
  ExpectStopped(pid, "the import was stopped before the whole file was read", "i.trace");
}

TEST_F(TraceStopTest, ALongTraceIsNotReadToItsEnd) {
  ASSERT_EQ(Run("--engine null --ram 64M --rows 1000 --threads 1 --warmup 0 --account off --quiet "
                "--operations 4000000 --record a.trace")
                .code,
            0);
  for (const char* command : {"trace info a.trace", "trace scale a.trace --share 0.5 -o s.trace"}) {
    SCOPED_TRACE(command);
    const pid_t pid = Start(std::string(command) + " >out 2>err");
    EXPECT_TRUE(Becomes([&] { return CatchesInterrupts(pid); }));
    ::kill(pid, SIGINT);
    ExpectStopped(pid, "the command was stopped before the whole trace was read", "s.trace");
  }
}

// Once, a part of a phase passed for the whole, and replaced the trace of a whole phase.
TEST_F(TraceStopTest, ARecordingThatIsStoppedLeavesTheTraceThatWasThere) {
  const std::string words =
      "--engine null --ram 64M --rows 1000 --threads 1 --warmup 0 --account off --quiet "
      "--workload insert,point-read --rate 1000 --record ";
  for (const bool there : {true, false}) {
    SCOPED_TRACE(there);
    const std::string trace = there ? "there.trace" : "new.trace";
    if (there) {
      ASSERT_EQ(Run(words + trace + " --operations 500").code, 0);
    }
    const std::string before = Read(directory_ / trace);
    EXPECT_EQ(before.empty(), !there);
    const pid_t pid = Start(words + trace + " --seconds 600 >out 2>err");
    EXPECT_TRUE(Becomes([&] { return std::filesystem::exists(directory_ / (trace + ".new")); }));
    LetItWork();
    ::kill(pid, SIGINT);
    EXPECT_EQ(ExitCodeOf(pid), 130);
    EXPECT_EQ(Read(directory_ / "err"),
              "testbed: the trace " + trace +
                  " was not written, because the run was stopped before the end of the phase that "
                  "it records" +
                  (there ? "; the file of that name stays\n" : "\n"));
    EXPECT_EQ(Read(directory_ / trace), before);
    EXPECT_FALSE(std::filesystem::exists(directory_ / (trace + ".new")));
  }
}

}  // namespace
}  // namespace testbed

// Tests that a report or comparison which its user stops prints and writes no part of the results.
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/cli/started_command.h"

namespace testbed {
namespace {

using ReportStopTest = StartedCommandTest;

// Returns how many bytes of the pipe nobody has read yet.
int UnreadIn(int pipe) {
  int bytes = -1;
  ::ioctl(pipe, FIONREAD, &bytes);
  return bytes;
}

// Once, the program went on to the end, printed what it had, and reported success.
TEST_F(ReportStopTest, AReportThatIsStoppedPrintsNoPart) {
  ::signal(SIGPIPE, SIG_IGN);
  ASSERT_EQ(Run("--engine null --ram 64M --rows 100 --operations 10 --threads 1 --account off "
                "--quiet --json run.json")
                .code,
            0);
  const std::string document = Read(directory_ / "run.json");
  const std::string fifo = directory_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string form : {"", " --csv", " --series", " --html page.html"}) {
    SCOPED_TRACE(form);
    const pid_t pid = Start("report -" + form + " <fifo >out 2>err");
    const int writer = ::open(fifo.c_str(), O_WRONLY | O_CLOEXEC);  // waits for the reader
    ASSERT_GE(writer, 0);
    EXPECT_TRUE(Becomes([&] { return CatchesInterrupts(pid); }));
    ::kill(pid, SIGINT);
    const ssize_t written = ::write(writer, document.data(), document.size());
    EXPECT_TRUE(written > 0 || errno == EPIPE);
    ::close(writer);
    EXPECT_EQ(ExitCodeOf(pid), 130);
    EXPECT_EQ(Read(directory_ / "out"), "");
    const std::string err = Read(directory_ / "err");
    EXPECT_NE(err.find(" was stopped before "), std::string::npos) << err;
  }
  EXPECT_FALSE(std::filesystem::exists(directory_ / "page.html"));
}

// The signal lets a read that waits go on, and nothing comes from this pipe.
TEST_F(ReportStopTest, ReadingASilentPipeIsStopped) {
  const std::string fifo = directory_ / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const int writer = ::open(fifo.c_str(), O_RDWR | O_CLOEXEC);  // needs no reader yet
  ASSERT_GE(writer, 0);
  for (const std::string command :
       {"report - <fifo", "report fifo", "compare fifo run.json", "results add fifo"}) {
    SCOPED_TRACE(command);
    const pid_t pid = Start(command + " >out 2>err");
    EXPECT_TRUE(Becomes([&] { return CatchesInterrupts(pid); }));
    ::kill(pid, SIGTERM);
    EXPECT_EQ(ExitCodeOf(pid), 130);
    EXPECT_EQ(Read(directory_ / "out"), "");
    const std::string err = Read(directory_ / "err");
    if (command != "results add fifo") {  // this one may not have begun
      EXPECT_NE(err.find(" was stopped before "), std::string::npos) << err;
    }
  }
  ::close(writer);
}

// Drawing the plots of a hundred results takes long. A request to stop must end it before all are
// drawn.
TEST_F(ReportStopTest, DrawingEnds) {
  ASSERT_EQ(Run("--engine btree --ram 64M --rows 500 --operations 100 --threads 1 --account file "
                "--quiet --json run.json")
                .code,
            0);
  std::filesystem::create_directory(directory_ / "many");
  for (int i = 0; i < 100; ++i) {
    std::filesystem::copy_file(directory_ / "run.json",
                               directory_ / "many" / (std::to_string(i) + ".json"));
  }
  const pid_t pid = Start("report many --svg plots >out 2>err");
  EXPECT_TRUE(Becomes([&] { return CatchesInterrupts(pid); }));
  LetItWork();
  ::kill(pid, SIGINT);
  EXPECT_EQ(ExitCodeOf(pid), 130);
  EXPECT_EQ(Read(directory_ / "out"), "");
  const std::string err = Read(directory_ / "err");
  EXPECT_NE(err.find("the report was stopped before all "), std::string::npos) << err;
  EXPECT_FALSE(std::filesystem::exists(directory_ / "plots"));
}

// Directories may hold thousands of results, and the comparison read all of them.
TEST_F(ReportStopTest, AComparisonEnds) {
  const std::string sweep =
      "--engine null --ram 64M --rows 100,200 --operations 10 --threads 1 --account off --quiet ";
  ASSERT_EQ(Run(sweep + "--out a").code, 0);
  std::filesystem::copy(directory_ / "a", directory_ / "b",
                        std::filesystem::copy_options::recursive);
  const std::string fifo = std::filesystem::directory_iterator(directory_ / "a/cells")->path();
  const std::string document = Read(fifo);
  std::ofstream(directory_ / "run.json") << document;
  std::filesystem::remove(fifo);
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& sides : {std::string("a b"), "run.json " + fifo}) {
    SCOPED_TRACE(sides);
    const int writer = ::open(fifo.c_str(), O_RDWR | O_CLOEXEC);  // needs no reader yet
    ASSERT_GE(writer, 0);
    const pid_t pid = Start("compare " + sides + " >out 2>err");
    EXPECT_TRUE(Becomes([&] { return CatchesInterrupts(pid); }));
    ::kill(pid, SIGINT);
    EXPECT_EQ(::write(writer, document.data(), document.size()), std::ssize(document));
    BecomesWhileItRuns(pid, [&] { return UnreadIn(writer) == 0; });
    ::close(writer);
    EXPECT_EQ(ExitCodeOf(pid), 130);
    EXPECT_EQ(Read(directory_ / "out"), "");
    const std::string err = Read(directory_ / "err");
    EXPECT_NE(err.find(" was stopped before "), std::string::npos) << err;
  }
}

}  // namespace
}  // namespace testbed

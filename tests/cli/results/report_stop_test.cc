// Tests that a report which its user stops prints and writes no part of the results.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/cli/started_command.h"

namespace testbed {
namespace {

using ReportStopTest = StartedCommandTest;

// Returns whether the process is testbed and has installed its handler of interrupts.
bool CatchesInterrupts(pid_t pid) {
  const std::string proc = "/proc/" + std::to_string(pid);
  std::ifstream command(proc + "/comm");
  std::string name;
  std::getline(command, name);
  if (!name.starts_with("testbed")) return false;
  std::ifstream status(proc + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("SigCgt:")) continue;
    const uint64_t caught = std::stoull(line.substr(7), nullptr, 16);
    return ((caught >> (SIGINT - 1)) & 1) != 0;
  }
  return false;
}

// The program went on to the end, printed what it had, and reported success.
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
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
    EXPECT_EQ(Read(directory_ / "out"), "");
    const std::string err = Read(directory_ / "err");
    EXPECT_NE(err.find("the report was stopped before all results were read"), std::string::npos)
        << err;
  }
  EXPECT_FALSE(std::filesystem::exists(directory_ / "page.html"));
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
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 130) << status;
  EXPECT_EQ(Read(directory_ / "out"), "");
  const std::string err = Read(directory_ / "err");
  EXPECT_NE(err.find("the report was stopped before all "), std::string::npos) << err;
  EXPECT_FALSE(std::filesystem::exists(directory_ / "plots"));
}

}  // namespace
}  // namespace testbed

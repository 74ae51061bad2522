// Tests how a server ends, and what it writes to.
#include "device/os/server_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "device/error.h"
#include "tests/refused_call.h"

namespace testbed {
namespace {

class ServerProcessTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(directory_.data()), nullptr); }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  ServerCommand Shell(const std::string& script) const {
    ServerCommand command;
    command.words = {"/bin/sh", "-c", script};
    command.directory = directory_;
    command.output = directory_ + "/log";
    return command;
  }

  std::string directory_ = testing::TempDir() + "server_process_XXXXXX";
};

TEST_F(ServerProcessTest, AProgramThatStartsOthersIsKilledWithThemWhenTheParentIsKilled) {
  const std::string pids = directory_ + "/pids";
  ASSERT_EQ(::mkfifo(pids.c_str(), 0600), 0);
  // Processes whose parents have ended become children of this process, so that it sees their end.
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    ServerCommand command =
        Shell("trap '' QUIT TERM; sh -c 'echo $PPID $$ >pids; exec sleep 60'; :");
    command.kill_group = true;
    ServerProcess(command).Wait();
    ::_exit(0);
  }
  pid_t program = 0, below = 0;
  std::ifstream(pids) >> program >> below;  // waits for the writer
  ::kill(parent, SIGKILL);
  std::map<pid_t, int> ends;
  int status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &status, 0)) > 0;) ends[pid] = status;
  // The shell waits for the process below it, and may reap it before it ends itself.
  EXPECT_EQ(ends.size(), ends.contains(below) ? 4u : 3u) << "the parent, the guard, the shell";
  EXPECT_EQ(::kill(below, 0), -1);
  ASSERT_TRUE(ends.contains(program));
  for (const pid_t pid : {program, below}) {
    if (!ends.contains(pid)) continue;
    EXPECT_TRUE(WIFSIGNALED(ends[pid]) && WTERMSIG(ends[pid]) == SIGKILL) << ends[pid];
  }
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST_F(ServerProcessTest, TheProgramSeesTheVariablesOfItsCommandAndNoOthers) {
  ::setenv("TESTBED_OF_THE_PARENT", "set", 1);
  ServerCommand command = Shell("echo \"$MINE $LC_ALL ${TESTBED_OF_THE_PARENT-unset}\"");
  command.environment = {"MINE=a b"};
  ServerProcess(command).Wait();
  ::unsetenv("TESTBED_OF_THE_PARENT");
  std::string line;
  std::ifstream log(directory_ + "/log");
  std::getline(log, line);
  EXPECT_EQ(line, "a b C unset");
}

TEST_F(ServerProcessTest, AGuardedProgramGetsItsSignalsAndTellsItsExitCode) {
  for (const bool guarded : {false, true}) {
    SCOPED_TRACE(guarded);
    ServerCommand command = Shell("trap 'exit 3' TERM; kill -TERM $$");
    command.kill_group = guarded;
    EXPECT_EQ(WEXITSTATUS(ServerProcess(command).Wait()), 3);
    const std::string ready = directory_ + (guarded ? "/guarded" : "/alone");
    ASSERT_EQ(::mkfifo(ready.c_str(), 0600), 0);
    command.words.back() = "trap 'exit 4' TERM; echo 1 >" + ready + "; while :; do :; done";
    ServerProcess server(command);
    int is_ready = 0;
    std::ifstream(ready) >> is_ready;
    EXPECT_TRUE(server.End(SIGTERM, std::chrono::seconds(60)));
    EXPECT_EQ(WEXITSTATUS(server.Wait()), 4);
  }
}

// A program that embeds an engine may ignore the ends of its children.
TEST_F(ServerProcessTest, ItsEndIsSeenWhereTheSystemForgetsChildren) {
  ::signal(SIGCHLD, SIG_IGN);
  {
    ServerProcess server(Shell("exec sleep 600"));
    EXPECT_FALSE(server.Ended());
    EXPECT_TRUE(server.End(SIGTERM, std::chrono::seconds(10)));
    EXPECT_TRUE(server.Ended());
  }
  ::signal(SIGCHLD, SIG_DFL);
}

// Another program of that user could make the server use the rights that it kept.
TEST_F(ServerProcessTest, AUserInRootsPlaceGetsNoneOfItsRights) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  ASSERT_EQ(::chmod(directory_.c_str(), 0700), 0);
  std::ofstream(directory_ + "/roots") << "secret";
  ASSERT_EQ(::chmod((directory_ + "/roots").c_str(), 0600), 0);
  ServerCommand command =
      Shell("cat roots; cat " + directory_ + "/roots; grep ^Cap /proc/self/status; id -G");
  command.user = ProgramUser{65534, 65534};
  EXPECT_EQ(ServerProcess(command).Wait(), 0);
  std::ifstream log(directory_ + "/log");
  const std::string said((std::istreambuf_iterator<char>(log)), {});
  EXPECT_EQ(said.find("secret"), std::string::npos) << said;
  for (const char* kind : {"CapInh", "CapPrm", "CapEff", "CapAmb"}) {
    EXPECT_NE(said.find(std::string(kind) + ":\t0000000000000000\n"), std::string::npos)
        << kind << ": " << said;
  }
  EXPECT_NE(said.find("\n65534\n"), std::string::npos) << said;
}

// The directory of a run may lie below one that the user of the server cannot search.
TEST_F(ServerProcessTest, AProgramReachesTheDirectoryThatItWasGivenOpen) {
  const std::string held = directory_ + "/held";
  std::filesystem::create_directory(held);
  std::ofstream(held + "/file") << "found";
  ASSERT_EQ(::chmod(directory_.c_str(), 0700), 0);
  const std::string here = kHeldDirectory;
  for (const bool guarded : {false, true}) {
    SCOPED_TRACE(guarded);
    std::filesystem::remove(directory_ + "/log");
    ServerCommand command =
        Shell("sh -c 'cd " + here + " && cat file && pwd -P'; ls /proc/self/fd");
    command.directory = "/";
    command.held_directory = held;
    command.kill_group = guarded;
    if (::geteuid() == 0) command.user = ProgramUser{65534, 65534};
    EXPECT_EQ(ServerProcess(command).Wait(), 0);
    std::ifstream log(directory_ + "/log");
    const std::string said((std::istreambuf_iterator<char>(log)), {});
    // The last of the listed descriptors is that of the listing itself.
    EXPECT_TRUE(
        said.ends_with("found" + std::filesystem::canonical(held).string() + "\n0\n1\n2\n3\n4\n"))
        << said;
  }
}

// Linux before 5.9 has no close_range(2), and filters of containers refuse it.
TEST_F(ServerProcessTest, NoDescriptorIsInheritedWhereTheKernelClosesNoRange) {
  for (const bool guarded : {false, true}) {
    SCOPED_TRACE(guarded);
    std::filesystem::remove(directory_ + "/log");
    const int code = ExitCodeWithout(SYS_close_range, ENOSYS, [&] {
      // This descriptor, unlike those of testbed, is not closed when a program is executed.
      if (::open(directory_.c_str(), O_RDONLY | O_DIRECTORY) < 0) return 1;
      // The parent of a guarded program is its guard, which executes none.
      ServerCommand command = Shell(guarded ? "ls /proc/$PPID/fd" : "ls /proc/self/fd");
      command.kill_group = guarded;
      return WEXITSTATUS(ServerProcess(command).Wait());
    });
    if (code == kCannotRefuse) GTEST_SKIP() << kNoFilters;
    EXPECT_EQ(code, 0);
    std::ifstream log(directory_ + "/log");
    const std::string said((std::istreambuf_iterator<char>(log)), {});
    // The last descriptor that a program lists of itself is that of the listing. A library may
    // have written a line of its own before.
    EXPECT_TRUE(said.ends_with(guarded ? "0\n1\n2\n" : "0\n1\n2\n3\n")) << said;
    EXPECT_EQ(said.find("\n4\n"), std::string::npos) << said;
  }
}

TEST_F(ServerProcessTest, APipeInPlaceOfTheOutputIsNotWaitedFor) {
  const ServerCommand command = Shell(":");
  ASSERT_EQ(::mkfifo(command.output.c_str(), 0600), 0);
  try {
    ServerProcess server(command);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(command.output + ": it is a pipe"), std::string::npos);
  }
}

}  // namespace
}  // namespace testbed

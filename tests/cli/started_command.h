// A fixture that runs testbed as a process, which the test watches, interrupts and kills.
#ifndef TESTBED_TESTS_CLI_STARTED_COMMAND_H_
#define TESTBED_TESTS_CLI_STARTED_COMMAND_H_

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "device/os/child_process.h"
#include "tests/cli/command.h"
#include "tests/paths.h"

namespace testbed {

class StartedCommandTest : public CommandTest {
 protected:
  // Starts testbed in the test's directory. `prefix` is a command that runs it, such as timeout.
  // Returns the id of the started process.
  pid_t Start(const std::string& arguments, const std::string& prefix = "") {
    const std::string command = "exec " + prefix + " " + TestbedBinary() + " " + arguments;
    const pid_t child = ::fork();
    if (child == 0) {
      // In a session of its own, the process gets no signals of the terminal.
      ::setsid();
      // A shell that ran the tests in the background has them ignore the interrupts that they send.
      ::signal(SIGINT, SIG_DFL);
      const int nothing = ::open("/dev/null", O_RDWR);
      for (int fd = 0; fd <= 2; ++fd) ::dup2(nothing, fd);
      if (::chdir(directory_.c_str()) == 0) {
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      }
      ::_exit(127);
    }
    return child;
  }

  // Waits for the end of a started process. Returns its exit code; -N when signal N has ended it.
  static int ExitCodeOf(pid_t process) {
    const int status = AwaitChild(process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  // Returns the processes whose working directory is the test's.
  std::vector<pid_t> Processes() const {
    return ProcessesWhere(
        [](const std::string& at, const std::string& name) { return at.ends_with("/" + name); });
  }

  // Returns the processes of servers that work in the test's directory.
  std::vector<pid_t> Servers() const {
    return ProcessesWhere([](const std::string& at, const std::string& name) {
      return at.find("/" + name + "/") != std::string::npos;
    });
  }

  // Returns the processes of which `is_one` says that they work at `at`, by the name of the test's
  // directory. The name is drawn by lot, and the path before it may be another: a process with
  // mounts of its own is shown by the path of the file system that its directory is on. A test that
  // was skipped before it had a directory has none.
  std::vector<pid_t> ProcessesWhere(
      const std::function<bool(const std::string& at, const std::string& name)>& is_one) const {
    std::vector<pid_t> found;
    if (directory_.empty()) return found;
    const std::string name = std::filesystem::path(directory_).filename();
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string pid = entry.path().filename();
      if (pid.find_first_not_of("0123456789") != std::string::npos) continue;
      std::error_code error;
      const std::string at = std::filesystem::read_symlink(entry.path() / "cwd", error);
      if (!error && is_one(at, name) && State(pid) != 'Z') found.push_back(std::stoi(pid));
    }
    return found;
  }

  static char State(const std::string& pid) {
    const std::string stat = Read("/proc/" + pid + "/stat");
    const size_t at = stat.rfind(')');
    return at == std::string::npos || at + 2 >= stat.size() ? 'Z' : stat[at + 2];
  }

  static bool Becomes(const std::function<bool()>& condition, int seconds = 30) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (std::chrono::steady_clock::now() < end) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }

  // Waits until the condition holds, however long the machine takes, or the started process has
  // ended. Returns whether it holds.
  static bool BecomesWhileItRuns(pid_t process, const std::function<bool()>& condition) {
    while (State(std::to_string(process)) != 'Z') {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }

  // Returns whether the process is testbed and has installed its handler of interrupts.
  static bool CatchesInterrupts(pid_t pid) {
    const std::string proc = "/proc/" + std::to_string(pid);
    if (!Read(proc + "/comm").starts_with("testbed")) return false;
    const std::string status = Read(proc + "/status"), name = "\nSigCgt:";
    const size_t at = status.find(name);
    if (at == std::string::npos) return false;
    const uint64_t caught = std::stoull(status.substr(at + name.size()), nullptr, 16);
    return ((caught >> (SIGINT - 1)) & 1) != 0;
  }

  // Waits until the child is in the middle of a phase. The child then writes nothing to its parent,
  // so that a write cannot tell it that the parent is dead.
  static void LetItWork() { std::this_thread::sleep_for(std::chrono::seconds(1)); }
};

}  // namespace testbed

#endif  // TESTBED_TESTS_CLI_STARTED_COMMAND_H_

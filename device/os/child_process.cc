#include "device/os/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "device/error.h"
#include "device/os/thread.h"

namespace testbed {
namespace {

constexpr int kNotStarted = 127;

// Runs in the child, between fork and exec, where it may make system calls only.
[[noreturn]] void Exec(char* const argv[], char* const variables[], int output) {
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, 0);
  ::dup2(output, 1);
  ::dup2(output, 2);
  ::execve(argv[0], argv, variables);
  ::_exit(kNotStarted);
}

// Returns the variables of the environment that begin with none of these, with a null at the end.
std::vector<char*> VariablesWithout(const std::vector<std::string>& kept_back) {
  std::vector<char*> variables;
  for (char** at = ::environ; *at != nullptr; ++at) {
    const bool passes = std::none_of(
        kept_back.begin(), kept_back.end(),
        [at](const std::string& begin) { return std::string_view(*at).starts_with(begin); });
    if (passes) variables.push_back(*at);
  }
  variables.push_back(nullptr);
  return variables;
}

std::string ReadToEnd(int fd) {
  std::string text;
  char buffer[512];
  ssize_t n;
  while ((n = ::read(fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR)) {
    if (n > 0) text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

std::string LastLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const size_t line = text.rfind('\n');
  return text.empty() ? "it said nothing" : text.substr(line == std::string::npos ? 0 : line + 1);
}

}  // namespace

pid_t ForkChild() {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw NotMade("another process (fork)", errno);
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have ended before prctl, and the kernel then sends no signal.
  if (::getppid() != parent) ::_exit(kNotStarted);
  return 0;
}

Pipe::Pipe() {
  if (::pipe2(ends_, O_CLOEXEC) != 0) throw Error::Io("make", "a pipe", errno);
}

void Pipe::Close(int* end) {
  if (const int fd = std::exchange(*end, -1); fd >= 0) ::close(fd);
}

int AwaitChild(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::optional<std::string> FindProgram(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(std::string(path != nullptr ? path : "") +
                                 ":/usr/sbin:/sbin:/usr/local/sbin:/usr/bin");
  for (std::string directory; std::getline(directories, directory, ':');) {
    const std::string program = std::string(directory).append("/").append(name);
    if (!directory.empty() && ::access(program.c_str(), X_OK) == 0) return program;
  }
  return std::nullopt;
}

std::string RunProgram(const std::vector<std::string>& command,
                       const std::vector<std::string>& kept_back) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& word : command) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  const std::vector<char*> variables = VariablesWithout(kept_back);
  Pipe pipe;
  const pid_t child = ForkChild();
  if (child == 0) Exec(argv.data(), variables.data(), pipe.writer());
  pipe.CloseWriter();
  const std::string output = ReadToEnd(pipe.reader());
  pipe.CloseReader();
  const int status = AwaitChild(child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return output;
  throw Error(Error::kRun, command[0] + " failed: " + LastLine(output));
}

}  // namespace testbed

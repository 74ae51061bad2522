#include "device/os/server_process.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "device/error.h"
#include "device/os/child_process.h"
#include "device/os/regular_file.h"
#include "device/os/run_cpu.h"

namespace testbed {
namespace {

constexpr int kServerNotStarted = 127;
constexpr std::chrono::milliseconds kPoll(5);

// Changes to the user, and drops all capabilities, even those that would be inherited.
void ChangeUser(const ProgramUser& user) {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2] = {};
  if (::setgroups(0, nullptr) != 0 || ::setgid(user.gid) != 0 || ::setuid(user.uid) != 0 ||
      ::syscall(SYS_capset, &header, none) != 0) {
    ::_exit(kServerNotStarted);
  }
}

// Opens the directory under the descriptor that kHeldDirectory names. Returns the lowest descriptor
// that must be closed before the program starts.
int Hold(const std::string& directory) {
  constexpr int kHeld = 3;
  if (directory.empty()) return kHeld;
  const int fd = ::open(directory.c_str(), O_PATH | O_DIRECTORY);
  if (fd < 0 || (fd != kHeld && ::dup2(fd, kHeld) != kHeld)) ::_exit(kServerNotStarted);
  return kHeld + 1;
}

// Forks, and returns in the child only. The calling process becomes the guard of its process group:
// when `parent` ends, it kills the group, itself included.
void StayUnderGuard(pid_t parent) {
  constexpr int kParentEnded = SIGUSR1;
  ::signal(kParentEnded, [](int) { ::kill(0, SIGKILL); });
  ::prctl(PR_SET_PDEATHSIG, kParentEnded);
  if (::getppid() != parent) ::_exit(kServerNotStarted);
  const pid_t program = ::fork();
  if (program == 0) return;
  // The guard ignores the signals that ServerProcess::Signal sends to the group for the program.
  for (int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP}) ::signal(signal, SIG_IGN);
  int status = 0;
  while (program > 0 && ::waitpid(program, &status, 0) < 0 && errno == EINTR) {
  }
  ::_exit(program > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : kServerNotStarted);
}

// Runs in the child, between fork and exec, where it may make system calls only.
[[noreturn]] void Become(const ServerCommand& command, int output, char* const argv[],
                         char* const environment[], pid_t parent) {
  const int nothing = ::open("/dev/null", O_RDONLY);
  if (nothing < 0) ::_exit(kServerNotStarted);
  ::dup2(nothing, 0);
  ::dup2(output, 1);
  ::dup2(output, 2);
  ::closefrom(Hold(command.held_directory));  // also where the kernel has no close_range(2)
  ::setpgid(0, 0);
  ::umask(077);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
  int death_signal = command.death_signal;
  if (command.kill_group) {
    StayUnderGuard(parent);
    parent = ::getppid();
    death_signal = SIGKILL;
  }
  if (::chdir(command.directory.c_str()) != 0) ::_exit(kServerNotStarted);
  if (command.user) ChangeUser(*command.user);
  // A change of the user resets this setting, so it is made after the change.
  ::prctl(PR_SET_PDEATHSIG, death_signal);
  if (::getppid() != parent) ::_exit(kServerNotStarted);
  ::execve(argv[0], argv, environment);
  ::_exit(kServerNotStarted);
}

}  // namespace

std::optional<ProgramUser> FindUser(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (const passwd* user = ::getpwnam(name.c_str()))
      return ProgramUser{user->pw_uid, user->pw_gid};
  }
  return {};
}

ServerProcess::ServerProcess(const ServerCommand& command) : kill_group_(command.kill_group) {
  std::vector<char*> argv;
  for (const std::string& word : command.words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  char path[] = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
  char locale[] = "LC_ALL=C";
  std::vector<char*> environment = {path, locale};
  for (const std::string& more : command.environment) {
    environment.push_back(const_cast<char*>(more.c_str()));
  }
  environment.push_back(nullptr);
  const int output = OpenRegularFile(command.output, O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (output < 0) throw Error::Io("open", command.output, errno);
  const pid_t parent = ::getpid();
  try {
    pid_ = ForkChild();
  } catch (...) {
    ::close(output);
    throw;
  }
  if (pid_ == 0) Become(command, output, argv.data(), environment.data(), parent);
  ::close(output);
  // The child also calls setpgid, so that the group exists whichever of the two runs first.
  ::setpgid(pid_, pid_);
  AddServer(pid_);
}

ServerProcess::~ServerProcess() {
  if (!Ended()) Signal(SIGKILL);
  Wait();
}

void ServerProcess::Signal(int signal) { ::kill(kill_group_ ? -pid_ : pid_, signal); }

// If this process ignores SIGCHLD, or waits for any of its children elsewhere, this call alone
// tells that the server has ended. The server's status is lost then and counts as 0.
bool ServerProcess::Ended() {
  if (ended_) return true;
  const pid_t ended = ::waitpid(pid_, &status_, WNOHANG);
  if (ended == 0 || (ended < 0 && errno != ECHILD)) return false;
  RemoveServer(pid_);
  ended_ = true;
  return true;
}

int ServerProcess::Wait() {
  if (ended_) return status_;
  status_ = AwaitChild(pid_);
  RemoveServer(pid_);
  ended_ = true;
  return status_;
}

bool ServerProcess::End(int signal, std::chrono::seconds patience) {
  if (Ended()) return true;
  Signal(signal);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!Ended()) {
    if (std::chrono::steady_clock::now() > deadline) {
      Signal(SIGKILL);
      Wait();
      return false;
    }
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

}  // namespace testbed

// A ServerProcess is a server program that runs for this process and ends with it, however this
// process ends: the kernel sends the server a signal when the thread that started it ends.
//
//   ServerCommand command;
//   command.words = {"/usr/lib/postgresql/15/bin/postgres", "-D", kHeldDirectory};
//   command.held_directory = "run/db/cluster";
//   command.output = "run/db/server.log";
//   ServerProcess server(command);
//   if (server.Ended()) ...                                   // it did not start; read its output
//   server.End(SIGINT, std::chrono::seconds(60));
//
// The server has a process group of its own, so that Ctrl-C at the terminal reaches this process
// alone, which then ends the server in order. The server inherits no file descriptor but that of
// kHeldDirectory, and no environment but PATH, a C locale and what its command names. It inherits
// the cgroup, the mounts and the limits of this process, as do its children.
#ifndef TESTBED_DEVICE_OS_SERVER_PROCESS_H_
#define TESTBED_DEVICE_OS_SERVER_PROCESS_H_

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace testbed {

struct ProgramUser {
  uid_t uid = 0;
  gid_t gid = 0;
};
// Returns the first of these users that the machine has; nothing when it has none of them.
std::optional<ProgramUser> FindUser(const std::vector<std::string>& names);

// This is the path under which a program finds the directory that it was given open
// (ServerCommand::held_directory).
inline constexpr char kHeldDirectory[] = "/proc/self/fd/3";

struct ServerCommand {
  std::vector<std::string> words;  // path of the program and its arguments
  std::string directory = "/";     // the working directory
  // These are further variables of the program's environment, as NAME=VALUE.
  std::vector<std::string> environment;
  // The program and its children find this directory as kHeldDirectory, even if they may not enter
  // a directory above it, such as one above a run's directory. Empty for no directory.
  std::string held_directory;
  std::string output;  // file to which the program's output is appended
  // This is the user that the program runs as; nothing stands for the user of this process. If this
  // process is root, the program keeps none of root's rights, but any other program of the user can
  // control it.
  std::optional<ProgramUser> user;
  int death_signal = SIGKILL;  // the kernel sends it when the starting thread ends
  // Set this for a program that does not end the processes that it starts, as a script may not.
  // Then a guard process kills the program's process group when the starting thread ends, in place
  // of death_signal. pid() is the guard's id. The guard exits with the program's exit code, or with
  // 127 if a signal ended the program.
  bool kill_group = false;
};

// Not thread-safe. The main thread should make it: the server ends with the thread that made it.
class ServerProcess {
 public:
  // Throws Error (kIo) when the kernel makes no process, or the output is no regular file and
  // cannot be made one. A program that cannot be executed has ended.
  explicit ServerProcess(const ServerCommand& command);
  // Kills the server if it still runs, and waits for its end.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  pid_t pid() const { return pid_; }
  // Returns whether the server has ended.
  bool Ended();
  // Waits for the server's end and returns its status, as waitpid(2) gives it.
  int Wait();
  // Sends the signal and waits up to `patience` for the server's end, and then kills it. Returns
  // whether it ended in time.
  bool End(int signal, std::chrono::seconds patience);

 private:
  void Signal(int signal);

  const bool kill_group_;
  pid_t pid_ = -1;
  bool ended_ = false;
  int status_ = 0;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_SERVER_PROCESS_H_

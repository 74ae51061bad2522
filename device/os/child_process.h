// ForkChild makes child processes that end with their parent, however the parent ends: even by kill
// -9, and even under nohup, sudo and timeout, which ignore, filter or pass on signals.
//
//   const pid_t child = ForkChild();
//   if (child == 0) { ...; _exit(0); }
//   const int status = AwaitChild(child);
//
// A child that outlived a killed parent would hold the parent's scratch device, its mounts, its
// cgroup and the lock of its database, and would go on writing.
//
// A Pipe is what the two talk by:
//
//   int port = 0;
//   Pipe answer;
//   const pid_t child = ForkChild();
//   if (child == 0) _exit(write(answer.writer(), &port, sizeof port) < 0);
//   answer.CloseWriter();            // so that the pipe ends with the child
//   if (read(answer.reader(), &port, sizeof port) != sizeof port) ...
//   AwaitChild(child);
#ifndef TESTBED_DEVICE_OS_CHILD_PROCESS_H_
#define TESTBED_DEVICE_OS_CHILD_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace testbed {

// Forks and returns as fork(2) does. The kernel ends the child by SIGKILL when the calling *thread*
// ends, so the main thread must call this. Throws Error (kIo) when the kernel makes no process.
pid_t ForkChild();

// A Pipe closes its ends when it is destroyed, also because ForkChild throws. No program that is
// executed inherits them.
class Pipe {
 public:
  Pipe();  // throws Error (kIo) when the kernel makes no pipe
  ~Pipe() {
    CloseReader();
    CloseWriter();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void CloseReader() { Close(&ends_[0]); }
  void CloseWriter() { Close(&ends_[1]); }
  // Return the end, which the caller owns from then on.
  int TakeReader() { return std::exchange(ends_[0], -1); }
  int TakeWriter() { return std::exchange(ends_[1], -1); }

 private:
  static void Close(int* end);

  int ends_[2] = {-1, -1};
};

// Waits for the end of a child and returns its status, as waitpid(2) gives it.
int AwaitChild(pid_t child);

// Returns the path of a program on PATH or in the sbin directories, where mkfs is and which a
// user's PATH may lack; nothing when there is no such program.
std::optional<std::string> FindProgram(const std::string& name);

// Runs the program at the path command[0] to its end, with /dev/null as its input, and returns its
// standard output and standard error, interleaved as they were written. Neither reaches the
// terminal. Throws Error (kRun) with the last line of the output unless the program exits with 0.
// The program ends with the calling thread, as a child of ForkChild does. Variables of the
// environment that begin with one of `kept_back`, such as "SQUEUE_", are not passed on to it.
std::string RunProgram(const std::vector<std::string>& command,
                       const std::vector<std::string>& kept_back = {});

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_CHILD_PROCESS_H_

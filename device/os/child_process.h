// ForkChild makes child processes that end with their parent, however the parent ends: even by kill
// -9, and even under nohup, sudo and timeout, which ignore, filter or pass on signals.
//
//   const pid_t child = ForkChild();
//   if (child == 0) { ...; _exit(0); }
//   const int status = AwaitChild(child);
//
// A child that outlived a killed parent would hold the parent's scratch device, its mounts, its
// cgroup and the lock of its database, and would go on writing.
#ifndef TESTBED_DEVICE_OS_CHILD_PROCESS_H_
#define TESTBED_DEVICE_OS_CHILD_PROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace testbed {

// Forks and returns as fork(2) does. The kernel ends the child by SIGKILL when the calling *thread*
// ends, so the main thread must call this. Throws Error (kIo) when the kernel makes no process.
pid_t ForkChild();

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

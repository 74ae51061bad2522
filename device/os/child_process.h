// Child processes that end with their parent, however it ends: kill -9 included, and also under
// nohup, sudo and timeout, which ignore, filter or pass on signals.
//
//   const pid_t child = ForkChild();
//   if (child == 0) { ...; _exit(0); }
//
// What a killed parent leaves running would hold its scratch device, its mounts, its cgroup and the
// lock of its database, and would go on to write.
#ifndef TESTBED_DEVICE_OS_CHILD_PROCESS_H_
#define TESTBED_DEVICE_OS_CHILD_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

namespace testbed {

// fork(), with a child that the kernel ends by SIGKILL when the calling *thread* ends: call it from
// the main thread. Throws Error when the kernel makes no process.
pid_t ForkChild();

// Waits for the end of a child and returns its status, as waitpid gives it.
int AwaitChild(pid_t child);

// Runs the program at the path command[0] to its end, with nothing to read and with its output kept
// from the terminal. Throws Error with the last line it wrote unless it exits with 0. The program
// ends with this process.
void RunProgram(const std::vector<std::string>& command);

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_CHILD_PROCESS_H_

// A Launcher has other hosts run blocks of cells, each block by a process of its own, `testbed
// experiment run OUT --block KEY`. The program lies at the same path on every host, and all hosts
// share the results directory OUT.
//
//   launcher->Start(command, {"round-1", "round-2"}, refused);
//   while (!(tasks = launcher->Look()).none()) ...
//   launcher->Cancel();
//
// An error of a program that it calls is an Error (kRun) with the program's message. Not
// thread-safe.
#ifndef TESTBED_TOOLS_EXPERIMENT_CLUSTER_LAUNCHER_H_
#define TESTBED_TOOLS_EXPERIMENT_CLUSTER_LAUNCHER_H_

#include <set>
#include <string>
#include <vector>

namespace testbed {

struct ClusterTasks {
  size_t running = 0, waiting = 0;
  std::set<std::string> hosts;  // hosts that run tasks
  std::string why_waiting;      // in the scheduler's words; may be empty
  bool none() const { return running + waiting == 0; }
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  // Starts a task for each block. `command` has the words of a task, the last of which is --block.
  // The hosts in `refused` get no task. When the user asks to stop, it starts no more, and tasks of
  // which it does not know may have started when it throws: Look and Cancel find them.
  virtual void Start(const std::vector<std::string>& command,
                     const std::vector<std::string>& blocks,
                     const std::set<std::string>& refused) = 0;
  // Returns the tasks on these results that have not ended, those of earlier calls included where
  // they are known.
  virtual ClusterTasks Look() = 0;
  // Keeps the tasks that wait from the hosts, which get one task after the other where they refuse
  // each at once. Does nothing where the scheduler cannot be told so.
  virtual void Exclude(const std::set<std::string>& /*hosts*/) {}
  virtual void Cancel() = 0;
  // Returns the file that a block's task prints to in this call; empty when it was not started.
  virtual std::string LogOf(const std::string& block) const = 0;
};

// Returns the words as a command of sh(1).
std::string ShellCommand(const std::vector<std::string>& words);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_CLUSTER_LAUNCHER_H_

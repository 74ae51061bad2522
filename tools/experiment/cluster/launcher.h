// A Launcher has other hosts run blocks of cells, each by a process `testbed experiment run OUT --block
// KEY` that exists at the same path on every host and shares the results directory OUT.
//
//   launcher->Start(command, {"round-1", "round-2"}, refused);
//   while (!(tasks = launcher->Look()).none()) ...
//   launcher->Cancel();
//
// Errors of the programs that it calls are Error (kRun), with what they said. Not thread-safe.
#ifndef TESTBED_TOOLS_EXPERIMENT_CLUSTER_LAUNCHER_H_
#define TESTBED_TOOLS_EXPERIMENT_CLUSTER_LAUNCHER_H_

#include <set>
#include <string>
#include <vector>

namespace testbed {

struct ClusterTasks {
  size_t running = 0, waiting = 0;
  std::set<std::string> hosts;  // that run some
  std::string why_waiting;      // in the scheduler's words; may be empty
  bool none() const { return running + waiting == 0; }
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  // Starts a task for each block. `command` are the words of a task, the last of which is --block; the
  // hosts in `refused` get none.
  virtual void Start(const std::vector<std::string>& command,
                     const std::vector<std::string>& blocks,
                     const std::set<std::string>& refused) = 0;
  // Returns the tasks on these results that are not ended, those of earlier calls included.
  virtual ClusterTasks Look() = 0;
  virtual void Cancel() = 0;
  // Returns the file that a block's task has printed to in this call; empty when it was not started.
  virtual std::string LogOf(const std::string& block) const = 0;
};

// Returns the words as a command of sh(1).
std::string ShellCommand(const std::vector<std::string>& words);

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_CLUSTER_LAUNCHER_H_

// --task, --task-address and --task-timeout: the options of a run whose clients are several
// processes on one or several hosts, its tasks (docs/clusters.md, "Load from several hosts").
#ifndef TESTBED_TOOLS_RUN_TASKS_TASK_OPTIONS_H_
#define TESTBED_TOOLS_RUN_TASKS_TASK_OPTIONS_H_

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace testbed {

struct TaskOptions {
  std::string task;     // "slurm", or "1/3" for number 1 of 0 to 2; empty: the run has no others
  std::string address;  // HOST:PORT, where task 0 listens; empty: see ResolveTask
  double timeout = 60;  // seconds after which a task that says nothing is lost

  // ResolveTask sets these.
  int index = 0, count = 1;
  std::string host = {}, port = {};  // parts of `address`
  std::string step = {};             // the step of Slurm, such as "4711.0"; empty without Slurm

  // several returns whether the run has other tasks; guest, whether this task is not task 0. Task 0
  // loads the database and writes the report.
  bool several() const { return count > 1; }
  bool guest() const { return index > 0; }
};

// Adds the options to `app`. Parsing stores the values in `options`, which must outlive `app`.
void AddTaskOptions(CLI::App& app, TaskOptions& options);

// Sets the place of this task: from --task NUMBER/COUNT, or from the variables of Slurm, which
// `variable` returns as getenv(3) does. Without --task-address the tasks of a step of Slurm meet at
// its first host, at a port that follows from the numbers of job and step, and others at the port
// kDefaultTaskPort of the loopback. Throws Error (kUsage).
void ResolveTask(const std::function<const char*(const char*)>& variable, TaskOptions* options);

inline constexpr int kDefaultTaskPort = 7717, kMostRunTasks = 1000;

// Returns the first host of a list as Slurm writes it: "n07" of "n[07-09,12],m1".
std::string FirstHost(const std::string& list);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_TASKS_TASK_OPTIONS_H_

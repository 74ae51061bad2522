// The tasks of one run: processes on one or several hosts, of which each has clients of its own and
// performs the same phases. Task 0 has a link to each other task. The tasks meet before and after
// each phase; at a meeting each tells task 0 something, and all get one answer.
//
//   std::unique_ptr<TaskGroup> tasks = JoinTasks(options, plan);   // task_join.h
//   tasks->Begin();                                  // in the process that works, after its fork
//   const TaskGroup::Meeting met = tasks->Meet({.where = "the begin of mixed"}, told, unite);
//   AwaitStart(met, tasks->now());                   // all tasks go on at this moment
//   ...
//   tasks->End("");                                  // or the sentence of what has failed
//
// When one task is asked to stop, all are told, and behave as if they had been asked themselves:
// their phase ends, and they meet as they do otherwise, so that what all have done is kept. A
// meeting then waits for the others for some seconds only.
//
// A thread tells the others once a second that this task lives, answers what they ask for the time,
// and notes when one of them has failed, has ended, or has said nothing for `timeout` seconds. Then
// each call of Meet throws an Error (kRun) that names that task and its host, and TaskIsLost
// returns true, so that a phase under way can end early. So no task waits for ever for another.
#ifndef TESTBED_TOOLS_RUN_TASKS_TASK_GROUP_H_
#define TESTBED_TOOLS_RUN_TASKS_TASK_GROUP_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "device/os/mutex.h"
#include "tools/run/tasks/clock_offset.h"
#include "tools/run/tasks/task_link.h"

namespace testbed {

// Returns whether a group of this process has lost a task. Thread-safe.
bool TaskIsLost();
// TaskIsStopped returns whether another task was asked to stop. StopOfAnyTask returns whether the
// run should end, because this process or another task was asked to stop. Thread-safe.
bool TaskIsStopped();
bool StopOfAnyTask();

class TaskGroup {
 public:
  using Now = std::function<int64_t()>;  // a clock that nobody sets (MonotonicNs)

  // Names a meeting and says how it is held. `where` is the same for all tasks.
  struct At {
    std::string where;
    bool compares_clocks = true;
    // How long the first task that comes waits for the last one; 0: as long as all of them live.
    double patience = 0;
  };
  struct Meeting {
    nlohmann::json answer;
    int64_t start_ns = 0;  // when all tasks go on, by the clock of this host
    // By task, its clock less that of task 0. Only task 0 has them, where clocks are compared.
    std::vector<ClockOffset> offsets;
  };
  // Makes the answer of task 0 from what the tasks have told, in their order.
  using Unite = std::function<nlohmann::json(std::vector<nlohmann::json>)>;

  // `hosts` are those of the tasks, in their order. Task 0 gives the `links` to tasks 1, 2, ...;
  // each of the others gives the one to task 0.
  TaskGroup(int index, std::vector<std::string> hosts, std::vector<std::unique_ptr<TaskLink>> links,
            double timeout, Now now);
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  int index() const { return index_; }
  int count() const { return static_cast<int>(hosts_.size()); }
  const std::string& host(size_t task) const { return hosts_[task]; }
  const Now& now() const { return now_; }
  // Returns "task 1 of 3 on host n2".
  std::string NameOf(size_t task) const;

  // Starts the thread. Called once, in the process that calls Meet.
  void Begin();
  // Waits for the other tasks and returns what task 0 makes of all that was told. Throws Error
  // (kRun) when a task is lost; Error (kUsage) when one has refused an option; and Stopped when the
  // run should end and another task does not come any more. Only one thread may call it.
  Meeting Meet(const At& at, const nlohmann::json& told, const Unite& unite);
  // Tells the others that this task was asked to stop, once. The thread does when StopRequested.
  void Stop();
  // Ends the thread. `why` is a sentence for the others when this task has failed, and the exit
  // code is then its own; empty when it has come to its end. Never throws. The process that has
  // made the group may call it, too, when the one that works could not.
  void End(const std::string& why, int exit_code = 1);
  // Ends the thread of a task that was asked to stop. Never throws.
  void EndStopped();

 private:
  // Why a task is lost; empty: it is not.
  struct Loss {
    std::string why;
    bool usage = false;  // it has refused an option
  };
  size_t TaskOf(size_t link) const { return index_ == 0 ? link + 1 : 0; }
  Meeting MeetAsFirst(const At& at, const nlohmann::json& told, const Unite& unite);
  Meeting MeetAsOther(const At& at, const nlohmann::json& told);
  // `patience` is in seconds since `begin`; 0: without a limit.
  TaskLine Take(size_t link, const At& at, std::chrono::steady_clock::time_point begin,
                double patience);
  ClockOffset Compare(size_t link, const At& at);
  void SendTo(size_t link, const nlohmann::json& line);
  [[noreturn]] void BreakWith(size_t link, const std::string& what) const;
  [[noreturn]] void ThrowUnsent(size_t link);
  void EndWith(const nlohmann::json& line);
  void Watch();
  void TakeLines(size_t link, std::vector<TaskLine> lines);
  void Lose(size_t link, const std::string& why, bool usage = false);
  void LoseSilent(size_t link, const std::string& why);
  void NoteSleep(double seconds);
  void ThrowIfLost();

  const int index_;
  const std::vector<std::string> hosts_;
  const std::vector<std::unique_ptr<TaskLink>> links_;
  const double timeout_;
  const Now now_;
  std::atomic<bool> ending_{false}, told_stop_{false};
  std::thread watch_;

  Mutex mutex_;
  CondVar changed_;
  std::vector<std::deque<TaskLine>> inbox_ GUARDED_BY(mutex_);  // by link
  std::vector<Loss> lost_ GUARDED_BY(mutex_);                   // by link
  std::vector<bool> stopped_ GUARDED_BY(mutex_);                // by link: it ended on a stop
  std::string slept_ GUARDED_BY(mutex_);                        // not empty: why this task is lost
  // The time of the last bytes, by link. Only the thread uses it.
  std::vector<std::chrono::steady_clock::time_point> heard_;
};

// Waits until the moment at which the tasks go on, unless one of them is lost or the run should
// end.
void AwaitStart(const TaskGroup::Meeting& met, const TaskGroup::Now& now);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_TASKS_TASK_GROUP_H_

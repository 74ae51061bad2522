// What the clients of one task did in a phase of several tasks, and how its clock stood to that of
// task 0.
#ifndef TESTBED_TOOLS_RUN_TASKS_TASK_FIGURES_H_
#define TESTBED_TOOLS_RUN_TASKS_TASK_FIGURES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "tools/run/tasks/clock_offset.h"
#include "workloads/measure/histogram.h"

namespace testbed {

struct TaskFigures {
  int task = 0;
  std::string host;
  int threads = 0;
  double seconds = 0;  // from its first client's begin to its last one's end
  uint64_t count = 0, unanswered = 0;
  HistogramCounts latency;  // latency of all kinds of operations
  // PhaseRecord's figures of these names, of the task's host; nothing when not known.
  std::optional<double> foreign_cpu_share, steal_share;
  ClockOffset clock_before, clock_after;  // its clock less that of task 0, around the phase
  int64_t late_ns = 0;                    // how long after the moment set for all it began
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_TASKS_TASK_FIGURES_H_

// The seconds of a phase of several tasks as one series, by one clock. Each task has cut its own
// seconds, from its own begin on, and somewhat late where it was busy or stopped.
//
//   std::vector<Interval> series = MergeSeries({{0, &of_task_0}, {0.25, &of_task_1}}, ops.size());
//
// Thread-safe.
#ifndef TESTBED_TOOLS_RUN_TASKS_TASK_SERIES_H_
#define TESTBED_TOOLS_RUN_TASKS_TASK_SERIES_H_

#include <cstddef>
#include <vector>

#include "workloads/measure/slices.h"

namespace testbed {

struct TaskSeries {
  // Seconds from the begin of the task that began first to that of this one.
  double from = 0;
  // The seconds of one task, with histograms. They are counted from the begin of this task.
  const std::vector<Interval>* series = nullptr;
};

// Returns the whole seconds since the begin of the first task, and the rest of the last one. The
// operations of an interval that lies in several seconds are divided among them by its time in
// each, so that the series adds up to those of all tasks. Its latencies are not divided: they count
// in the second that has most of it, and another one may have none (KnowsLatency). `kinds` is the
// number of kinds of operations. The figures of a host, such as its device, are those of the first
// of `tasks`, which is task 0. They are divided like its operations, except what memory held at the
// end of an interval: seconds that have most of no interval do not know it.
std::vector<Interval> MergeSeries(const std::vector<TaskSeries>& tasks, size_t kinds);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_TASKS_TASK_SERIES_H_

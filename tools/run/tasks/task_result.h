// What one task tells task 0 of a phase that all have performed, and how the phases of all become
// one: counts are summed, rates follow from the interval from the first begin to the last end, and
// latencies are merged as histograms, so that each percentile is that of all operations. As with
// fio's clients, the report has all of them together and each apart.
//
//   const nlohmann::json told = TaskResultJson(phase);            // in each task
//   MergeTasks(others, clocks, &phase);                           // in task 0
#ifndef TESTBED_TOOLS_RUN_TASKS_TASK_RESULT_H_
#define TESTBED_TOOLS_RUN_TASKS_TASK_RESULT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/run/run_record.h"
#include "tools/run/tasks/clock_offset.h"
#include "workloads/measure/phase_result.h"

namespace testbed {

// Returns the results of the phase, which has Work, and of its account what belongs to this task:
// operations, bytes on the wire, time of processors. The blocks of the server belong to no task.
nlohmann::json TaskResultJson(const PhaseRecord& phase);

// Returns the record that TaskResultJson told of; `ops` are the workload's kinds of operations.
// Throws Error (kRun) when the text is damaged.
PhaseRecord TaskResultFrom(const nlohmann::json& told, const std::vector<OpKind>& ops);

// The clocks of the tasks around a phase, in the order of the tasks, by which task 0 knows when
// each has begun.
struct TaskClocks {
  std::vector<std::string> hosts;
  std::vector<ClockOffset> before, after;
  int64_t start_ns = 0;  // when all were to begin, by the clock of task 0
};

// Makes *phase, which is task 0's own, the phase of all tasks; `others` are those of the tasks from
// 1 on. Its account has the operations, the wire and the processors of all; the engine's counters
// are those that the server told task 0, and are of all anyway.
void MergeTasks(const std::vector<PhaseRecord>& others, const TaskClocks& clocks,
                PhaseRecord* phase);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_TASKS_TASK_RESULT_H_

// Brings the tasks of a run together before anything is created: task 0 listens, the others come to
// it, and all must be of one version of testbed and have the same plan.
//
//   const std::unique_ptr<TaskGroup> tasks = JoinTasks(options, {{"seconds", 20}});
#ifndef TESTBED_TOOLS_RUN_TASKS_TASK_JOIN_H_
#define TESTBED_TOOLS_RUN_TASKS_TASK_JOIN_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/run/tasks/task_group.h"
#include "tools/run/tasks/task_options.h"

namespace testbed {

// Waits up to options.timeout seconds until all tasks are there. `plan` is an object with what must
// be the same in all of them: its names are those of options. Throws Error (kUsage) when a task
// does not come, when the address cannot be used, and when another version or another plan comes;
// and Stopped when the run should end.
std::unique_ptr<TaskGroup> JoinTasks(const TaskOptions& options, const nlohmann::json& plan);

// Returns a sentence that names the first setting in which the plan of a task differs from that of
// task 0; empty when they are the same.
std::string PlanDifference(const nlohmann::json& of_first, const nlohmann::json& of_other,
                           const std::string& other);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_TASKS_TASK_JOIN_H_

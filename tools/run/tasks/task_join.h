// Brings the tasks of a run together before anything is created: task 0 listens, the others come to
// it, and all must be of one version of testbed and have the same plan.
//
//   const std::unique_ptr<TaskGroup> tasks = JoinTasks(options, {{"seconds", 20}});
#ifndef TESTBED_TOOLS_RUN_TASKS_TASK_JOIN_H_
#define TESTBED_TOOLS_RUN_TASKS_TASK_JOIN_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/run/tasks/task_group.h"
#include "tools/run/tasks/task_options.h"

namespace testbed {

// Waits up to options.timeout seconds until all tasks are there. `plan` is an object with what must
// be the same in all of them: its names are those of options. `given` is what the user has given
// (OptionsGiven), by which a difference is named. Throws Error (kUsage) when a task does not come,
// when the address cannot be used, and when another version or another plan comes; and Stopped when
// the run should end.
std::unique_ptr<TaskGroup> JoinTasks(const TaskOptions& options, const nlohmann::json& plan,
                                     const nlohmann::json& given = nlohmann::json::object());

// Returns the options that a command line gives, with their values: {"--ram": "128M"}.
nlohmann::json OptionsGiven(const std::vector<std::string>& words);

// Returns a sentence that names a setting in which the plan of a task differs from that of task 0,
// by an option that they are given differently or, where there is none, by its name in the plan;
// empty when the plans are the same.
std::string PlanDifference(const nlohmann::json& of_first, const nlohmann::json& of_other,
                           const std::string& other,
                           const nlohmann::json& given_first = nlohmann::json::object(),
                           const nlohmann::json& given_other = nlohmann::json::object());

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_TASKS_TASK_JOIN_H_

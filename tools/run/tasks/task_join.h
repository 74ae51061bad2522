// Brings the tasks of a run together before anything is created: task 0 listens, the others come to
// it, and all must be of one version of testbed and have the same plan.
//
//   const std::unique_ptr<TaskGroup> tasks = JoinTasks(options, {{"seconds", 20}});
//
// With --reuse a task asks for the record of task 0's database before, as its own plan follows from
// that: it may be on another host, whose --dir has no database or another one.
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
// (OptionsGiven), by which a difference is named. `record` is what task 0 tells those who ask by
// RecordOfFirst. Throws Error (kUsage) when a task does not come, when the address cannot be used,
// and when a task of another version or with another plan comes. Throws Stopped when the user stops
// this task or another one.
std::unique_ptr<TaskGroup> JoinTasks(const TaskOptions& options, const nlohmann::json& plan,
                                     const nlohmann::json& given = nlohmann::json::object(),
                                     const nlohmann::json& record = nlohmann::json::object());

// Asks task 0 for the record of the database that it reuses; an empty object when it reuses none.
// Called by another task, before JoinTasks. Throws Error (kUsage) when task 0 does not answer
// within options.timeout seconds, or is of another version or another step of Slurm; and Stopped
// when the run should end.
nlohmann::json RecordOfFirst(const TaskOptions& options);

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

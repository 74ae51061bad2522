// The methods of ChildRun for a run whose clients are several processes
// (tools/run/tasks/task_group.h). All tasks perform the same phases, except that task 0 alone loads
// and settles.
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "engines/elsewhere.h"
#include "tools/run/child/child_run.h"
#include "tools/run/child/draw_seeds.h"
#include "tools/run/tasks/task_result.h"
#include "workloads/writing_phases.h"

namespace testbed {
namespace {

using nlohmann::json;

json NoAnswer(const std::vector<json>& told) {
  (void)told;
  return nullptr;
}

bool StopOrLostTask() { return StopOfAnyTask() || TaskIsLost(); }

}  // namespace

void ChildRun::BeginTasks() {
  if (plan_.tasks == nullptr) return;
  plan_.tasks->Begin();
  workload_.seed = SeedOfTask(workload_.seed, plan_.tasks->index());
}

// Waits until task 0 has the database open and loaded. All tasks then know which rows it holds,
// where each of them inserts others, and the number of the phase that wrote last.
void ChildRun::MeetLoaded() {
  if (plan_.tasks == nullptr || std::exchange(met_loaded_, true)) return;
  json told;
  if (!IsGuest()) {
    told = {{"schema", SchemaIdIn(options_.engine_name, plan_.engine_dir)},
            {"population", workload_.population->ToJson()},
            {"writing_phases", workload_.writing_phases->last()}};
  }
  const TaskGroup::Meeting met =
      plan_.tasks->Meet({.where = "the loaded database", .compares_clocks = false}, told,
                        [](std::vector<json> all) { return std::move(all.front()); });
  guest_of_ = met.answer.value("schema", std::string());
  if (guest_of_.empty()) {
    throw Error(Error::kRun, "task 0 did not tell which schema of the server it has made");
  }
  workload_.population->FromJson(met.answer.value("population", json()));
  *workload_.writing_phases = WritingPhases(met.answer.value("writing_phases", uint64_t{0}));
  workload_.population->Divide(static_cast<uint64_t>(plan_.tasks->index()),
                               static_cast<uint64_t>(plan_.tasks->count()));
}

// Sets the part of this task in the phase. `operations` counts those of all tasks, so it becomes
// this task's share. The number of the task tells which of the clients that share the rate are its
// own. The phase ends when a task is lost.
void ChildRun::TakeShare(PhaseOptions* phase) const {
  if (plan_.tasks == nullptr) return;
  phase->stop = StopOrLostTask;
  if (phase->loads) return;
  const auto index = static_cast<uint64_t>(plan_.tasks->index());
  const auto count = static_cast<uint64_t>(plan_.tasks->count());
  const uint64_t rest = index < phase->operations % count ? 1 : 0;
  phase->operations = phase->operations / count + rest;
  phase->task = plan_.tasks->index();
  phase->tasks = plan_.tasks->count();
}

// Has the clients of the phase begin together with those of the other tasks.
void ChildRun::BeginTogether(const std::string& name, PhaseOptions* phase) {
  phase->interval_buckets = true;
  phase->before_start = [this, name] {
    met_begin_ = plan_.tasks->Meet({.where = "the begin of " + name}, json(), NoAnswer);
    AwaitStart(met_begin_, plan_.tasks->now());
  };
}

// Waits until the clients of all tasks have ended. Phases that time ends must end at once.
void ChildRun::EndTogether(const std::string& name, const PhaseOptions& phase) {
  const bool by_time = phase.seconds > 0 && phase.operations == 0;
  met_end_ = plan_.tasks->Meet(
      {.where = "the end of " + name, .patience = by_time ? options_.tasks.timeout : 0}, json(),
      NoAnswer);
}

// Merges the phases of all tasks into that of task 0. All tasks learn of the rows that the others
// have inserted.
void ChildRun::GatherTasks(PhaseRecord* phase) {
  std::vector<json> told;
  const auto unite = [&told](std::vector<json> all) {
    std::vector<json> populations;
    for (const json& of_task : all) populations.push_back(of_task.value("population", json()));
    told = std::move(all);
    return Population::Unite(populations);
  };
  const TaskGroup::Meeting met = plan_.tasks->Meet(
      {.where = "the results of " + phase->name, .compares_clocks = false},
      {{"result", TaskResultJson(*phase)}, {"population", workload_.population->ToJson()}}, unite);
  workload_.population->FromJson(met.answer);
  if (IsGuest()) return;
  std::vector<PhaseRecord> others;
  TaskClocks clocks{.hosts = {plan_.tasks->host(0)},
                    .before = met_begin_.offsets,
                    .after = met_end_.offsets,
                    .start_ns = met_begin_.start_ns};
  for (size_t i = 1; i < told.size(); ++i) {
    clocks.hosts.push_back(plan_.tasks->host(i));
    others.push_back(TaskResultFrom(told[i].value("result", json::object()), phase->work->ops));
  }
  MergeTasks(others, clocks, phase);
}

// Waits until all tasks have come to the end of the run, so that none takes the end of another for
// its loss. A stop that comes meanwhile takes nothing from what is known: all phases have ended,
// and all tasks have told which rows they inserted.
void ChildRun::MeetAtEnd() {
  if (plan_.tasks == nullptr || stop_()) return;
  try {
    plan_.tasks->Meet({.where = "the end of the run", .compares_clocks = false}, json(), NoAnswer);
  } catch (const Stopped&) {
    // The caller calls stop_ again, which tells it of the stop.
  }
}

}  // namespace testbed

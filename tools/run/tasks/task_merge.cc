// MergeTasks (task_result.h).
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tools/run/tasks/task_result.h"
#include "tools/run/tasks/task_series.h"

namespace testbed {
namespace {

void AddOps(const PhaseResult& other, PhaseResult* sum) {
  for (size_t k = 0; k < sum->ops.size() && k < other.ops.size(); ++k) {
    PhaseResult::Op& to = sum->ops[k];
    const PhaseResult::Op& op = other.ops[k];
    to.count += op.count;
    to.latency.Add(op.latency);
    to.intended.Add(op.intended);
    to.undone.Add(op.undone);
    to.unanswered += op.unanswered;
    to.longest_unanswered_ns = std::max(to.longest_unanswered_ns, op.longest_unanswered_ns);
  }
}

void AddAddressesOf(const PhaseResult& other, PhaseResult* sum) {
  for (size_t i = 0; i < sum->addresses.size() && i < other.addresses.size(); ++i) {
    PhaseResult::Address& to = sum->addresses[i];
    to.threads += other.addresses[i].threads;
    to.count += other.addresses[i].count;
    to.unanswered += other.addresses[i].unanswered;
    to.latency.Add(other.addresses[i].latency);
  }
}

// Adds the results of another task, except the time and the seconds of its phase.
void AddResult(const PhaseResult& other, PhaseResult* sum) {
  AddOps(other, sum);
  AddAddressesOf(other, sum);
  sum->totals += other.totals;
  sum->verified += other.verified;
  sum->wrong += other.wrong;
  if (sum->first_wrong.empty()) sum->first_wrong = other.first_wrong;
  sum->partial = sum->partial || other.partial;
  if (sum->ended_because.empty()) sum->ended_because = other.ended_because;
  sum->lateness.Add(other.lateness);
  sum->undone.Add(other.undone);
  sum->backlog_seconds = std::max(sum->backlog_seconds, other.backlog_seconds);
  sum->thread_operations.insert(sum->thread_operations.end(), other.thread_operations.begin(),
                                other.thread_operations.end());
  sum->extra_operations += other.extra_operations;
  sum->thread_seconds.insert(sum->thread_seconds.end(), other.thread_seconds.begin(),
                             other.thread_seconds.end());
  sum->preparing_seconds += other.preparing_seconds;
}

void AddAccount(const PhaseAccount& other, PhaseAccount* sum) {
  for (const OpKind op : DefinedOps()) {
    sum->ledger.ops[op.id].operations += other.ledger.ops[op.id].operations;
    sum->ledger.ops[op.id].wire += other.ledger.ops[op.id].wire;
  }
  sum->cpu_user_seconds += other.cpu_user_seconds;
  sum->cpu_system_seconds += other.cpu_system_seconds;
  sum->process_read_bytes += other.process_read_bytes;
  sum->process_write_bytes += other.process_write_bytes;
  sum->major_faults += other.major_faults;
  sum->context_switches += other.context_switches;
}

TaskFigures FiguresOf(const PhaseRecord& phase, int task, const TaskClocks& clocks) {
  const auto at = static_cast<size_t>(task);
  const PhaseResult& result = phase.work->result;
  TaskFigures figures;
  figures.task = task;
  figures.host = clocks.hosts[at];
  figures.threads = phase.work->threads;
  figures.seconds = result.seconds;
  figures.count = result.operations();
  figures.unanswered = result.unanswered();
  for (const PhaseResult::Op& op : result.ops) figures.latency.Add(op.latency);
  figures.foreign_cpu_share = phase.foreign_cpu_share;
  figures.steal_share = phase.steal_share;
  figures.clock_before = clocks.before[at];
  figures.clock_after = clocks.after[at];
  figures.late_ns = result.began_ns - clocks.before[at].ns - clocks.start_ns;
  return figures;
}

// Takes out of the share of other programs on a task's host what the run's other tasks used there.
void LeaveOutOwnTasks(const std::vector<PhaseRecord>& others, PhaseRecord* phase) {
  std::vector<TaskFigures>& tasks = phase->tasks;
  for (TaskFigures& task : tasks) {
    if (!task.foreign_cpu_share || !(task.seconds > 0)) continue;
    double own = 0;  // shares of the processors, times the seconds for which they were used
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (&tasks[i] == &task || tasks[i].host != task.host) continue;
      const PhaseRecord& other = i == 0 ? *phase : others[i - 1];
      own += other.own_cpu_share.value_or(0) * tasks[i].seconds;
    }
    task.foreign_cpu_share = std::max(0.0, *task.foreign_cpu_share - own / task.seconds);
  }
  phase->foreign_cpu_share = tasks[0].foreign_cpu_share;
}

}  // namespace

void MergeTasks(const std::vector<PhaseRecord>& others, const TaskClocks& clocks,
                PhaseRecord* phase) {
  PhaseResult& sum = phase->work->result;
  std::vector<const PhaseResult*> results = {&sum};
  for (const PhaseRecord& other : others) results.push_back(&other.work->result);
  phase->tasks.push_back(FiguresOf(*phase, 0, clocks));
  for (size_t i = 0; i < others.size(); ++i) {
    phase->tasks.push_back(FiguresOf(others[i], static_cast<int>(i) + 1, clocks));
  }
  LeaveOutOwnTasks(others, phase);
  // The phase lasts from the first client's begin to the last one's end, by the clock of task 0.
  int64_t begin = INT64_MAX, end = INT64_MIN;
  std::vector<int64_t> began;
  for (size_t i = 0; i < results.size(); ++i) {
    began.push_back(results[i]->began_ns - clocks.before[i].ns);
    begin = std::min(begin, began[i]);
    end = std::max(end, began[i] + static_cast<int64_t>(results[i]->seconds * 1e9));
  }
  std::vector<TaskSeries> all_series;
  for (size_t i = 0; i < results.size(); ++i) {
    all_series.push_back({static_cast<double>(began[i] - begin) / 1e9, &results[i]->series});
  }
  std::vector<Interval> series = MergeSeries(all_series, sum.ops.size());
  for (const PhaseRecord& other : others) {
    AddResult(other.work->result, &sum);
    AddAccount(other.account, &phase->account);
    phase->work->threads += other.work->threads;
  }
  sum.series = std::move(series);
  sum.seconds = static_cast<double>(end - begin) / 1e9;
  phase->seconds = sum.seconds;
}

}  // namespace testbed

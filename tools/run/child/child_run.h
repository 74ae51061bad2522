// A ChildRun executes a run in its child process (run_child.h): it opens the engine, runs the
// phases one after the other, and fills in the record. Parts of it have files of their own:
// cache_share.cc (--cache-pct auto), close_engine.cc (durable commits), find_rate.cc (--find-rate),
// phase_order.cc (what follows from a phase's place), run_rows.cc (what the database holds) and
// tasks.cc (--task).
#ifndef TESTBED_TOOLS_RUN_CHILD_CHILD_RUN_H_
#define TESTBED_TOOLS_RUN_CHILD_CHILD_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/file/read_trace.h"
#include "tools/cache/cache_tuning.h"
#include "tools/options.h"
#include "tools/rate/rate_search.h"
#include "tools/run/run_account.h"
#include "tools/run/run_child.h"
#include "tools/run/run_record.h"
#include "tools/run/tasks/task_group.h"
#include "workloads/measure/meter.h"
#include "workloads/population.h"

namespace testbed {

// Not thread-safe. The options, the plan and the record must outlive the object.
class ChildRun {
 public:
  // Fills in *record while it runs.
  ChildRun(const RunOptions& options, const RunPlan& plan, bool (*stop)(), RunRecord* record,
           RunTalk talk)
      : options_(options), plan_(plan), stop_(stop), record_(*record), talk_(std::move(talk)) {}

  // Executes the run to its end, or until `stop` returns true. Throws Error.
  void Execute();

 private:
  void ReportBeginning(const std::string& phase);
  void OpenEngine();
  void NoteCharges(const std::string& charged);
  void CountRows(bool needed);
  bool MakeDurable();
  void CloseEngine();
  void ReopenCold();
  void DropCaches();
  void ReportLoaded(bool at_end);
  void RunWorkload(const std::string& name);
  void RunSlices(const std::string& name, Workload& workload);
  PhaseRecord Measure(const std::string& name, PhaseKind kind, Workload& workload,
                      const PhaseOptions& options);
  uint64_t ShareBytes(double cache_pct) const;
  double LeastAcceptedShare() const;
  void ResizeToShare(double cache_pct);
  void ReopenWithShare(double cache_pct);
  CacheTrial TryShare(const std::string& name, double cache_pct, WorkloadOptions* drawn);
  CacheTrial TrialOf(double cache_pct, const PhaseRecord& trial) const;
  Readahead2014 Readahead(const ReadTrace::Recording& reads, uint64_t operations) const;
  std::function<SharePrediction(const std::vector<CacheTrial>&)> SharePredictor(
      const std::string& name);
  void TuneCache(const std::string& name, WorkloadOptions* drawn);
  FoundRate FindRate(const std::string& name, WorkloadOptions drawn);
  RateStep MeasureRate(const std::string& name, double rate, FoundRate* found,
                       WorkloadOptions* drawn);
  void MeasureAtFoundRate(const std::string& name, Workload& workload, PhaseOptions phase,
                          FoundRate found, WorkloadOptions drawn);
  void Step(const std::string& name, PhaseKind kind, OpKind op, const std::string& what,
            const std::function<void(PhaseRecord*)>& does);
  void Settle();
  void NoteLimitHits();
  void NoteMemory(const Reading& after, PhaseRecord* phase) const;
  std::string Check(Workload& workload);
  void CheckUnchecked();
  void Finish(const Reading& before, const Reading& after, PhaseRecord* phase);
  uint32_t VerifyEvery() const;
  PhaseOptions MeasuredPhase(bool loads) const;
  std::optional<RateCurve> ShapeRate(PhaseOptions* phase) const;
  Reading ReadBorder(bool at_once) const;
  bool MayStillWork() const;
  bool IsLast() const;
  bool IsChecked(PhaseKind kind) const;
  bool IsGuest() const { return plan_.tasks != nullptr && plan_.tasks->index() > 0; }
  bool IsOfAllTasks(PhaseKind kind) const {
    return plan_.tasks != nullptr && kind != PhaseKind::kLoad;
  }
  void BeginTasks();
  void MeetLoaded();
  void TakeShare(PhaseOptions* phase) const;
  void BeginTogether(const std::string& name, PhaseOptions* phase);
  void EndTogether(const std::string& name, const PhaseOptions& phase);
  void GatherTasks(PhaseRecord* phase);
  void MeetAtEnd();

  const RunOptions& options_;
  bool opened_ = false;                                 // OpenEngine has run at least once
  uint64_t cache_bytes_ = options_.engine.cache_bytes;  // size of the engine's cache now
  const RunPlan& plan_;
  bool (*const stop_)();
  RunRecord& record_;
  const RunTalk talk_;
  std::optional<RunAccount> account_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Meter> meter_;
  std::shared_ptr<const Dataset> dataset_;
  WorkloadOptions workload_ = options_.workload;  // the user's options, population and loader
  std::unique_ptr<Workload> unchecked_;  // workload whose check of the database has still to run
  std::optional<PhaseKind> last_kind_;   // kind of the phase that was finished last
  bool loaded_ = false;                  // {"loaded": true} was reported
  uint64_t limit_hits_ = 0;              // hits of the budget's limit before the current phase
  uint64_t drawing_ = 0;                 // number of workloads so far that drew their rows
  bool searching_ = false;               // --find-rate, until the phase at the found rate begins
  size_t loads_ = 0;                     // number of the loads so far, with the current one
  size_t current_ = SIZE_MAX;  // number of this phase among those that do not load; none so far
  // In a run of several tasks: whether MeetLoaded has met the others, the schema of task 0, and the
  // meetings around the last phase of all tasks.
  bool met_loaded_ = false;
  std::string guest_of_;
  TaskGroup::Meeting met_begin_, met_end_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_CHILD_CHILD_RUN_H_

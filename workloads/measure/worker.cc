#include "workloads/measure/worker.h"

#include <algorithm>

namespace testbed {
namespace {

// Divides the operations that the thread had not begun among the kinds: like those that it
// performed, or evenly when it performed none.
void AddUndone(const Worker& worker, uint64_t operations, PhaseResult* result) {
  HistogramCounts undone;
  undone.Add(worker.undone);
  if (undone.count() == 0) return;
  result->undone.Add(undone);
  for (size_t k = 0; k < worker.ops.size(); ++k) {
    const auto count = static_cast<double>(worker.ops[k]->count.Get());
    result->ops[k].undone.AddShare(undone, operations == 0
                                               ? 1 / static_cast<double>(worker.ops.size())
                                               : count / static_cast<double>(operations));
  }
}

}  // namespace

void AddWorker(const Worker& worker, double seconds, PhaseResult* result) {
  uint64_t operations = 0;
  for (size_t k = 0; k < worker.ops.size(); ++k) {
    const Worker::Op& op = *worker.ops[k];
    operations += op.count.Get();
    result->ops[k].count += op.count.Get();
    result->ops[k].latency.Add(op.latency);
    result->ops[k].intended.Add(op.intended);
  }
  result->lateness.Add(worker.lateness);
  AddUndone(worker, operations, result);
  result->thread_operations.push_back(operations);
  result->thread_seconds.push_back(seconds);
  result->totals += worker.totals;
  result->verified += worker.verified.Get();
  result->wrong += worker.wrong.Get();
  if (result->first_wrong.empty()) result->first_wrong = worker.first_wrong;
  result->backlog_seconds =
      std::max(result->backlog_seconds, static_cast<double>(worker.backlog_ns) / 1e9);
}

}  // namespace testbed

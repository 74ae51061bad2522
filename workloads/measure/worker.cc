#include "workloads/measure/worker.h"

#include <algorithm>
#include <utility>

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

Interval IntervalSampler::Sample(double seconds) {
  const size_t kinds = workers_.empty() ? 0 : workers_[0]->ops.size();
  Interval interval{};
  interval.end_seconds = seconds;
  interval.counts.resize(kinds);
  interval.max_latency_ns.resize(kinds);
  last_latency_.resize(kinds);
  last_counts_.resize(kinds);
  latency_ = HistogramCounts();
  for (size_t k = 0; k < kinds; ++k) {
    HistogramCounts latency;
    uint64_t count = 0;
    for (const auto& worker : workers_) {
      latency.Add(worker->ops[k]->latency);
      count += worker->ops[k]->count.Get();
    }
    HistogramCounts delta = latency.Since(last_latency_[k]);
    interval.max_latency_ns[k] = delta.max_ns();
    interval.counts[k] = count - std::exchange(last_counts_[k], count);
    interval.operations += interval.counts[k];
    last_latency_[k] = std::move(latency);
    latency_.Add(delta);
  }
  interval.mean_ns = latency_.mean_ns();
  interval.p50_ns = latency_.Percentile(0.5);
  interval.p99_ns = latency_.Percentile(0.99);
  interval.p999_ns = latency_.Percentile(0.999);
  interval.max_ns = latency_.max_ns();
  return interval;
}

}  // namespace testbed

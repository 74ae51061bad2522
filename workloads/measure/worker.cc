#include "workloads/measure/worker.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace testbed {
namespace {

double SumOf(const std::vector<double>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0);
}

// Returns the share of each kind in the operations that the thread performed; when it performed
// none, in those of all threads with a rate; even shares when these have performed none either.
std::vector<double> SharesOf(const Worker& worker, const PhaseResult& result) {
  std::vector<double> counts;
  for (const auto& op : worker.ops) counts.push_back(static_cast<double>(op->count.Get()));
  if (SumOf(counts) == 0) {
    counts.clear();
    for (const PhaseResult::Op& op : result.ops) {
      counts.push_back(static_cast<double>(op.intended.count()));
    }
  }
  if (SumOf(counts) == 0) std::fill(counts.begin(), counts.end(), 1.0);
  const double all = SumOf(counts);
  for (double& count : counts) count /= all;
  return counts;
}

}  // namespace

OpKind VerifyOp() {
  static const OpKind op = DefineOp("verify", Ground::kBackground);
  return op;
}

void Performer::FailUnanswered(const LostAnswer& lost) const {
  throw lost.With(std::string(lost.what()) + "; " + workload_.name() +
                  " does not go on without the answer");
}

void AddAddresses(const std::vector<ServerAddress>& addresses,
                  const std::vector<std::unique_ptr<Worker>>& workers, PhaseResult* result) {
  for (const ServerAddress& address : addresses) {
    result->addresses.push_back({.name = address.name});
  }
  for (size_t t = 0; !addresses.empty() && t < workers.size(); ++t) {
    PhaseResult::Address& of_thread = result->addresses[t % addresses.size()];
    ++of_thread.threads;
    for (const std::unique_ptr<Worker::Op>& op : workers[t]->ops) {
      of_thread.count += op->count.Get();
      of_thread.unanswered += op->unanswered.Get();
      of_thread.latency.Add(op->latency);
    }
  }
}

void AddWorker(const Worker& worker, double seconds, PhaseResult* result) {
  uint64_t operations = 0;
  for (size_t k = 0; k < worker.ops.size(); ++k) {
    const Worker::Op& op = *worker.ops[k];
    operations += op.count.Get();
    result->ops[k].count += op.count.Get();
    result->ops[k].latency.Add(op.latency);
    result->ops[k].intended.Add(op.intended);
    result->ops[k].unanswered += op.unanswered.Get();
    result->ops[k].longest_unanswered_ns =
        std::max(result->ops[k].longest_unanswered_ns, op.longest_unanswered_ns);
  }
  result->lateness.Add(worker.lateness);
  result->thread_operations.push_back(operations);
  result->thread_seconds.push_back(seconds);
  result->totals += worker.totals;
  result->verified += worker.verified.Get();
  result->wrong += worker.wrong.Get();
  if (result->first_wrong.empty()) result->first_wrong = worker.first_wrong;
  result->backlog_seconds =
      std::max(result->backlog_seconds, static_cast<double>(worker.backlog_ns) / 1e9);
}

void AddUndone(const std::vector<std::unique_ptr<Worker>>& workers, PhaseResult* result) {
  HistogramDivider divider(result->ops.size());
  std::vector<HistogramCounts*> parts;
  for (PhaseResult::Op& op : result->ops) parts.push_back(&op.undone);
  for (const std::unique_ptr<Worker>& worker : workers) {
    HistogramCounts undone;
    undone.Add(worker->undone);
    if (undone.count() == 0) continue;
    result->undone.Add(undone);
    divider.Divide(undone, SharesOf(*worker, *result), parts);
  }
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
  if (keeps_buckets_) {
    interval.latency_ns = latency_.Buckets();
    interval.sum_ns = latency_.sum_ns();
  }
  return interval;
}

}  // namespace testbed

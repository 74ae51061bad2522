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
      counts.push_back(op.intended.count() == 0 ? 0.0 : static_cast<double>(op.count));
    }
  }
  if (SumOf(counts) == 0) std::fill(counts.begin(), counts.end(), 1.0);
  const double all = SumOf(counts);
  for (double& count : counts) count /= all;
  return counts;
}

// Returns the blocks that the session has asked for so far, as those of one check. Returns no check
// when the session does not count them.
CheckBlocks AskedSoFar(Session* session) {
  CheckBlocks blocks;
  const bool counts =
      session == nullptr ||
      (session->BlockCounts(&blocks.requests, &blocks.misses) && blocks.requests != 0);
  if (counts) blocks.checks = 1;
  return blocks;
}

}  // namespace

OpKind VerifyOp() {
  static const OpKind op = DefineOp("verify", Ground::kBackground);
  return op;
}

// Returns whether the answer is right. Returns true, too, when it could not be checked because the
// server was lost meanwhile.
bool Performer::IsRight(Client& client, size_t i) const {
  const IoScope scope(verify_);
  try {
    return client.Verify(i);
  } catch (const LostAnswer& lost) {
    if (!goes_on_) FailUnanswered(lost);
    return true;
  }
}

void Performer::Check(Client& client, size_t i, Worker* worker) const {
  worker->verified.Add(1);
  const CheckBlocks before = AskedSoFar(worker->session);
  const bool right = IsRight(client, i);
  const CheckBlocks after = AskedSoFar(worker->session);
  worker->counted_checks.Add(after.checks);
  worker->check_requests.Add(after.requests - before.requests);
  worker->check_misses.Add(after.misses - before.misses);
  if (right) return;
  if (worker->wrong.Get() == 0) {
    worker->first_wrong = engine_.name() + " answered a " +
                          OpName(workload_.ops()[client.OpOf(i)]) +
                          " wrongly: the value found is not the one that belongs to the key";
  }
  worker->wrong.Add(1);
}

void Performer::FailUnanswered(const LostAnswer& lost) const {
  throw lost.With(std::string(lost.what()) + "; " + workload_.name() +
                  " does not go on without the answer");
}

void AddAddresses(const std::vector<ServerAddress>& addresses,
                  const std::vector<std::unique_ptr<Worker>>& workers, size_t first,
                  PhaseResult* result) {
  for (const ServerAddress& address : addresses) {
    result->addresses.push_back({.name = address.name});
  }
  for (size_t t = 0; !addresses.empty() && t < workers.size(); ++t) {
    PhaseResult::Address& of_thread = result->addresses[(first + t) % addresses.size()];
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
  result->preparing_seconds += static_cast<double>(Clock::Get().ToNs(worker.preparing)) / 1e9;
  result->totals += worker.totals;
  result->verified += worker.verified.Get();
  result->wrong += worker.wrong.Get();
  result->checks += worker.checks();
  if (result->first_wrong.empty()) result->first_wrong = worker.first_wrong;
  result->backlog_seconds =
      std::max(result->backlog_seconds, static_cast<double>(worker.backlog_ns) / 1e9);
}

uint64_t PerformedBy(const std::vector<std::unique_ptr<Worker>>& workers, size_t threads) {
  uint64_t performed = 0;
  for (size_t t = 0; t < threads; ++t) {
    for (const std::unique_ptr<Worker::Op>& op : workers[t]->ops) {
      performed += op->count.Get() + op->unanswered.Get();
    }
  }
  return performed;
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
  CheckBlocks checks;
  for (const auto& worker : workers_) checks += worker->checks();
  interval.checks = {checks.checks - last_checks_.checks, checks.requests - last_checks_.requests,
                     checks.misses - last_checks_.misses};
  last_checks_ = checks;
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

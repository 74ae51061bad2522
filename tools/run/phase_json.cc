#include "tools/run/phase_json.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "tools/run/readahead_model.h"
#include "workloads/measure/histogram.h"
#include "workloads/measure/meter.h"

namespace testbed {
namespace {

using nlohmann::json;

json LatencyJson(const HistogramCounts& h) {
  auto us = [](uint64_t ns) { return static_cast<double>(ns) / 1000; };
  return {{"mean", h.mean_ns() / 1000},
          {"p50", us(h.Percentile(0.5))},
          {"p90", us(h.Percentile(0.9))},
          {"p99", us(h.Percentile(0.99))},
          {"p999", us(h.Percentile(0.999))},
          {"p9999", us(h.Percentile(0.9999))},
          {"max", us(h.max_ns())}};
}

json SeriesJson(const std::vector<Interval>& series, const std::vector<OpKind>& ops) {
  json j = json::array();
  for (const Interval& i : series) {
    json by_operation = json::array();
    for (size_t k = 0; ops.size() > 1 && k < ops.size(); ++k) {
      by_operation.push_back({{"name", OpName(ops[k])},
                              {"count", i.counts[k]},
                              {"max_us", static_cast<double>(i.max_latency_ns[k]) / 1000}});
    }
    j.push_back({{"end_seconds", i.end_seconds},
                 {"operations", i.operations},
                 {"p50_us", static_cast<double>(i.p50_ns) / 1000},
                 {"p99_us", static_cast<double>(i.p99_ns) / 1000},
                 {"max_us", static_cast<double>(i.max_ns) / 1000},
                 {"device_reads", i.device_reads},
                 {"device_read_bytes", i.device_read_bytes},
                 {"device_writes", i.device_writes},
                 {"device_write_bytes", i.device_write_bytes},
                 {"host_context_switches", i.host_context_switches},
                 {"host_user_seconds", i.host_user_seconds},
                 {"host_system_seconds", i.host_system_seconds},
                 {"resident_bytes", i.resident_bytes}});
    if (ops.size() > 1) j.back()["by_operation"] = std::move(by_operation);
  }
  return j;
}

// Returns, for rate, p99 and device reads, whether the series shows a steady state; null when the
// series is too short to tell.
json SteadyJson(const std::vector<Interval>& series) {
  std::vector<double> rate, p99, reads;
  double before = 0;
  for (const Interval& i : series) {
    const double seconds = i.end_seconds - before;
    before = i.end_seconds;
    if (seconds < 0.5) continue;  // the last interval of a phase may be too short for a rate
    rate.push_back(static_cast<double>(i.operations) / seconds);
    p99.push_back(static_cast<double>(i.p99_ns));
    reads.push_back(i.operations == 0
                        ? 0
                        : static_cast<double>(i.device_reads) / static_cast<double>(i.operations));
  }
  auto flag = [](const std::vector<double>& values, double tolerance) {
    const std::optional<bool> steady = Steady(values, tolerance);
    return steady ? json(*steady) : json();
  };
  return {{"rate", flag(rate, 0.05)}, {"p99", flag(p99, 0.2)}, {"device_reads", flag(reads, 0.05)}};
}

json OperationsJson(const PhaseResult& result) {
  json operations = json::array();
  for (const PhaseResult::Op& op : result.ops) {
    if (op.count == 0) continue;
    json o = {{"name", OpName(op.op)},
              {"count", op.count},
              {"rate", static_cast<double>(op.count) / result.seconds},
              {"latency_us", LatencyJson(op.latency)},
              {"latency_ns_histogram", op.latency.Buckets()}};
    if (op.intended.count() != 0) o["latency_from_intended_us"] = LatencyJson(op.intended);
    operations.push_back(std::move(o));
  }
  return operations;
}

}  // namespace

json PhaseJson(const std::string& name, const std::string& kind, const PhaseOptions& options,
               const std::vector<OpKind>& ops, const PhaseResult& result) {
  json j = {{"name", name},
            {"kind", kind},
            {"threads", options.threads},
            {"seconds", result.seconds},
            {"host_cpus", ::sysconf(_SC_NPROCESSORS_ONLN)},
            {"foreign_cpu_share", ForeignCpuJson(result.cpu_begin, result.cpu_end)},
            {"thread_operations", result.thread_operations},
            {"thread_seconds", result.thread_seconds},
            {"count", result.operations()},
            {"rate", static_cast<double>(result.operations()) / result.seconds},
            {"rows_read", result.totals.rows_read},
            {"rows_written", result.totals.rows_written},
            {"rows_inserted", result.totals.rows_inserted},
            {"rows_erased", result.totals.rows_erased},
            {"not_found", result.totals.not_found},
            {"user_bytes_written", result.totals.user_bytes_written},
            {"verified", result.verified},
            {"wrong", result.wrong},
            {"partial", result.partial},
            {"steady", SteadyJson(result.series)},
            {"series", SeriesJson(result.series, ops)},
            {"operations", OperationsJson(result)}};
  if (!result.ended_because.empty()) j["ended_because"] = result.ended_because;
  if (options.rate > 0) j["target_rate"] = options.rate;
  // A workload may set rates for some of its threads, so --rate alone does not decide this.
  const bool rated = std::any_of(result.ops.begin(), result.ops.end(),
                                 [](const auto& op) { return op.intended.count() != 0; });
  if (rated) j["backlog_seconds"] = result.backlog_seconds;
  return j;
}

json ForeignCpuJson(const CpuUse& before, const CpuUse& after) {
  const std::optional<double> share =
      ForeignCpuShare(before, after, ::sysconf(_SC_NPROCESSORS_ONLN));
  return share ? json(*share) : json();
}

json MemoryJson(const MemoryBudget& budget, uint64_t engine_cache) {
  const MemoryParts parts = budget.Parts(engine_cache);
  const MemoryUsage usage = budget.Usage();
  json j = {{"limit", parts.limit},
            {"engine_cache", parts.engine_cache},
            {"process_other", parts.process_other},
            {"page_cache", parts.page_cache},
            {"kernel", parts.kernel},
            {"unused", parts.unused},
            {"unaccounted", parts.unaccounted()},
            {"peak", usage.peak},
            {"dirty", usage.dirty},
            {"limit_hits", usage.failcnt}};
  if (parts.process_check) j["process_check"] = *parts.process_check;
  return j;
}

json ReadaheadModelJson(const ReadTrace::Recording& recording, uint64_t operations,
                        uint64_t cache_bytes, bool random) {
  json j = {{"reads_recorded", recording.reads.size()},
            {"reads_dropped", recording.dropped},
            {"cache_bytes", cache_bytes},
            {"settings", json::array()}};
  const size_t half = recording.reads.size() / 2;
  for (const uint64_t kb : {0, 4, 8, 16, 32, 64, 128}) {
    ReadaheadModel model(
        {.read_ahead_bytes = kb << 10, .cache_bytes = cache_bytes, .random = random});
    for (size_t i = 0; i < recording.reads.size(); ++i) {
      const ReadTrace::Read& read = recording.reads[i];
      if (i == half) model.ResetTotals();
      read.mapped ? model.Touch(read.file, read.offset, read.bytes)
                  : model.Read(read.file, read.offset, read.bytes);
    }
    const ReadaheadModel::Totals& t = model.totals();
    const uint64_t all = recording.reads.size() + recording.dropped;
    const double counted = all == 0 ? 0
                                    : static_cast<double>(operations) *
                                          static_cast<double>(t.calls) / static_cast<double>(all);
    j["settings"].push_back({{"name", fmt::format("{}k", kb)},
                             {"read_ahead_kb", kb},
                             {"reads", t.reads},
                             {"read_bytes", t.read_bytes},
                             {"operations", counted}});
  }
  return j;
}

}  // namespace testbed

#include "tools/run/run_json.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "tools/report/figures.h"
#include "tools/report/insert_benchmark_metrics.h"
#include "workloads/measure/histogram.h"
#include "workloads/measure/meter.h"

namespace testbed {
namespace {

using nlohmann::json;

// Returns the figures of the latencies of so many operations; each is null when there are none.
// They have a count of their own where some operations are in no latency.
json LatencyJson(const HistogramCounts& h, uint64_t operations) {
  const auto us = [&h](double ns) { return h.count() == 0 ? json() : json(ns / 1000); };
  const auto percentile = [&](double share) {
    return us(static_cast<double>(h.Percentile(share)));
  };
  json j = {{"mean", us(h.mean_ns())},
            {"p50", percentile(0.5)},
            {"p90", percentile(0.9)},
            {"p99", percentile(0.99)},
            {"p999", percentile(0.999)},
            {"p9999", percentile(0.9999)},
            {"max", us(static_cast<double>(h.max_ns()))}};
  if (h.count() != 0 && h.count() != operations) j["count"] = h.count();
  return j;
}

// Returns a latency of a second in microseconds; null when the second has none, or none is known:
// its Interval has 0 for all of them then.
json OfSecondJson(uint64_t ns) { return ns == 0 ? json() : json(static_cast<double>(ns) / 1000); }

json BackgroundJson(const std::vector<BackgroundWork>& background) {
  json j = json::array();
  for (const BackgroundWork& work : background) {
    j.push_back({{"name", OpName(work.op)},
                 {"read_bytes", work.read_bytes},
                 {"write_bytes", work.write_bytes}});
  }
  return j;
}

json SeriesJson(const std::vector<Interval>& series, const std::vector<OpKind>& ops) {
  json j = json::array();
  for (const Interval& i : series) {
    json by_operation = json::array();
    for (size_t k = 0; ops.size() > 1 && k < ops.size(); ++k) {
      by_operation.push_back({{"name", OpName(ops[k])},
                              {"count", i.counts[k]},
                              {"max_us", OfSecondJson(i.max_latency_ns[k])}});
    }
    j.push_back({{"end_seconds", i.end_seconds},
                 {"operations", i.operations},
                 {"p50_us", OfSecondJson(i.p50_ns)},
                 {"p99_us", OfSecondJson(i.p99_ns)},
                 {"max_us", OfSecondJson(i.max_ns)},
                 {"device_reads", i.device_reads},
                 {"device_read_bytes", i.device_read_bytes},
                 {"device_writes", i.device_writes},
                 {"device_write_bytes", i.device_write_bytes},
                 {"host_context_switches", i.host_context_switches},
                 {"host_user_seconds", i.host_user_seconds},
                 {"host_system_seconds", i.host_system_seconds},
                 {"resident_bytes", i.resident_bytes != 0 ? json(i.resident_bytes) : json()}});
    if (ops.size() > 1) j.back()["by_operation"] = std::move(by_operation);
    if (!i.background.empty()) j.back()["background"] = BackgroundJson(i.background);
    if (!i.memory) continue;
    j.back()["process_memory_bytes"] = i.memory->anon + i.memory->shmem;
    j.back()["page_cache_bytes"] = i.memory->file;
    j.back()["kernel_memory_bytes"] = i.memory->kernel;
    j.back()["limit_hits"] = i.memory->failcnt;
    j.back()["refaults"] = i.memory->refaults;
  }
  return j;
}

// Returns, for rate, p99 and the run's own device reads, whether the series shows a steady state;
// null when the series is too short to tell.
json SteadyJson(const std::vector<Interval>& series) {
  std::vector<double> rate, p99, reads;
  double before = 0;
  for (const Interval& i : series) {
    const double seconds = i.end_seconds - before;
    before = i.end_seconds;
    if (seconds < 0.5) continue;  // the last interval of a phase may be too short for a rate
    rate.push_back(static_cast<double>(i.operations) / seconds);
    if (KnowsLatency(i)) p99.push_back(static_cast<double>(i.p99_ns));
    if (i.operations == 0) continue;  // such a second has no reads per operation
    // The device and the kernel account are read one after the other, so the difference may be
    // below 0.
    const auto own = static_cast<int64_t>(i.device_reads - i.other_programs.reads);
    reads.push_back(static_cast<double>(std::max<int64_t>(own, 0)) /
                    static_cast<double>(i.operations));
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
              {"latency_us", LatencyJson(op.latency, op.count)},
              {"latency_ns_histogram", op.latency.Buckets()}};
    if (op.intended.count() != 0) {
      const HistogramCounts from_intended = op.FromIntended();
      o["latency_from_intended_us"] = LatencyJson(from_intended, from_intended.count());
      o["latency_from_intended_us"]["count"] = from_intended.count();
      o["latency_from_intended_ns_histogram"] = from_intended.Buckets();
    }
    operations.push_back(std::move(o));
  }
  return operations;
}

// Returns an entry for each kind of operation of which some got no answer.
json UnansweredJson(const PhaseResult& result) {
  json all = json::array();
  for (const PhaseResult::Op& op : result.ops) {
    if (op.unanswered == 0) continue;
    all.push_back({{"name", OpName(op.op)},
                   {"count", op.unanswered},
                   {"max_us", static_cast<double>(op.longest_unanswered_ns) / 1000}});
  }
  return all;
}

json AddressClientsJson(const PhaseResult& result) {
  json all = json::array();
  for (const PhaseResult::Address& address : result.addresses) {
    all.push_back({{"address", address.name},
                   {"threads", address.threads},
                   {"count", address.count},
                   {"rate", static_cast<double>(address.count) / result.seconds},
                   {"unanswered", address.unanswered},
                   {"latency_us", LatencyJson(address.latency, address.count)}});
  }
  return all;
}

json ClockJson(const ClockOffset& clock) {
  return {{"offset_us", static_cast<double>(clock.wall_ns) / 1000},
          {"error_us", static_cast<double>(clock.error_ns) / 1000}};
}

// Returns an entry for each task of a run of several.
json TasksJson(const std::vector<TaskFigures>& tasks) {
  json all = json::array();
  for (const TaskFigures& task : tasks) {
    const std::optional<double>& foreign = task.foreign_cpu_share;
    const std::optional<double>& steal = task.steal_share;
    const int64_t drift_ns = task.clock_after.ns - task.clock_before.ns;
    all.push_back({{"task", task.task},
                   {"host", task.host},
                   {"threads", task.threads},
                   {"seconds", task.seconds},
                   {"count", task.count},
                   {"rate", task.seconds > 0 ? static_cast<double>(task.count) / task.seconds : 0},
                   {"unanswered", task.unanswered},
                   {"latency_us", LatencyJson(task.latency, task.count)},
                   {"foreign_cpu_share", foreign ? json(*foreign) : json()},
                   {"steal_share", steal ? json(*steal) : json()},
                   {"clock_before", ClockJson(task.clock_before)},
                   {"clock_after", ClockJson(task.clock_after)},
                   {"drift_us", static_cast<double>(drift_ns) / 1000},
                   {"began_late_us", static_cast<double>(task.late_ns) / 1000}});
  }
  return all;
}

const char* KindName(PhaseKind kind) {
  static constexpr const char* kNames[] = {"load", "measure", "warm-up", "tune", "settle", "count"};
  return kNames[static_cast<size_t>(kind)];
}

// Adds what the clients of a workload did.
void PutWork(const PhaseRecord::Work& work, json* phase) {
  const PhaseResult& result = work.result;
  phase->update({{"threads", work.threads},
                 {"host_cpus", ::sysconf(_SC_NPROCESSORS_ONLN)},
                 {"thread_operations", result.thread_operations},
                 {"thread_seconds", result.thread_seconds},
                 {"preparing_seconds", result.preparing_seconds},
                 {"count", result.operations()},
                 {"rate", static_cast<double>(result.operations()) / result.seconds},
                 {"rows_read", result.totals.rows_read},
                 {"rows_written", result.totals.rows_written},
                 {"not_found", result.totals.not_found},
                 {"user_bytes_written", result.totals.user_bytes_written},
                 {"verified", result.verified},
                 {"wrong", result.wrong},
                 {"partial", result.partial},
                 {"steady", SteadyJson(result.series)},
                 {"series", SeriesJson(result.series, work.ops)},
                 {"operations", OperationsJson(result)}});
  if (!result.totals.rows_unknown) {
    (*phase)["rows_inserted"] = result.totals.rows_inserted;
    (*phase)["rows_erased"] = result.totals.rows_erased;
  }
  if (!result.ended_because.empty()) (*phase)["ended_because"] = result.ended_because;
  if (result.unanswered() != 0) (*phase)["unanswered"] = UnansweredJson(result);
  if (!result.addresses.empty()) (*phase)["addresses"] = AddressClientsJson(result);
  if (work.target_rate > 0) {
    (*phase)["target_rate"] = work.target_rate;
    (*phase)["clients_rate"] =
        static_cast<double>(result.operations() - result.extra_operations) / result.seconds;
  }
  // A workload may set rates for some of its threads, so --rate alone does not decide this.
  if (result.due_operations() != 0) {
    (*phase)["backlog_seconds"] = result.backlog_seconds;
    (*phase)["lateness_us"] = LatencyJson(result.lateness, result.lateness.count());
    if (result.knows_undone) {
      (*phase)["due_operations"] = result.due_operations();
      (*phase)["undone_operations"] = result.undone.count();
    }
  }
  if (!work.details.is_null()) (*phase)["details"] = work.details;
}

// Removes the figures of the device from a phase's seconds where its statistics are not known: 0
// would be a figure.
void DropDevice(json* phase) {
  for (json& second : (*phase)["series"]) {
    for (const char* figure :
         {"device_reads", "device_read_bytes", "device_writes", "device_write_bytes"}) {
      second.erase(figure);
    }
  }
  (*phase)["steady"]["device_reads"] = nullptr;
}

// Adds the requests of other programs to a phase's seconds. A number of requests may be below 0
// (BlockCounts).
void PutOtherPrograms(const std::vector<Interval>& series, json* phase) {
  const auto figure = [](uint64_t n) { return static_cast<int64_t>(n); };
  for (size_t i = 0; i < series.size(); ++i) {
    const BlockCounts& other = series[i].other_programs;
    (*phase)["series"][i].update({{"other_reads", figure(other.reads)},
                                  {"other_read_bytes", figure(other.read_bytes)},
                                  {"other_writes", figure(other.writes)},
                                  {"other_write_bytes", figure(other.write_bytes)}});
  }
}

void PutMemory(const PhaseRecord::Memory& memory, json* j) {
  const MemoryParts& parts = memory.parts;
  j->update({{"limit", parts.limit},
             {"engine_cache", memory.knows_cache ? json(parts.engine_cache) : json()},
             {"process_other", parts.process_other},
             {"page_cache", parts.page_cache},
             {"kernel", parts.kernel},
             {"unused", parts.unused},
             {"unaccounted", parts.unaccounted()},
             {"peak", memory.usage.peak != 0 ? json(memory.usage.peak) : json()},
             {"dirty", memory.usage.dirty},
             {"limit_hits", memory.usage.failcnt}});
  if (parts.process_check) (*j)["process_check"] = *parts.process_check;
}

json ReadaheadJson(const Readahead2014& readahead) {
  json j = {{"reads_recorded", readahead.reads_recorded},
            {"reads_dropped", readahead.reads_dropped},
            {"cache_bytes", readahead.cache_bytes},
            {"settings", json::array()}};
  for (const Readahead2014::Setting& setting : readahead.settings) {
    j["settings"].push_back({{"name", fmt::format("{}k", setting.read_ahead_kb)},
                             {"read_ahead_kb", setting.read_ahead_kb},
                             {"reads", setting.reads},
                             {"read_bytes", setting.read_bytes},
                             {"operations", setting.operations}});
  }
  return j;
}

json TuningJson(const CacheTuning& tuning) {
  const auto told = [](bool known, double figure) { return known ? json(figure) : json(); };
  json j = {{"name", tuning.workload},
            {"start_pct", tuning.start_pct},
            {"chosen_pct", tuning.chosen_pct},
            {"trials", json::array()}};
  for (const CacheTrial& trial : tuning.trials) {
    j["trials"].push_back(
        {{"cache_pct", trial.cache_pct},
         {"times", trial.times},
         {"rate", trial.measured.rate},
         {"engine_misses_per_operation", told(trial.knows_misses, trial.measured.engine_misses)},
         {"device_reads_per_operation", told(trial.knows_device, trial.measured.device_reads)},
         {"cpu_us_per_operation", trial.measured.cpu_seconds * 1e6},
         {"device_us_per_operation", told(trial.knows_device, trial.measured.device_seconds * 1e6)},
         {"other_bytes", told(trial.knows_memory, trial.other_bytes)}});
  }
  if (!tuning.prediction.is_null()) j["prediction"] = tuning.prediction;
  return j;
}

json AccountingJson(const RunAccounting& accounting) {
  return {{"depth", accounting.depth},
          {"grade", std::string(1, accounting.grade.letter)},
          {"grade_reasons", accounting.grade.reasons},
          {"kernel_account", accounting.in_kernel},
          {"missing", accounting.missing},
          {"harness_ns_per_operation", accounting.harness_ns_per_operation},
          {"clock", accounting.clock_is_tsc ? "tsc" : "clock_gettime"},
          {"latency_relative_error", Histogram::kRelativeError}};
}

}  // namespace

json PhaseJson(const PhaseRecord& phase) {
  json j = {
      {"name", phase.name},
      {"kind", KindName(phase.kind)},
      {"seconds", phase.seconds},
      {"foreign_cpu_share", phase.foreign_cpu_share ? json(*phase.foreign_cpu_share) : json()},
      {"steal_share", phase.steal_share ? json(*phase.steal_share) : json()},
      {"account", AccountJson(phase.account)},
      {"grade", std::string(1, phase.grade.letter)},
      {"grade_reasons", phase.grade.reasons},
      {"database_bytes", phase.database_bytes},
      {"log_file_bytes", phase.log_file_bytes}};
  if (phase.cache_pct) j["cache_pct"] = *phase.cache_pct;
  if (phase.work) PutWork(*phase.work, &j);
  if (phase.work && !phase.account.device) DropDevice(&j);
  if (phase.work && phase.account.device && phase.account.counts_in_kernel) {
    PutOtherPrograms(phase.work->result.series, &j);
  }
  if (!phase.tasks.empty()) j["tasks"] = TasksJson(phase.tasks);
  if (phase.counted) {
    if (phase.counted->rows) j["rows"] = *phase.counted->rows;
    if (phase.counted->stopped) j["partial"] = true;
  }
  if (phase.readahead) j["readahead_2014"] = ReadaheadJson(*phase.readahead);
  if (phase.held) j["memory"] = HeldJson(phase.held->watched, phase.held->reads_page_cache);
  if (phase.memory) PutMemory(*phase.memory, &j["memory"]);
  if (json own = OwnDeviceJson(j["account"]); !own.is_null()) j["account"]["own"] = std::move(own);
  if (json metrics = InsertBenchmarkMetrics(j); !metrics.is_null()) {
    j["details"]["metrics"] = std::move(metrics);
  }
  // The histograms and series of a trial are left out, because there are many trials and no report
  // uses them.
  if (phase.kind == PhaseKind::kTune) {
    for (const char* part : {"operations", "series"}) j[part] = json::array();
  }
  return j;
}

json RunJson(const RunRecord& run) {
  json j = {{"threads", run.threads}, {"repeat", run.repeat}};
  if (run.accounting) j["accounting"] = AccountingJson(*run.accounting);
  if (run.engine) {
    j["engine"] = {{"name", run.engine->name},
                   {"version", run.engine->version},
                   {"effective", run.engine->effective}};
  }
  for (const CacheTuning& tuning : run.cache_tunings) {
    const bool last = &tuning == &run.cache_tunings.back();
    if (last) j["cache_tuning"] = TuningJson(tuning);
    if (!last) j["earlier_cache_tunings"].push_back(TuningJson(tuning));
  }
  for (const FoundRate& found : run.found_rates) j["find_rate"].push_back(found.ToJson());
  if (run.database_size) {
    j["database"] = {{"bytes", run.database_size->total()},
                     {"log_bytes", run.database_size->log_bytes}};
    if (run.database_rows) j["database"]["rows"] = *run.database_rows;
  }
  if (run.partial) j["partial"] = *run.partial;
  if (!run.population.is_null()) j["population"] = run.population;
  if (run.writing_phases) j["writing_phases"] = *run.writing_phases;
  if (run.error) {
    j["error"] = {{"sentence", run.error->sentence}, {"exit_code", run.error->exit_code}};
  }
  return j;
}

}  // namespace testbed

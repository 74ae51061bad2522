#include "tools/statistics/metrics.h"

#include <algorithm>
#include <cmath>

#include "tools/report/figures.h"
#include "workloads/measure/histogram.h"

namespace testbed {
namespace {

using nlohmann::json;

// Returns the sum of a figure over all causes and all other threads of the phase, except the
// threads of other programs; NaN when no cause has the figure.
double SumOfCauses(const json& phase, const std::string& path) {
  double sum = std::nan("");
  const json none = json::array();
  for (const char* list : {"causes", "other_threads"}) {
    for (const json& cause : phase.at("account").value(list, none)) {
      if (IsOfOtherProgram(cause)) continue;
      const double value = Number(cause, path);
      if (std::isfinite(value)) sum = (std::isfinite(sum) ? sum : 0) + value;
    }
  }
  return sum;
}

// Adds the latencies from the actual start and, of an open loop, those from the intended start.
void AddLatency(const json& operation, std::map<std::string, double>* metrics) {
  for (const std::string figure : {"mean", "p50", "p99", "p999"}) {
    (*metrics)[figure] = Number(operation, "/latency_us/" + figure);
    (*metrics)["intended_" + figure] = Number(operation, "/latency_from_intended_us/" + figure);
  }
}

void AddAccount(const json& phase, std::map<std::string, double>* metrics) {
  const double count = ChargedOperations(phase);
  const auto each = [&](const char* name, double value) { (*metrics)[name] = value / count; };
  each("cpu_us", 1e6 * (Number(phase, "/account/cpu_user_seconds") +
                        Number(phase, "/account/cpu_system_seconds")));
  each("engine_asks", Number(phase, "/account/engine/block_requests"));
  each("engine_misses", EngineMisses(phase.at("account")));
  for (const std::string figure : {"reads", "read_bytes", "writes", "write_bytes"}) {
    each(("file_" + figure).c_str(), SumOfCauses(phase, "/file/" + figure));
    each(("kernel_" + figure).c_str(), SumOfCauses(phase, "/kernel/" + figure));
  }
  for (const std::string figure : {"round_trips", "sent_bytes", "received_bytes"}) {
    each(("wire_" + figure).c_str(), SumOfCauses(phase, "/wire/" + figure));
  }
  const DeviceIo device = OwnDeviceIo(phase.at("account"));
  each("device_reads", device.reads);
  each("device_read_bytes", device.read_bytes);
  each("device_writes", device.writes);
  each("device_write_bytes", device.write_bytes);
  const double user = Number(phase, "/user_bytes_written");
  if (user > 0) (*metrics)["write_amplification"] = device.write_bytes / user;
}

void RemoveUnknown(std::map<std::string, double>* metrics) {
  std::erase_if(*metrics, [](const auto& metric) { return !std::isfinite(metric.second); });
}

std::vector<Metric> MakeMetrics() {
  // The mean is computed from exact times. A percentile is the middle of a histogram bucket, which
  // is at least a nanosecond wide.
  const double coarse = Histogram::kRelativeError, grain = 0.001;
  std::vector<Metric> all = {
      {"rate", "operations per second", true, 0, false, true},
      {"mean", "mean latency in microseconds", false, 0, false, true},
      {"p50", "median of the latency in microseconds", false, coarse, false, true, grain},
      {"p99", "99th percentile of the latency in microseconds", false, coarse, false, true, grain},
      {"p999", "99.9th percentile of the latency in microseconds", false, coarse, false, true,
       grain},
      {"intended_mean", "mean latency in microseconds from the intended start, of an open loop",
       false, 0, false, true},
      {"intended_p50", "median of the latency in microseconds from the intended start", false,
       coarse, false, true, grain},
      {"intended_p99", "99th percentile of the latency in microseconds from the intended start",
       false, coarse, false, true, grain},
      {"intended_p999", "99.9th percentile of the latency in microseconds from the intended start",
       false, coarse, false, true, grain},
      {"cpu_us", "processor time of the run per operation, in microseconds"},
      {"engine_asks", "blocks asked of the engine's cache per operation", false, 0, true},
      {"engine_misses", "blocks that the engine's cache did not hold, per operation", false, 0,
       true}};
  const auto count = [&](const std::string& name, const std::string& meaning) {
    all.push_back({name, meaning, false, 0, true});
  };
  for (const std::string level : {"file", "kernel", "device"}) {
    const std::string at = " at the level of the " + level + " per operation";
    count(level + "_reads", "reads" + at);
    count(level + "_read_bytes", "bytes read" + at);
    count(level + "_writes", "writes" + at);
    count(level + "_write_bytes", "bytes written" + at);
  }
  count("wire_round_trips", "waits of the client for an answer of its server, per operation");
  count("wire_sent_bytes", "bytes that the client sent to its server, per operation");
  count("wire_received_bytes", "bytes that the client received from its server, per operation");
  count("write_amplification",
        "bytes that the device wrote per byte that the user wrote, in compare and history with "
        "those of the settle behind the phase");
  count("size", "bytes of the database on disk at the end of the phase, the write-ahead log apart");
  all.push_back({"memory_held", "bytes of memory that the run held on the mean of the phase"});
  return all;
}

}  // namespace

const std::vector<Metric>& Metrics() {
  static const auto* metrics = new std::vector<Metric>(MakeMetrics());
  return *metrics;
}

const Metric* FindMetric(const std::string& name) {
  const auto found = std::find_if(Metrics().begin(), Metrics().end(),
                                  [&](const Metric& metric) { return metric.name == name; });
  return found == Metrics().end() ? nullptr : &*found;
}

std::string KindOf(const std::string& metric) {
  const size_t dot = metric.rfind('.');
  return dot == std::string::npos ? "" : metric.substr(0, dot);
}

std::optional<Metric> MetricNamed(const std::string& name) {
  const size_t dot = name.rfind('.');
  const Metric* found = FindMetric(dot == std::string::npos ? name : name.substr(dot + 1));
  if (found == nullptr) return std::nullopt;
  if (dot != std::string::npos && (dot == 0 || !found->by_kind)) return std::nullopt;
  Metric metric = *found;
  if (dot != std::string::npos) metric.meaning += ", of " + KindOf(name) + " alone";
  metric.name = name;
  return metric;
}

std::string MetricNames() {
  std::string names;
  for (const Metric& metric : Metrics()) names += (names.empty() ? "" : ", ") + metric.name;
  return names;
}

std::string MetricNamesOfKinds() {
  std::string names;
  for (const Metric& metric : Metrics()) {
    if (metric.by_kind) names += (names.empty() ? "" : ", ") + metric.name;
  }
  return names;
}

std::map<std::string, std::map<std::string, double>> MetricsOf(const json& phase, size_t kinds) {
  std::map<std::string, std::map<std::string, double>> all;
  std::map<std::string, double>& whole = all[""];
  whole["rate"] = Number(phase, "/rate");
  whole["size"] = PhaseDataBytes(phase);
  whole["memory_held"] = Number(phase, "/memory/held_mean");
  AddAccount(phase, &whole);
  const json& operations = phase.at("operations");
  for (const json& operation : operations) {
    if (std::max(kinds, operations.size()) == 1) {
      AddLatency(operation, &whole);
      continue;
    }
    std::map<std::string, double>& own = all[operation.at("name")];
    own["rate"] = Number(operation, "/rate");
    AddLatency(operation, &own);
  }
  for (auto& [name, metrics] : all) RemoveUnknown(&metrics);
  return all;
}

}  // namespace testbed

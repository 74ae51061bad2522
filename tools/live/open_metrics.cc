#include "tools/live/open_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tools/live/seconds.h"
#include "tools/output/json_text.h"

namespace testbed {
namespace {

struct Family {
  const char* name;
  const char* type;
  const char* unit;  // the last part of the name; null: none
  const char* help;
};

constexpr std::array kFamilies = {
    Family{"testbed_build", "info", nullptr, "The program."},
    Family{"testbed_operations", "counter", nullptr, "Operations of the clients."},
    Family{"testbed_operations_per_second", "gauge", nullptr, "Rate of the last second."},
    Family{"testbed_latency_seconds", "gauge", "seconds",
           "Latency of the operations of the last second, commit included; percentile 100 is the "
           "slowest, and NaN one that fewer than ten operations exceeded."},
    Family{"testbed_stalled_seconds", "counter", "seconds",
           "Seconds in which the rate fell below a tenth of the phase's median, an operation "
           "ended that took a second or longer, or the run stood still."},
    Family{"testbed_report_age_seconds", "gauge", "seconds",
           "Time since the run last reported; above 2 it stands still."},
    Family{"testbed_phase_seconds", "gauge", "seconds", "How long the phase has lasted."},
    Family{"testbed_phase_done_ratio", "gauge", "ratio", "Share of the phase that is done."},
    Family{"testbed_file_calls", "counter", nullptr, "Calls that reached the engine's files."},
    Family{"testbed_file_bytes", "counter", "bytes", "Bytes of these calls."},
    Family{"testbed_kernel_requests", "counter", nullptr,
           "Requests that the kernel made to block devices."},
    Family{"testbed_kernel_bytes", "counter", "bytes", "Bytes of these requests."},
    Family{"testbed_device_requests", "counter", nullptr,
           "Requests of the whole device, by its own statistics."},
    Family{"testbed_device_bytes", "counter", "bytes", "Bytes of these requests."},
    Family{"testbed_memory_bytes", "gauge", "bytes", "What the memory budget holds, by part."},
    Family{"testbed_memory_reclaims", "counter", nullptr,
           "Times that memory had to be reclaimed to stay within the budget."},
    Family{"testbed_memory_refaults", "counter", nullptr,
           "Pages of files that were read again soon after they were evicted."},
    Family{"testbed_resident_memory_bytes", "gauge", "bytes",
           "Memory that the run's process and a server of its own hold."}};

std::string LabelValue(const std::string& value) {
  std::string text;
  for (const char c : Utf8Text(value)) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return text;
}

std::string SampleName(const Family& family) {
  const std::string_view type = family.type;
  return std::string(family.name) + (type == "counter" ? "_total" : type == "info" ? "_info" : "");
}

std::string SampleValue(double value) {
  if (std::isnan(value)) return "NaN";
  return fmt::format("{}", value);
}

}  // namespace

std::vector<std::string> OpenMetrics::SampleNames() {
  std::vector<std::string> names;
  for (const Family& family : kFamilies) names.push_back(SampleName(family));
  return names;
}

OpenMetrics::Labels OpenMetrics::With(
    const std::vector<std::pair<std::string, std::string>>& more) const {
  std::string text = fmt::format(R"({{engine="{}",threads="{}",phase="{}")",
                                 LabelValue(run_.engine), run_.threads, LabelValue(state_.phase()));
  for (const auto& [name, value] : more)
    text += fmt::format(R"(,{}="{}")", name, LabelValue(value));
  return text + "}";
}

void OpenMetrics::Begin(const RunLabels& run, const std::string& phase, double now) {
  run_ = run;
  state_.Begin("", phase, now);
  gauges_.clear();
}

void OpenMetrics::Add(const SecondReport& second, double now) {
  state_.Add(second, now);
  for (const SecondReport::Operation& o : second.by_operation) {
    counters_["testbed_operations"][With({{"operation", o.name}})] += static_cast<double>(o.count);
  }
  counters_["testbed_stalled_seconds"][With()] += state_.stalled() ? second.length : 0;
  AddCauses(second);
  AddSurroundings(second);
  SetGauges(second);
}

void OpenMetrics::AddCauses(const SecondReport& second) {
  const auto add = [this](const char* family, const SecondReport::Cause& cause, const char* what,
                          const char* name, uint64_t n) {
    counters_[family][With({{"cause", cause.name}, {"ground", cause.ground}, {what, name}})] +=
        static_cast<double>(n);
  };
  for (const SecondReport::Cause& c : second.causes) {
    if (second.counts_files && c.ground != "other") {
      add("testbed_file_calls", c, "call", "read", c.file.reads);
      add("testbed_file_calls", c, "call", "write", c.file.writes);
      add("testbed_file_calls", c, "call", "sync", c.file.syncs);
      add("testbed_file_bytes", c, "direction", "read", c.file.read_bytes);
      add("testbed_file_bytes", c, "direction", "write", c.file.write_bytes);
    }
    if (!second.counts_in_kernel) continue;
    AddRequests(c, "read", c.kernel.reads);
    AddRequests(c, "write", c.kernel.writes);
    add("testbed_kernel_bytes", c, "direction", "read", c.kernel.read_bytes);
    add("testbed_kernel_bytes", c, "direction", "write", c.kernel.write_bytes);
  }
}

// Adds the requests of a second, which may be below 0 (BlockCounts). A counter must not fall, so
// what it would fall by is taken from the seconds that follow.
void OpenMetrics::AddRequests(const SecondReport::Cause& cause, const char* direction, uint64_t n) {
  const Labels labels =
      With({{"cause", cause.name}, {"ground", cause.ground}, {"direction", direction}});
  double& owed = owed_requests_[labels];
  owed += static_cast<double>(static_cast<int64_t>(n));
  const double grown = std::max(0.0, owed);
  counters_["testbed_kernel_requests"][labels] += grown;
  owed -= grown;
}

void OpenMetrics::AddSurroundings(const SecondReport& second) {
  const auto add = [this](const char* family, const Labels& labels, uint64_t n) {
    counters_[family][labels] += static_cast<double>(n);
  };
  if (second.device) {
    const Labels read = With({{"direction", "read"}}), write = With({{"direction", "write"}});
    add("testbed_device_requests", read, second.device->reads);
    add("testbed_device_requests", write, second.device->writes);
    add("testbed_device_bytes", read, second.device->read_bytes);
    add("testbed_device_bytes", write, second.device->write_bytes);
  }
  if (second.memory) {
    add("testbed_memory_reclaims", With(), second.memory->limit_hits);
    add("testbed_memory_refaults", With(), second.memory->refaults);
  }
}

void OpenMetrics::SetGauges(const SecondReport& second) {
  if (second.ended && second.length < kShortestForRate && !gauges_.empty()) return;
  gauges_.clear();
  gauges_["testbed_operations_per_second"][With()] = second.rate();
  const std::pair<const char*, double> latencies[] = {{"50", second.p50_us},
                                                      {"99", second.p99_us},
                                                      {"99.9", second.p999_us},
                                                      {"100", second.max_us}};
  for (const auto& [percentile, us] : latencies) {
    gauges_["testbed_latency_seconds"][With({{"percentile", percentile}})] =
        us > 0 ? us / 1e6 : NAN;
  }
  gauges_["testbed_phase_seconds"][With()] = second.seconds;
  if (second.fraction >= 0) gauges_["testbed_phase_done_ratio"][With()] = second.fraction;
  if (second.resident_bytes > 0) {
    gauges_["testbed_resident_memory_bytes"][With()] = static_cast<double>(second.resident_bytes);
  }
  if (!second.memory) return;
  const std::pair<const char*, uint64_t> parts[] = {{"limit", second.memory->limit},
                                                    {"process", second.memory->process},
                                                    {"page_cache", second.memory->page_cache},
                                                    {"kernel", second.memory->kernel}};
  for (const auto& [part, bytes] : parts) {
    gauges_["testbed_memory_bytes"][With({{"part", part}})] = static_cast<double>(bytes);
  }
}

std::string OpenMetrics::Text(double now) const {
  std::string text;
  for (const Family& family : kFamilies) {
    text += fmt::format("# TYPE {} {}\n", family.name, family.type);
    if (family.unit != nullptr) text += fmt::format("# UNIT {} {}\n", family.name, family.unit);
    text += fmt::format("# HELP {} {}\n", family.name, family.help);
    const std::string name = family.name, sample = SampleName(family);
    if (name == "testbed_build") {
      text += fmt::format("{}{{version=\"{}\"}} 1\n", sample, LabelValue(version_));
    } else if (name == "testbed_report_age_seconds") {
      if (state_.last() && !state_.last()->ended) {
        text += fmt::format("{}{} {:.3f}\n", sample, With(), state_.Silence(now));
      }
    }
    for (const auto* all : {&counters_, &gauges_}) {
      const auto samples = all->find(name);
      if (samples == all->end()) continue;
      for (const auto& [labels, value] : samples->second) {
        text += fmt::format("{}{} {}\n", sample, labels, SampleValue(value));
      }
    }
  }
  return text + "# EOF\n";
}

}  // namespace testbed

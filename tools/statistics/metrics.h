// The metrics that are compared: their names, which are those of --metric and --fail-if, what they
// mean, and how they are found in a phase of a results document (docs/results.md). None of them
// counts the requests that other programs are known to have sent to the device.
//
// A metric of one kind of operation has the kind before its name, as "update.p99".
#ifndef TESTBED_TOOLS_STATISTICS_METRICS_H_
#define TESTBED_TOOLS_STATISTICS_METRICS_H_

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace testbed {

struct Metric {
  std::string name;     // "p99"
  std::string meaning;  // "99th percentile of the latency in microseconds"
  bool speed = false;   // more is better; of a metric without it, less is better
  // The relative step between values (CompareOptions::resolution).
  double resolution = 0;
  // A count of blocks, bytes or requests: it depends on the data and the settings, and hardly on
  // the speed of the machine. Loads of the same seed are therefore a pair, whenever they were made.
  bool counted = false;
  bool by_kind = false;  // each kind of operation has its own: the rate and the latencies
  double grain = 0;      // the absolute step between values (CompareOptions::grain)
};

// Returns all metrics, in the order in which they are shown.
const std::vector<Metric>& Metrics();
// Returns the metric of that name; null when there is none.
const Metric* FindMetric(const std::string& name);
// Returns the metric of that name, which may be one of one kind of operation: "update.p99" is p99
// under this name. Returns nothing when there is none, as "update.size". Whether the kind exists is
// not known here.
std::optional<Metric> MetricNamed(const std::string& name);
// Returns the kind of operation in a metric's name ("update" of "update.p99"); "" when the metric
// is of all operations together.
std::string KindOf(const std::string& metric);
// Returns all names, separated by ", ". MetricNamesOfKinds returns those that each kind of
// operation has.
std::string MetricNames();
std::string MetricNamesOfKinds();

// Returns the metrics of a phase by kind of operation. "" is the phase as a whole; a phase with one
// kind of operation has that alone, with its latencies, unless the workload had `kinds` kinds to
// perform, more than one. What is not known is left out. Throws nlohmann::json::exception for what
// is no phase.
std::map<std::string, std::map<std::string, double>> MetricsOf(const nlohmann::json& phase,
                                                               size_t kinds = 0);

}  // namespace testbed

#endif  // TESTBED_TOOLS_STATISTICS_METRICS_H_

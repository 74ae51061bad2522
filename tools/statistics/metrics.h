// The metrics that are compared: their names, which are those of --metric and --fail-if, what they
// mean, and how they are found in a phase of a results document (docs/results.md). None of them
// counts the requests that other programs are known to have sent to the device.
#ifndef TESTBED_TOOLS_STATISTICS_METRICS_H_
#define TESTBED_TOOLS_STATISTICS_METRICS_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace testbed {

struct Metric {
  std::string name;     // "p99"
  std::string meaning;  // "99th percentile of the latency, in microseconds"
  bool speed = false;   // more is better; of a metric without it, less is better
  // The relative step between values (CompareOptions::resolution).
  double resolution = 0;
  // A count of blocks, bytes or requests: it depends on the data and the settings, and hardly on
  // the speed of the machine. Loads of the same seed are therefore a pair, whenever they were made.
  bool counted = false;
};

// Returns all metrics, in the order in which they are shown.
const std::vector<Metric>& Metrics();
// Returns the metric of that name; null when there is none.
const Metric* FindMetric(const std::string& name);
// Returns all names, separated by ", ".
std::string MetricNames();

// Returns the metrics of a phase by kind of operation. "" is the phase as a whole; a phase with one
// kind of operation has that alone, with its latencies. What is not known is left out. Throws
// nlohmann::json::exception for what is no phase.
std::map<std::string, std::map<std::string, double>> MetricsOf(const nlohmann::json& phase);

}  // namespace testbed

#endif  // TESTBED_TOOLS_STATISTICS_METRICS_H_

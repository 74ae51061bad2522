// What --metrics serves: a run's figures so far in the text format of OpenMetrics 1.0, which
// Prometheus reads. docs/live.md lists the metrics.
//
//   OpenMetrics metrics("0.1.0");
//   metrics.Begin({.engine = "btree", .threads = 8}, "point-read", now);
//   metrics.Add(second, now);
//   Print(metrics.Text(now));
//
// Counters only grow while the program runs; gauges are of the phase under way. Not thread-safe.
#ifndef TESTBED_TOOLS_LIVE_OPEN_METRICS_H_
#define TESTBED_TOOLS_LIVE_OPEN_METRICS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tools/live/live_state.h"
#include "tools/live/second_report.h"

namespace testbed {

class OpenMetrics {
 public:
  static constexpr char kContentType[] =
      "application/openmetrics-text; version=1.0.0; charset=utf-8";
  struct RunLabels {
    std::string engine;
    int threads = 0;
  };
  explicit OpenMetrics(std::string version) : version_(std::move(version)) {}

  void Begin(const RunLabels& run, const std::string& phase, double now);
  void Add(const SecondReport& second, double now);
  // Returns all metrics. The age of the last report is computed from `now`.
  std::string Text(double now) const;
  // Returns the names of all samples that Text may have, such as testbed_operations_total.
  static std::vector<std::string> SampleNames();

 private:
  using Labels = std::string;  // the labels' text, with braces
  Labels With(const std::vector<std::pair<std::string, std::string>>& more = {}) const;
  void AddCauses(const SecondReport& second);
  void AddRequests(const SecondReport::Cause& cause, const char* direction, uint64_t n);
  void AddSurroundings(const SecondReport& second);
  void SetGauges(const SecondReport& second);

  const std::string version_;
  LiveState state_;
  RunLabels run_;
  std::map<std::string, std::map<Labels, double>> counters_, gauges_;  // by family
  std::map<Labels, double> owed_requests_;  // <= 0: what later seconds must make up for
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_LIVE_OPEN_METRICS_H_

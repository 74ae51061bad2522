#include "tools/output/statistics.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

namespace testbed {
namespace {

// Returns the two-sided 95 % quantile of Student's t for these degrees of freedom (any statistics
// table).
double StudentT95(size_t degrees) {
  static constexpr double kTable[] = {0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                                      2.306, 2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
                                      2.120, 2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069,
                                      2.064, 2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees < std::size(kTable)) return kTable[degrees];
  return 1.96 + 2.4 / static_cast<double>(degrees);  // within 0.1 % for these degrees
}

}  // namespace

Estimate EstimateMean(const std::vector<double>& values) {
  Estimate e;
  e.n = values.size();
  if (e.n == 0) return e;
  for (double v : values) e.mean += v;
  e.mean /= static_cast<double>(e.n);
  if (e.n < 2) return e;
  double squares = 0;
  for (double v : values) squares += (v - e.mean) * (v - e.mean);
  const double deviation = std::sqrt(squares / static_cast<double>(e.n - 1));
  e.half_width = StudentT95(e.n - 1) * deviation / std::sqrt(static_cast<double>(e.n));
  return e;
}

std::vector<Repeated> Repeats(const nlohmann::json& document) {
  struct Values {
    std::vector<double> rate, p99, reads, writes;
  };
  std::vector<std::string> order;
  std::map<std::string, Values> groups;
  for (const auto& run : document["runs"]) {
    for (const auto& phase : run["phases"]) {
      if (!phase.contains("operations") || phase["kind"] == "warm-up") continue;
      for (const auto& op : phase["operations"]) {
        std::string name = phase["name"];
        if (op["name"] != phase["name"]) name += " " + op["name"].get<std::string>();
        name += fmt::format(", {} thr", run["threads"].get<int>());
        if (!groups.contains(name)) order.push_back(name);
        Values& values = groups[name];
        values.rate.push_back(op["rate"]);
        values.p99.push_back(op["latency_us"]["p99"]);
        if (phase["account"].contains("device")) {
          const auto& device = phase["account"]["device"];
          const auto count = phase["count"].get<double>();
          values.reads.push_back(device["reads"].get<double>() / count);
          values.writes.push_back(device["writes"].get<double>() / count);
        }
      }
    }
  }
  std::vector<Repeated> repeats;
  for (const std::string& name : order) {
    const Values& values = groups[name];
    repeats.push_back({name, EstimateMean(values.rate), EstimateMean(values.p99),
                       EstimateMean(values.reads), EstimateMean(values.writes)});
  }
  return repeats;
}

}  // namespace testbed

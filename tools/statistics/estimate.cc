#include "tools/statistics/estimate.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tools/report/figures.h"
#include "tools/statistics/document_cells.h"
#include "tools/statistics/student.h"

namespace testbed {

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double VarianceOf(const std::vector<double>& values) {
  // The mean of equal values may differ from them in its last bit.
  const auto differs = [&values](double v) { return v != values.front(); };
  if (std::none_of(values.begin(), values.end(), differs)) return 0;
  const double mean = MeanOf(values);
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return squares / static_cast<double>(values.size() - 1);
}

Estimate EstimateMean(const std::vector<double>& values) {
  Estimate e;
  e.n = values.size();
  if (e.n == 0) return e;
  e.mean = MeanOf(values);
  if (e.n < 2) return e;
  e.half_width = StudentQuantile(0.025, static_cast<double>(e.n - 1)) *
                 std::sqrt(VarianceOf(values) / static_cast<double>(e.n));
  return e;
}

std::vector<Repeated> Repeats(const nlohmann::json& document) {
  std::vector<Repeated> repeats;
  for (const DocumentCell& cell : CellsOf(document)) {
    Repeated& repeated = repeats.emplace_back();
    repeated.name = cell.name;
    const auto estimate = [&](const char* metric) {
      const auto found = cell.samples.find(metric);
      if (found == cell.samples.end()) return Estimate();
      std::map<int, std::vector<double>> loads;
      for (const Sample& sample : found->second) loads[sample.load].push_back(sample.value);
      repeated.loads = std::max(repeated.loads, loads.size());
      repeated.runs = std::max(repeated.runs, found->second.size());
      std::vector<double> means;
      for (const auto& [load, values] : loads) means.push_back(EstimateMean(values).mean);
      return EstimateMean(means);
    };
    repeated.rate = estimate("rate");
    if (TellsPercentile(cell.LeastOperations("p99"), 0.99)) repeated.p99_us = estimate("p99");
    repeated.device_reads = estimate("device_reads");
    repeated.device_writes = estimate("device_writes");
  }
  return repeats;
}

}  // namespace testbed

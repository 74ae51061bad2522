// Estimates over repeated measurements of the same setting.
#ifndef TESTBED_TOOLS_STATISTICS_ESTIMATE_H_
#define TESTBED_TOOLS_STATISTICS_ESTIMATE_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace testbed {

// Returns the mean of the values, of which there is one at least.
double MeanOf(const std::vector<double>& values);
// Returns the sample variance of the values; 0 for fewer than two.
double VarianceOf(const std::vector<double>& values);

// The mean of n values and half the width of its 95 % confidence interval (Student's t). With fewer
// than two values half_width is 0.
struct Estimate {
  size_t n = 0;
  double mean = 0, half_width = 0;
};
// Returns the estimate; its half_width is 0 for fewer than two values.
Estimate EstimateMean(const std::vector<double>& values);

// The estimates of one cell of a results document (document_cells.h) over its loads. The value of a
// load is the mean over its runs: runs on one load tell nothing about the next one.
struct Repeated {
  std::string name;
  size_t loads = 0, runs = 0;
  // p99_us has n = 0 when the cell is all kinds of operations together, and when a run had too few
  // operations for this percentile.
  Estimate rate, p99_us;
  Estimate device_reads, device_writes;  // per operation of the phase; n = 0 when not known
};
// Returns the estimates of each cell in the order of the document.
std::vector<Repeated> Repeats(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_STATISTICS_ESTIMATE_H_

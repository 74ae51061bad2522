// Statistics over repeated runs of the same setting.
#ifndef TESTBED_TOOLS_OUTPUT_STATISTICS_H_
#define TESTBED_TOOLS_OUTPUT_STATISTICS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace testbed {

// The mean of n values and half the width of its 95 % confidence interval (Student's t). With fewer
// than two values half_width is 0.
struct Estimate {
  size_t n = 0;
  double mean = 0, half_width = 0;
};
// Returns the estimate; its half_width is 0 for fewer than two values.
Estimate EstimateMean(const std::vector<double>& values);

// The estimates for one phase, operation and number of threads of a results document, over its
// repeats.
struct Repeated {
  std::string name;
  Estimate rate, p99_us;
  Estimate device_reads, device_writes;  // per operation of the phase
};
// Returns the estimates of each phase and operation in the order of the document, warm-ups left
// out.
std::vector<Repeated> Repeats(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_STATISTICS_H_

// Statistics over repeated runs of the same setting.
#ifndef TESTBED_TOOLS_OUTPUT_STATISTICS_H_
#define TESTBED_TOOLS_OUTPUT_STATISTICS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace testbed {

// The mean of n values and half the width of its 95 % confidence interval (Student's t).
struct Estimate {
  size_t n = 0;
  double mean = 0, half_width = 0;
};
Estimate EstimateMean(const std::vector<double>& values);

// The figures of one phase and operation of a results document, over its repeated runs.
struct Repeated {
  std::string name;
  Estimate rate, p99_us;
  Estimate device_reads, device_writes;  // per operation of the phase
};
std::vector<Repeated> Repeats(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_OUTPUT_STATISTICS_H_

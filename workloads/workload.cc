#include "workloads/workload.h"

namespace testbed {

const std::vector<std::pair<std::string, Distribution>>& Distributions() {
  static const std::vector<std::pair<std::string, Distribution>> distributions = {
      {"uniform", Distribution::kUniform},      {"zipfian", Distribution::kZipfian},
      {"latest", Distribution::kLatest},        {"hot", Distribution::kHot},
      {"scrambled", Distribution::kScrambled},  {"exponential", Distribution::kExponential},
      {"sequential", Distribution::kSequential}};
  return distributions;
}

const char* DistributionName(Distribution distribution) {
  return Distributions()[static_cast<size_t>(distribution)].first.c_str();
}

}  // namespace testbed

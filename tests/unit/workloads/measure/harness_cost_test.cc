#include "workloads/measure/harness_cost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

namespace testbed {
namespace {

constexpr uint64_t kMiB = 1 << 20;

double CostNs(size_t value_size, const PhaseOptions& options) {
  DatasetOptions data;
  data.rows = 1000;
  data.value_size = value_size;
  return HarnessCostNs(options, std::make_shared<const Dataset>(data), {});
}

// A run begins with the measurement, so it must not take longer than the run, whatever the values.
TEST(HarnessCostTest, LongValuesAreUsedLessOften) {
  for (const uint64_t usual : {uint64_t{0}, uint64_t{1}, uint64_t{400}, uint64_t{4096}}) {
    EXPECT_EQ(HarnessCostOperations(usual), 50000u) << usual;
  }
  for (const uint64_t size : {16000 * uint64_t{1}, 100 * uint64_t{1024}, kMiB, 64 * kMiB}) {
    const uint64_t operations = HarnessCostOperations(size);
    EXPECT_LE(operations * size, std::max(256 * kMiB, 16 * size)) << size;
    EXPECT_GE(operations, 16u) << size;
  }
}

TEST(HarnessCostTest, ACostIsThatOfAnOperationHoweverMany) {
  PhaseOptions options;
  const double none = CostNs(0, options);
  EXPECT_GT(none, 0);
  // A touch of 8 MiB reads 131,072 bytes, each of another cache line.
  EXPECT_GT(CostNs(8 * kMiB, options), none + 10000);
}

TEST(HarnessCostTest, ARequestToStopEndsTheMeasurement) {
  PhaseOptions options;
  options.stop = [] { return true; };
  EXPECT_TRUE(std::isnan(CostNs(64, options)));
}

}  // namespace
}  // namespace testbed

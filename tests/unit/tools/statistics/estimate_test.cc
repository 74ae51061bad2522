#include "tools/statistics/estimate.h"

#include <gtest/gtest.h>

#include <vector>

namespace testbed {
namespace {

// The mean of three times 0.1 is another number, so that tables had a spread of 1e-17 there.
TEST(EstimateTest, EqualValuesHaveNoSpread) {
  const std::vector<double> equal(3, 0.1);
  ASSERT_NE(MeanOf(equal), 0.1);
  EXPECT_EQ(VarianceOf(equal), 0);
  EXPECT_EQ(EstimateMean(equal).half_width, 0);
  EXPECT_EQ(VarianceOf({1}), 0);
  EXPECT_DOUBLE_EQ(VarianceOf({1, 3}), 2);
}

}  // namespace
}  // namespace testbed

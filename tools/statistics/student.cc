#include "tools/statistics/student.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace testbed {

using boost::math::complement;
using boost::math::students_t;

double StudentTail(double t, double freedom) {
  if (std::isinf(t)) return t > 0 ? 0 : 1;
  return boost::math::cdf(complement(students_t(freedom), t));
}

double StudentQuantile(double tail, double freedom) {
  return boost::math::quantile(complement(students_t(freedom), tail));
}

StandardErrors UnpairedErrors(const std::array<double, 2>& variances,
                              const std::array<double, 2>& n) {
  const double first = variances[0] / n[0], second = variances[1] / n[1];
  const double share = first / (first + second), rest = n[0] + n[1] - 2;
  const double welch = 1 / (share * share / (n[0] - 1) + (1 - share) * (1 - share) / (n[1] - 1));
  const double pooled = ((n[0] - 1) * variances[0] + (n[1] - 1) * variances[1]) / rest;
  return {StandardError{std::sqrt(first + second), welch},
          StandardError{std::sqrt(pooled * (1 / n[0] + 1 / n[1])), rest}};
}

}  // namespace testbed

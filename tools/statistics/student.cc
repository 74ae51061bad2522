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

}  // namespace testbed

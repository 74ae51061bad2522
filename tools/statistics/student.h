// Student's t distribution (W. S. Gosset, "The probable error of a mean", Biometrika 6, 1908), by
// Boost.Math, and the standard errors by which differences are tested with it. Degrees of freedom
// are positive and need not be whole numbers (Welch). Thread-safe.
#ifndef TESTBED_TOOLS_STATISTICS_STUDENT_H_
#define TESTBED_TOOLS_STATISTICS_STUDENT_H_

#include <array>

namespace testbed {

// Returns P(T > t).
double StudentTail(double t, double freedom);
// Returns the t with P(T > t) = tail; requires 0 < tail < 1.
double StudentQuantile(double tail, double freedom);

// A standard error with its degrees of freedom; 0 where there is none.
struct StandardError {
  double error = 0, freedom = 0;
};
// The errors by which an effect is tested: the one of pairs, or Welch's and Student's.
using StandardErrors = std::array<StandardError, 2>;
// Returns Welch's and Student's standard errors of the difference between the means of two samples.
// Each sample has a variance and `n` values, at least two.
StandardErrors UnpairedErrors(const std::array<double, 2>& variances,
                              const std::array<double, 2>& n);

}  // namespace testbed

#endif  // TESTBED_TOOLS_STATISTICS_STUDENT_H_

// Student's t distribution (W. S. Gosset, "The probable error of a mean", Biometrika 6, 1908), by
// Boost.Math. Degrees of freedom are positive and need not be whole (Welch). Thread-safe.
#ifndef TESTBED_TOOLS_STATISTICS_STUDENT_H_
#define TESTBED_TOOLS_STATISTICS_STUDENT_H_

namespace testbed {

// Returns P(T > t).
double StudentTail(double t, double freedom);
// Returns the t with P(T > t) = tail; requires 0 < tail < 1.
double StudentQuantile(double tail, double freedom);

}  // namespace testbed

#endif  // TESTBED_TOOLS_STATISTICS_STUDENT_H_

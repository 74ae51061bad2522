// The texts of lengths and rates in --workload, such as '60s' and '1k..8k'.
//
//   5000          a constant rate, in operations a second; k and M are accepted
//   1k..8k        a ramp: from 1,000 to 8,000 over the length of the phase
//   1k^8k 1s/10s  bursts: 1,000, and 8,000 for the first second of each ten
//   1k~8k/30s     a wave: from 1,000 to 8,000 and back every 30 seconds
//
// Thread-safe.
#ifndef TESTBED_TOOLS_RATE_RATE_TEXT_H_
#define TESTBED_TOOLS_RATE_RATE_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

#include "workloads/measure/arrivals/rate_curve.h"

namespace testbed {

// Parse a length in ms, s, min or h, `least` to 1e7 seconds, and a rate, 0.001 to 1e9. Return
// nothing for any other text.
std::optional<double> ParseSeconds(std::string_view text, double least);
std::optional<double> ParseRate(std::string_view text);

// Parses a ramp, bursts or a wave for a phase of `length` seconds. One of the two rates may be 0.
// Returns nothing for any other text, and for a constant rate.
std::optional<RateCurve> ParseRateCurve(std::string_view text, double length);
// Returns a text from which ParseRateCurve makes the same curve; that of a constant rate is "".
std::string RateCurveText(const RateCurve& curve);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RATE_RATE_TEXT_H_

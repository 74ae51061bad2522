// The seconds of a phase, read from its series in a results document (docs/results.md), and its
// stalls. `testbed report --html` marks the same stalls (tools/html/page_data.h).
//
// Thread-safe. A damaged or older document yields "not known" (NaN), never a crash.
#ifndef TESTBED_TOOLS_LIVE_SECONDS_H_
#define TESTBED_TOOLS_LIVE_SECONDS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace testbed {

// A second of this length or more has a rate; a shorter one is a rest at the end of its phase. All
// that show seconds follow this rule, while the run is going on and from its document.
inline constexpr double kShortestForRate = 0.3;

// A second of a phase. It is longer when the whole process stood still, so that it could not end
// its second in time; the last one of a phase may be shorter.
struct PhaseSecond {
  double from = 0, to = 0;  // seconds since the phase began
  double operations = 0;
  double rate = 0;  // per second; NaN when it is too short for a rate
  // Latency of operations that ended in it; NaN without any. The percentile is NaN, too, where too
  // few operations tell it (TellsPercentile of tools/report/figures.h).
  double p99_us = 0, max_us = 0;
  const nlohmann::json* entry = {};  // the series' entry, which belongs to the document
};

// Returns the seconds of a phase of a results document, which must outlive them; none when it has
// no series.
std::vector<PhaseSecond> SecondsOf(const nlohmann::json& phase);

// Returns the median of the known rates; NaN when none is known.
double MedianRate(const std::vector<PhaseSecond>& seconds);

// Returns whether the rate of the second is below a tenth of `median`, an operation ended in it
// that had taken a second or longer, or the second itself lasted two seconds or longer.
bool IsStalled(const PhaseSecond& second, double median);

// A row of neighbouring seconds that are stalled (IsStalled, by the median of their phase).
struct Stall {
  double from = 0, to = 0;  // seconds since the phase began
  double rate = 0;          // the lowest rate of its seconds; NaN when none is known
  double max_us = 0;        // the slowest operation that ended in it; 0 when none ended
};
std::vector<Stall> StallsOf(const std::vector<PhaseSecond>& seconds);

// Returns a latency in microseconds with three digits and the unit that suits it, "3.16 ms"; "-"
// for NaN.
std::string LatencyText(double us);

}  // namespace testbed

#endif  // TESTBED_TOOLS_LIVE_SECONDS_H_

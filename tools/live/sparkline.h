// A row of block characters, one for each value, as high as the value: a curve in one line of text.
//
//   const std::string line = Sparkline({0, 5, 10}, 0, 10);  // "▁▅█"
#ifndef TESTBED_TOOLS_LIVE_SPARKLINE_H_
#define TESTBED_TOOLS_LIVE_SPARKLINE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace testbed {

enum class SparkScale : uint8_t { kLinear, kLog };

// Returns one character (UTF-8, three bytes) for each value from `least` to `most`; values below or
// above are drawn as `least` or `most`, NaN as a space. With kLog both must be above 0.
// Thread-safe.
std::string Sparkline(const std::vector<double>& values, double least, double most,
                      SparkScale scale = SparkScale::kLinear);

}  // namespace testbed

#endif  // TESTBED_TOOLS_LIVE_SPARKLINE_H_

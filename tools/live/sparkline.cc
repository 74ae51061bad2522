#include "tools/live/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace testbed {

std::string Sparkline(const std::vector<double>& values, double least, double most,
                      SparkScale scale) {
  static constexpr std::array<const char*, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto place = [scale](double x) { return scale == SparkScale::kLog ? std::log(x) : x; };
  const double from = place(least), range = place(most) - from;
  std::string text;
  for (const double value : values) {
    if (std::isnan(value)) {
      text += ' ';
      continue;
    }
    const double share = range > 0   ? (place(std::clamp(value, least, most)) - from) / range
                         : value > 0 ? 1
                                     : 0;
    text +=
        kBlocks[std::min<size_t>(static_cast<size_t>(share * kBlocks.size()), kBlocks.size() - 1)];
  }
  return text;
}

}  // namespace testbed

#include "tools/statistics/normal.h"

#include <cmath>
#include <numbers>

namespace testbed {

double Normal::operator()() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2 * std::log(1 - random_.Unit()));
  const double angle = 2 * std::numbers::pi * random_.Unit();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

}  // namespace testbed

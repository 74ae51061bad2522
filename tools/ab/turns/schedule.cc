#include "tools/ab/turns/schedule.h"

#include <numeric>
#include <utility>

namespace testbed {

std::vector<int> Schedule::Shuffled() {
  std::vector<int> order(static_cast<size_t>(sides_));
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[Reduce(random_.Next(), i)]);
  }
  return order;
}

std::vector<int> Schedule::NextBlock() {
  if (!reverse_.empty()) return std::exchange(reverse_, {});
  const std::vector<int> order = Shuffled();
  reverse_.assign(order.rbegin(), order.rend());
  return order;
}

}  // namespace testbed

#include "tools/live/live_state.h"

#include <algorithm>
#include <cmath>

namespace testbed {

void LiveState::Begin(const std::string& label, const std::string& phase, double now) {
  *this = LiveState();
  label_ = label;
  phase_ = phase;
  began_ = heard_ = now;
}

void LiveState::Add(const SecondReport& second, double now) {
  heard_ = now;
  last_ = second;
  PhaseSecond added{.from = second.seconds - second.length, .to = second.seconds};
  added.operations = static_cast<double>(second.operations);
  added.rate = second.rest() ? NAN : second.rate();
  added.p99_us = second.p99_us > 0 ? second.p99_us : NAN;
  added.max_us = second.max_us > 0 ? second.max_us : NAN;
  // A second that lasted too long counts as a stall. A report of several joined seconds does not:
  // this process was late to read it, but the run went on.
  if (second.joined) added.from = added.to - std::min(second.length, 1.0);
  seconds_.push_back(added);
  if (seconds_.size() > kMostSeconds) seconds_.pop_front();
  stalled_ = IsStalled(added, MedianRate({seconds_.begin(), seconds_.end()}));
}

std::vector<Stall> LiveState::Stalls() const {
  return StallsOf({seconds_.begin(), seconds_.end()});
}

}  // namespace testbed

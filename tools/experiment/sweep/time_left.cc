#include "tools/experiment/sweep/time_left.h"

namespace testbed {

void TimeLeft::Add(const std::string& name) {
  ++cells_[name].left;
  ++unknown_left_;
}

void TimeLeft::Ended(const std::string& name, double seconds) {
  Rounds& rounds = cells_[name];
  if (rounds.seconds) {
    known_left_ -= static_cast<double>(rounds.left) * *rounds.seconds;
  } else {
    unknown_left_ -= rounds.left;
    first_seconds_ += seconds;
    ++first_ended_;
  }
  --rounds.left;
  rounds.seconds = seconds;
  known_left_ += static_cast<double>(rounds.left) * seconds;
}

std::optional<double> TimeLeft::Seconds() const {
  if (first_ended_ == 0) return std::nullopt;
  const double mean = first_seconds_ / static_cast<double>(first_ended_);
  return known_left_ + mean * static_cast<double>(unknown_left_);
}

}  // namespace testbed

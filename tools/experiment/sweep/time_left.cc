#include "tools/experiment/sweep/time_left.h"

#include <algorithm>

namespace testbed {

void TimeLeft::Add(const std::string& name, double forecast) {
  Rounds& rounds = cells_[name];
  rounds.left.push_back(forecast);
  rounds.sum += forecast;
  unknown_left_ += forecast;
}

void TimeLeft::Ended(const std::string& name, double seconds, bool finished) {
  Rounds& rounds = cells_[name];
  if (rounds.left.empty()) return;
  const double forecast = rounds.left.front();
  if (rounds.pace) {
    known_left_ -= rounds.sum * *rounds.pace;
  } else {
    unknown_left_ -= rounds.sum;
  }
  if (finished && !rounds.finished) {
    first_seconds_ += seconds;
    first_forecast_ += forecast;
  }
  rounds.left.pop_front();
  rounds.sum -= forecast;
  if (finished || !rounds.pace) rounds.pace = seconds / forecast;
  rounds.finished = rounds.finished || finished;
  known_left_ += rounds.sum * *rounds.pace;
}

void TimeLeft::Drop(const std::string& name) {
  Rounds& rounds = cells_[name];
  if (rounds.left.empty()) return;
  const double forecast = rounds.left.front();
  rounds.left.pop_front();
  rounds.sum -= forecast;
  if (rounds.pace) {
    known_left_ -= forecast * *rounds.pace;
  } else {
    unknown_left_ -= forecast;
  }
}

std::optional<double> TimeLeft::Seconds() const {
  if (first_forecast_ <= 0) return std::nullopt;
  const double pace = first_seconds_ / first_forecast_;
  // Sums of what was added and taken away again may end a little below 0.
  return std::max(0.0, known_left_ + pace * unknown_left_);
}

}  // namespace testbed

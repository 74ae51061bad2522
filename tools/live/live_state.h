// What is known of a run while it lasts: the phase under way and its seconds so far. The screen,
// the lines and the metrics are made from it.
//
//   LiveState state;
//   state.Begin("btree, 8 threads", "point-read", now);
//   state.Add(second, now);
//   if (state.StandsStill(now)) ...
//
// `now` is any clock that counts seconds. Not thread-safe.
#ifndef TESTBED_TOOLS_LIVE_LIVE_STATE_H_
#define TESTBED_TOOLS_LIVE_LIVE_STATE_H_

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tools/live/second_report.h"
#include "tools/live/seconds.h"

namespace testbed {

class LiveState {
 public:
  // The number of seconds of a phase that are kept, for the curves and the median.
  static constexpr size_t kMostSeconds = 3600;
  // The seconds without a report after which a run stands still. The text of
  // testbed_report_age_seconds, docs/live.md and the dashboard say the same. Reports come a second
  // apart, a little late at times.
  static constexpr double kOverdue = 2;

  // Begins a phase of the run `label`, and forgets the seconds of the phase before.
  void Begin(const std::string& label, const std::string& phase, double now);
  // Adds the report of the next second, which came at `now`.
  void Add(const SecondReport& second, double now);

  const std::string& label() const { return label_; }  // name of the run
  const std::string& phase() const { return phase_; }
  // Returns the last second of the phase under way; nothing before its first.
  const std::optional<SecondReport>& last() const { return last_; }
  const std::deque<PhaseSecond>& seconds() const { return seconds_; }
  // Returns the stalls among the seconds that are kept.
  std::vector<Stall> Stalls() const;
  // Returns whether the last second was stalled.
  bool stalled() const { return stalled_; }
  // Returns the seconds since the phase began.
  double Passed(double now) const { return now - began_; }
  // Returns the seconds since the phase began or last reported a second.
  double Silence(double now) const { return now - heard_; }
  // Returns whether a second report is overdue: the process of the run was stopped, or has no
  // processor.
  bool StandsStill(double now) const { return last_ && !last_->ended && Silence(now) > kOverdue; }

 private:
  std::string label_, phase_;
  double began_ = 0, heard_ = 0;
  std::optional<SecondReport> last_;
  std::deque<PhaseSecond> seconds_;
  bool stalled_ = false;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_LIVE_LIVE_STATE_H_

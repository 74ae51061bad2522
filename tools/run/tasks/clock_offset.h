// The difference between the clocks of two hosts, from messages that carry the four time stamps of
// NTP (RFC 5905, section 8): when this host asked, when the other received the question, when it
// answered, and when the answer was here.
//
//   const ClockOffset offset = OffsetOf(exchanges);
//   const int64_t there = here + offset.ns;    // within offset.error_ns
//
// All times are nanoseconds by a clock of each host that nobody sets (MonotonicNs), and that begins
// when the host does, so that the offset of two hosts may be years. The time of day is only shown.
// Thread-safe.
#ifndef TESTBED_TOOLS_RUN_TASKS_CLOCK_OFFSET_H_
#define TESTBED_TOOLS_RUN_TASKS_CLOCK_OFFSET_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace testbed {

struct ClockExchange {
  int64_t asked = 0, received = 0, answered = 0, returned = 0;
};

struct ClockOffset {
  int64_t ns = 0;  // the other clock less this one
  // Bound of the error of `ns`: half of the time that the messages were under way, if the clocks
  // did not change meanwhile.
  int64_t error_ns = 0;
  int64_t wall_ns = 0;  // the other host's time of day less that of this one, within the same bound
};

// Returns this host's CLOCK_MONOTONIC, which is never set, unlike the time of day.
int64_t MonotonicNs();

// Returns by how much the time of day, since the epoch, is ahead of the clock `now`.
int64_t WallAheadOf(const std::function<int64_t()>& now);

// Returns the offset by the exchange whose messages were under way for the least time, as a delay
// of one of the two ways is what makes an offset wrong. The exchanges do not tell `wall_ns`, which
// stays 0. Requires an exchange.
ClockOffset OffsetOf(const std::vector<ClockExchange>& exchanges);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_TASKS_CLOCK_OFFSET_H_

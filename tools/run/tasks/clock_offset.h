// The difference between the clocks of two hosts, from messages that carry the four time stamps of
// NTP (RFC 5905, section 8): when this host asked, when the other received the question, when it
// answered, and when the answer was here.
//
//   const ClockOffset offset = OffsetOf(exchanges);
//   const int64_t there = here + offset.ns;    // within offset.error_ns
//
// All times are nanoseconds since the epoch, each by the clock of its host. Thread-safe.
#ifndef TESTBED_TOOLS_RUN_TASKS_CLOCK_OFFSET_H_
#define TESTBED_TOOLS_RUN_TASKS_CLOCK_OFFSET_H_

#include <cstdint>
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
};

// Returns the offset by the exchange whose messages were under way for the least time, as a delay
// of one of the two ways is what makes an offset wrong. Requires an exchange.
ClockOffset OffsetOf(const std::vector<ClockExchange>& exchanges);

}  // namespace testbed

#endif  // TESTBED_TOOLS_RUN_TASKS_CLOCK_OFFSET_H_

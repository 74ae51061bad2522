// Measures what reading the clock adds to the time of a part of an operation.
//
// Two readings with nothing between them are 10 ns and more apart, by the processor, its frequency
// and the code around them. A caller that times parts as short as that times an empty interval
// right after them, and takes their times net of it. A net time is known no closer than the empty
// interval: a processor overlaps short work with the reading, and a clock may tick in steps.
#ifndef TESTBED_WORKLOADS_DOCUMENTS_CLOCK_COST_H_
#define TESTBED_WORKLOADS_DOCUMENTS_CLOCK_COST_H_

#include <algorithm>
#include <cstdint>

#include "workloads/measure/clock.h"

namespace testbed {

// Returns the ticks of an empty interval, which begins at `last`, the caller's last reading of the
// clock.
inline uint64_t EmptyInterval(const Clock& clock, uint64_t last) { return clock.Now() - last; }

// Returns a time less that of the empty intervals in it, both in the same unit; 0 when it is no
// longer than these.
inline uint64_t NetOfClock(uint64_t time, uint64_t empty) { return time - std::min(time, empty); }

}  // namespace testbed

#endif  // TESTBED_WORKLOADS_DOCUMENTS_CLOCK_COST_H_

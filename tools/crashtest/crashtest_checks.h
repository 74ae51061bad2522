// Tells whether an engine and this machine can be crash tested as the options ask, before anything
// is made, and which commits the test may ask for.
#ifndef TESTBED_TOOLS_CRASHTEST_CRASHTEST_CHECKS_H_
#define TESTBED_TOOLS_CRASHTEST_CRASHTEST_CHECKS_H_

#include <cstdint>

#include "tools/crashtest/crashtest.h"

namespace testbed {

// Throws Error (kUsage) when the options cannot be honoured.
void CheckCrashtest(const CrashtestOptions& options);

// Returns the age in milliseconds that an acknowledged transaction must have at a crash to be
// promised: 0, or with lazy commits two intervals and half a second. Engines promise one interval
// when the device keeps up with the syncs; the rest is for a sync that takes longer.
uint64_t PromisedAgeMs(const CrashtestOptions& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASHTEST_CHECKS_H_

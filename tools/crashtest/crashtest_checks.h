// Tells whether an engine and this machine can be crash tested as the options ask, before anything
// is made, which commits the test may ask for, and whether its rounds have tested anything.
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

// Adds a failure to the result of a test that has made all its rounds without one, and in which no
// round tested what it was made for: the disk has refused no write, or each cut of the power has
// cost the file system.
void FailIfNothingWasTested(const CrashtestOptions& options, CrashtestResult* result);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASHTEST_CHECKS_H_

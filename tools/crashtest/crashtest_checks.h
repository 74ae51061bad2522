// Tells whether an engine and this machine can be crash tested as the options ask, before anything
// is made.
#ifndef TESTBED_TOOLS_CRASHTEST_CRASHTEST_CHECKS_H_
#define TESTBED_TOOLS_CRASHTEST_CRASHTEST_CHECKS_H_

#include "tools/crashtest/crashtest.h"

namespace testbed {

// Throws Error (kUsage) when the options cannot be honoured.
void CheckCrashtest(const CrashtestOptions& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASHTEST_CHECKS_H_

// Tells whether a log was used after it was closed.
#ifndef TESTBED_DEVICE_LOG_LOG_USE_H_
#define TESTBED_DEVICE_LOG_LOG_USE_H_

#include <string>

#include "device/file/file.h"
#include "device/log/log.h"

namespace testbed {

// Returns whether the closed log in `directory` was written to, or at least opened, since the time
// when it ended at `lsn`. Makes the log durable first. Throws Error (kCorruption) when no segment
// holds `lsn`.
bool LogWasUsedAfter(const std::string& directory, IoMode mode, Lsn lsn);

}  // namespace testbed

#endif  // TESTBED_DEVICE_LOG_LOG_USE_H_

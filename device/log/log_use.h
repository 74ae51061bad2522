// Tells whether a log was used since it had been closed.
#ifndef TESTBED_DEVICE_LOG_LOG_USE_H_
#define TESTBED_DEVICE_LOG_LOG_USE_H_

#include <string>

#include "device/file/file.h"
#include "device/log/log.h"

namespace testbed {

// Returns whether the closed log in `directory` was written to, or only opened, after it ended at
// `lsn`. If not, whoever had it open last closed it there, or stopped there. Makes the log durable first.
// Throws Error (kCorruption) when no segment holds `lsn`.
bool LogWasUsedAfter(const std::string& directory, IoMode mode, Lsn lsn);

}  // namespace testbed

#endif  // TESTBED_DEVICE_LOG_LOG_USE_H_

#include "device/log/log_use.h"

#include "device/log/log_reader.h"

namespace testbed {

bool LogWasUsedAfter(const std::string& directory, IoMode mode, Lsn lsn) {
  if (Log::HasRecords(directory, mode, lsn)) return true;
  LogReader reader(directory, lsn, mode);
  for (LogRecord record; reader.Next(&record);) {
  }
  // Opening a log writes a frame without records, which begins an epoch. A frame at or after `lsn`
  // therefore shows that the log was opened.
  return !reader.empty() && reader.tail().frame >= lsn;
}

}  // namespace testbed

// A LogCopy copies a log to another directory while other threads append to it. The copy is a log
// that ends as after a crash: Log::Open recovers its records.
//
//   LogCopy copy(log, from, directory);   // of the records from the LSN `from` on
//   copy.Advance(4 << 20);                // what the log has written meanwhile, at most 4 MiB
//   log->TruncateBefore(copy.end() - 1);  // so the log need not keep what was copied
//   copy.Finish(least);                   // at least up to the LSN `least`; the copy is durable
//
// The caller keeps the log from being truncated at or after `from` until the first Advance, and at
// or after end() from then on: the copy begins with the segment that holds the position before
// `from`, as a reader of the log does. Methods throw Error: kIo when the system refuses,
// kCorruption when the bytes that were read are no log up to end(). An unfinished copy is of no
// use.
//
// Not thread-safe; the log is.
#ifndef TESTBED_DEVICE_LOG_LOG_COPY_H_
#define TESTBED_DEVICE_LOG_LOG_COPY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "device/file/file.h"
#include "device/log/log.h"
#include "device/log/log_format.h"

namespace testbed {

struct LogSegment;

class LogCopy {
 public:
  // `directory` exists and has no segment of a log.
  LogCopy(Log* log, Lsn from, std::string directory);
  ~LogCopy();
  LogCopy(const LogCopy&) = delete;
  LogCopy& operator=(const LogCopy&) = delete;

  // Copies what the log has written to its files, but not more than about `most` bytes: the first
  // call also copies what lies before `from` in its segment. A caller that does something else
  // between two calls bounds each of them. Otherwise threads that append faster than the copy is
  // made would make each call longer than the one before it.
  void Advance(uint64_t most);
  // Copies the log at least up to the LSN `least`, makes the copy durable and reads it once. No
  // other call follows.
  void Finish(Lsn least);
  // Returns the LSN up to which the log was copied.
  Lsn end() const { return end_; }

 private:
  void BeginSegment(const LogSegment& segment);
  void EndSegment(bool has_next);
  void CopyBytes(const LogSegment& segment, Lsn begin, Lsn end);
  void WriteHeader();
  void ReadAgain();

  Log* const log_;
  const Lsn from_;
  const std::string directory_;
  Lsn end_;
  // header_ and file_ are those of the segment of the copy that is being written.
  SegmentHeader header_;
  std::unique_ptr<File> file_;
  AlignedBuffer buffer_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_LOG_LOG_COPY_H_

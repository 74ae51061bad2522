// LogSegments manages the segment files of a write-ahead log that is open for writing. It makes
// segments, puts them into service one after the other, and recycles or removes those that are no
// longer needed. Only Log uses it.
//
// The segments that were or are in service and the segments that wait for service have numbers
// without a gap, and their positions in the log are in the order of the numbers. That holds after a
// crash at any moment. A segment's header is durable under the segment's name before its successor
// is made and before the first frame goes into it. Segments leave at the low end one at a time,
// each durably.
//
// Thread-safe. Methods throw Error (kIo) when the system refuses; the log must not be used further
// after that.
#ifndef TESTBED_DEVICE_LOG_LOG_SEGMENTS_H_
#define TESTBED_DEVICE_LOG_LOG_SEGMENTS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "device/file/file.h"
#include "device/log/log.h"
#include "device/log/log_format.h"
#include "device/os/mutex.h"

namespace testbed {

struct LogSegment {
  SegmentHeader header;
  std::unique_ptr<File> file;
};

class LogSegments {
 public:
  // `epoch` and `log_id` go into the headers of new segments.
  LogSegments(std::string directory, const LogOptions& options, uint64_t log_id, uint32_t epoch);

  // Makes the first segment of a new log. Throws Error (kUsage) and leaves no file behind when the
  // file system cannot do what the options ask for.
  void Create();
  // Takes over the segments that were found, of which number `current` is in service. Segments
  // after it wait for service if they are as the options ask for; all others are removed.
  void Adopt(const std::vector<SegmentInfo>& found, uint64_t current);
  // Writes the bytes of the segments from `begin` to `end` once more, and syncs them (WriteAgain of
  // device/file/durable.h).
  void WriteAgain(Lsn begin, Lsn end);
  // Returns whether the log keeps a reserve (LogOptions::reserve).
  bool reserves() const { return options_.reserve && options_.space == LogSpace::kRecycled; }
  // Makes segments until there are min_segments and, unless the log `recovers`, one more than the
  // log uses, for the reserve. Does nothing unless space is recycled. The reserve is kept only from
  // KeepReserve on.
  void Prepare(bool recovers);
  // Keeps the reserve from now on. Makes a segment for it if none waits. Throws Error when it
  // cannot.
  void KeepReserve();

  // Returns the segment in service.
  std::shared_ptr<LogSegment> Current();
  // Returns the segments from `number` on up to the segment in service.
  std::vector<std::shared_ptr<LogSegment>> InService(uint64_t number);
  // Puts the next segment into service and returns it. Makes a segment if none waits beside the
  // reserve.
  std::shared_ptr<LogSegment> Advance();
  // Recycles or removes the segments that end at or before `lsn` and before `written`, the end of
  // the newest frame that must stay readable. From then on the reserve is kept.
  void TruncateBefore(Lsn lsn, Lsn written);

  Lsn BeginLsn() const;
  uint64_t SizeOnDisk() const;
  struct Counts {
    uint64_t created = 0, recycled = 0, removed = 0, bytes = 0, writes = 0, syncs = 0;
  };
  Counts counts() const;

 private:
  std::unique_ptr<File> OpenFile(const std::string& path, FileOptions::Create create) const;
  void CheckAlignment(const File& file) const;
  SegmentHeader NextHeader() const REQUIRES(mutex_);
  void Make(SegmentHeader header) REQUIRES(mutex_);
  // Writes into the header of the last segment but one that the last segment exists.
  void NoteLast() REQUIRES(mutex_);
  // Writes and syncs the segment's header with `has_next`. It does so even if the header has that
  // value already, because the header may not be durable.
  void WriteHasNext(LogSegment& segment, bool has_next) REQUIRES(mutex_);
  void Fill(File& file) REQUIRES(mutex_);
  void Recycle(LogSegment& old) REQUIRES(mutex_);
  void WriteHeader(File& file, const SegmentHeader& header) REQUIRES(mutex_);
  void ReplaceHeader(File& file, const SegmentHeader& before, const SegmentHeader& header)
      REQUIRES(mutex_);
  void Remove(const std::string& path) REQUIRES(mutex_);
  bool Fits(const SegmentInfo& info, const File& file) const REQUIRES(mutex_);

  const std::string directory_;
  const LogOptions options_;
  const uint64_t log_id_;
  const uint32_t epoch_;

  mutable Mutex mutex_;
  // The segments are in the order of their numbers: those that hold older records, the one in
  // service, and those that wait for service.
  std::deque<std::shared_ptr<LogSegment>> segments_ GUARDED_BY(mutex_);
  size_t current_ GUARDED_BY(mutex_) = 0;  // index of the segment in service
  size_t reserve_ GUARDED_BY(mutex_) = 0;  // waiting segments that must not go into service
  Counts counts_ GUARDED_BY(mutex_);
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_LOG_LOG_SEGMENTS_H_

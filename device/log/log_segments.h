// The segment files of a write-ahead log that is open for writing: makes them, puts them into
// service one after the other, and takes back those that are no longer needed. Used by Log alone.
//
// Files in service and those waiting for it are one unbroken run of numbers, and a file's position
// in the log follows from its number's place in the run. That holds after a crash at any moment:
// a segment has its header durable, under its name, before its successor is made and before the
// first frame goes into it; and segments leave at the low end one at a time, each durably.
//
// Thread-safe. Errors throw Error; the log must not be used further after one.
#ifndef TESTBED_DEVICE_LOG_LOG_SEGMENTS_H_
#define TESTBED_DEVICE_LOG_LOG_SEGMENTS_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/file/file.h"
#include "device/log/log.h"
#include "device/log/log_format.h"

namespace testbed {

struct LogSegment {
  SegmentHeader header;
  std::unique_ptr<File> file;
};

class LogSegments {
 public:
  // `epoch` and `log_id` go into the headers of new segments.
  LogSegments(std::string directory, const LogOptions& options, uint64_t log_id, uint32_t epoch);

  // Begins a log without segments. Throws kUsage, leaving nothing behind, where the file system
  // cannot do what the options ask for.
  void Create();
  // Takes over the segments that were found, of which `current` is in service. Those after it wait
  // for service if they are as the options ask for; the rest is removed.
  void Adopt(const std::vector<SegmentInfo>& found, uint64_t current);
  // Makes segments until min_segments of the options is met.
  void Prepare();

  std::shared_ptr<LogSegment> Current();
  // Those from `number` on up to the one in service.
  std::vector<std::shared_ptr<LogSegment>> InService(uint64_t number);
  // Puts the next segment into service, making it if none waits.
  std::shared_ptr<LogSegment> Advance();
  // Recycles or removes the segments that end at or before `lsn` and before `written`, the end of
  // the newest frame that must stay readable.
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
  SegmentHeader NextHeader() const;
  void Make(const SegmentHeader& header);
  void Fill(File& file);
  void Recycle(LogSegment& old);
  void WriteHeader(File& file, const SegmentHeader& header, size_t bytes);
  void Remove(const std::string& path);
  bool Fits(const SegmentInfo& info, const File& file) const;

  const std::string directory_;
  const LogOptions options_;
  const uint64_t log_id_;
  const uint32_t epoch_;

  mutable std::mutex mutex_;
  // By number: those that hold records, the one in service, those that wait.
  std::deque<std::shared_ptr<LogSegment>> segments_;
  size_t current_ = 0;
  Counts counts_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_LOG_LOG_SEGMENTS_H_

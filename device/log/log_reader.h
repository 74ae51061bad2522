// A LogReader reads a write-ahead log (device/log/log.h) without changing it.
//
//   LogReader reader(dir, from);
//   LogRecord record;
//   while (reader.Next(&record)) Use(record.lsn, record.bytes);
//
// Next returns false at the valid end of the log, where Log::Open would continue. It throws Error
// (kCorruption) when the log is damaged before its end (device/log/log.h has the rule) or ends
// before `from`. Not thread-safe; the log must not be written meanwhile.
#ifndef TESTBED_DEVICE_LOG_LOG_READER_H_
#define TESTBED_DEVICE_LOG_LOG_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/file/file.h"
#include "device/log/log.h"
#include "device/log/log_format.h"

namespace testbed {

class LogReader {
 public:
  // Opens the log at the segment that holds `from`, or at its first segment if `from` is 0. Next
  // passes over records with an LSN below `from`. Throws Error (kCorruption) when no segment holds
  // `from`, and as ListLogSegments does.
  explicit LogReader(const std::string& directory, Lsn from = 0, IoMode mode = IoMode::kBuffered);
  ~LogReader();

  // Sets *record to the next record, whose bytes stay valid until the next call. Returns false at
  // the end of the log.
  bool Next(LogRecord* record);

  // Returns whether the directory holds no segment, so that no log was begun there.
  bool empty() const { return segments_.empty(); }

  // A Tail says where the log goes on. It is valid when Next has returned false.
  struct Tail {
    uint64_t log_id = 0;
    uint64_t segment = 0;  // number of the segment with the last frame
    Lsn lsn = 0;           // LSN of the next frame, if the frame fits into that segment
    Lsn frame = 0;         // LSN of the last frame; 0 when there is none
    // This is the highest LSN that a frame which was read states to be durable.
    Lsn durable = 0;
    uint64_t chain = 0;  // checksum of the last frame
    uint32_t epoch = 0;  // highest epoch in any frame or header
  };
  const Tail& tail() const { return tail_; }

 private:
  class Source;
  bool NextFrame();
  bool TryFrame(size_t segment, Lsn lsn, FrameHeader* header);
  void Accept(size_t segment, Lsn lsn, const FrameHeader& header);
  size_t FirstSegment(Lsn from) const;
  void ThrowIfDamaged();
  bool ScanSegment(size_t segment, Lsn begin);
  Source& Open(size_t segment);

  const std::string directory_;
  const Lsn from_;
  const IoMode mode_;
  std::vector<SegmentInfo> segments_;  // segments in use, and blank segments after them, by number
  size_t at_ = 0;                      // index of the segment with the last frame that was read
  bool chained_ = false;               // a frame was read, so the next frame must name its checksum
  bool ended_ = false;
  Tail tail_;
  std::unique_ptr<Source> source_;
  size_t source_segment_ = 0;
  // This is the frame from which Next takes records.
  std::string_view frame_;
  Lsn frame_lsn_ = 0;
  size_t next_record_ = 0;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_LOG_LOG_READER_H_

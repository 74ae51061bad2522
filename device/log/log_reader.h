// Reads a write-ahead log (device/log/log.h) without changing it.
//
//   LogReader reader(dir, from);
//   LogRecord record;
//   while (reader.Next(&record)) Use(record.lsn, record.bytes);
//
// Next returns false at the valid end of the log, which is what Log::Open would continue after; it
// throws Error::kCorruption where the log is damaged before that (device/log/log.h has the rule), and
// when the log ends before `from`. A reader is for one thread; the log must not be written
// meanwhile.
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
  // Records with an LSN below `from` are passed over; reading starts at the segment that holds
  // `from` (0: the first one). Throws when no segment does.
  explicit LogReader(const std::string& directory, Lsn from = 0, IoMode mode = IoMode::kBuffered);
  ~LogReader();

  // The next record; its bytes stay valid until the next call.
  bool Next(LogRecord* record);

  // A log without any segment: nothing was ever written.
  bool empty() const { return segments_.empty(); }

  // Where the log goes on, once Next has returned false.
  struct Tail {
    uint64_t log_id = 0;
    uint64_t segment = 0;  // number of the segment with the last frame
    Lsn lsn = 0;           // of the next frame, if it fits into that segment
    Lsn frame = 0;         // of the last frame; 0 when there is none
    uint64_t chain = 0;    // checksum of the last frame
    uint32_t epoch = 0;    // the highest that any frame or header shows
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
  std::vector<SegmentInfo> segments_;  // those in use, and blank ones, by number
  size_t at_ = 0;                      // the segment with the next frame
  bool chained_ = false;               // a frame was read, so the next one must name it
  bool ended_ = false;
  Tail tail_;
  std::unique_ptr<Source> source_;
  size_t source_segment_ = 0;
  // The frame that records are taken from.
  std::string_view frame_;
  Lsn frame_lsn_ = 0;
  size_t next_record_ = 0;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_LOG_LOG_READER_H_

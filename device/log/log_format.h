// The bytes of the write-ahead log on disk: segment headers, frames, records, and how segment files
// are named and found. docs/log-format.md describes the same for readers in other languages; change
// both together, and kLogFormatVersion with them.
//
//   segment file  = header block (kSegmentHeaderBytes), then frames
//   frame         = FrameHeader, records, padding that belongs to no checksum
//   record        = u32 length, bytes
//
// All integers are little-endian. Functions here are pure but for ListLogSegments.
#ifndef TESTBED_DEVICE_LOG_LOG_FORMAT_H_
#define TESTBED_DEVICE_LOG_LOG_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/file/file.h"
#include "device/log/log.h"

namespace testbed {

inline constexpr uint32_t kLogFormatVersion = 1;
// Frames begin here in each segment file. Large enough for every write size to be aligned.
inline constexpr uint64_t kSegmentHeaderBytes = 8192;
// What of it carries meaning: one sector, so that writing it is atomic.
inline constexpr size_t kSegmentHeaderUsed = 512;
inline constexpr size_t kFrameHeaderBytes = 40;
inline constexpr size_t kRecordHeaderBytes = 4;
inline constexpr uint32_t kMaxLogWriteSize = 8192;

struct SegmentHeader {
  uint64_t log_id = 0;
  uint64_t number = 0;         // as in the file's name, unless it was being recycled
  Lsn first_lsn = 0;           // of byte 0 of the file
  uint64_t segment_bytes = 0;  // the file's greatest size; the next segment's first_lsn - first_lsn
  uint32_t epoch = 0;          // of the open that wrote the header
  uint32_t write_size = 0;     // what that open wrote with; information only
  bool pad = false;

  Lsn begin() const { return first_lsn + kSegmentHeaderBytes; }
  Lsn end() const { return first_lsn + segment_bytes; }
};

enum class HeaderState : uint8_t {
  kValid,
  kBlank,    // zeros or an empty file: a crash came between making the file and its header
  kDamaged,  // neither: no crash leaves this
};

// Fills kSegmentHeaderUsed bytes.
void EncodeSegmentHeader(const SegmentHeader& header, char* block);
// What the header in `block` must carry as its checksum.
uint64_t SegmentHeaderChecksum(const char* block);
// Throws kUsage for a valid header of another format version.
HeaderState DecodeSegmentHeader(std::string_view block, const std::string& path,
                                SegmentHeader* header);

struct FrameHeader {
  uint64_t checksum = 0;  // of the rest of the frame, seeded with the log's id and the frame's LSN
  uint64_t chain = 0;     // checksum of the frame before this one; 0 when there was none
  Lsn durable = 0;        // the log was durable up to here when this frame was written
  uint32_t length = 0;    // of header and records
  uint32_t span = 0;      // from this frame to the next one in the segment: length and padding
  uint32_t epoch = 0;     // how many times the log has been opened
  uint32_t records = 0;
};

// Fills in the header of the frame of header.length bytes at `frame`, checksum included, which is
// returned.
uint64_t SealFrame(uint64_t log_id, Lsn lsn, const FrameHeader& header, char* frame);

// Reads the header alone and says whether it can be one: lengths that fit into `room`, the bytes to
// the end of the segment, and a durable position not after the frame. Needs kFrameHeaderBytes.
bool PlausibleFrame(Lsn lsn, uint64_t room, const char* frame, FrameHeader* header);
// Whether `frame`, of header.length bytes, is what SealFrame made for this log and position.
bool ValidFrame(uint64_t log_id, Lsn lsn, const FrameHeader& header, const char* frame);

std::string LogSegmentPath(const std::string& directory, uint64_t number);

// A segment file as it was found.
struct SegmentInfo {
  std::string path;
  uint64_t number = 0;  // by its name
  HeaderState state = HeaderState::kBlank;
  SegmentHeader header;
  // Holds what its name says. Others are left over from a crash while they were made or recycled,
  // and hold nothing that is needed.
  bool in_use() const { return state == HeaderState::kValid && header.number == number; }
};

// All segment files of a directory by number. Throws kCorruption when a header is damaged or the
// segments are of two logs.
std::vector<SegmentInfo> ListLogSegments(const std::string& directory, IoMode mode);

}  // namespace testbed

#endif  // TESTBED_DEVICE_LOG_LOG_FORMAT_H_

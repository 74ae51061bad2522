// This header has the format of the write-ahead log on disk: segment headers, frames, records and
// the names of segment files. docs/log-format.md describes the format for readers in other
// languages. A change of the format changes this header, that document and kLogFormatVersion
// together.
//
//   segment file  = header block (kSegmentHeaderBytes), then frames
//   frame         = FrameHeader, records, padding that belongs to no checksum
//   record        = u32 length, bytes
//
// All integers are little-endian. All functions but ListLogSegments work on their arguments alone.
#ifndef TESTBED_DEVICE_LOG_LOG_FORMAT_H_
#define TESTBED_DEVICE_LOG_LOG_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/file/file.h"
#include "device/log/log.h"

namespace testbed {

inline constexpr uint32_t kLogFormatVersion = 1;
// This is the offset of the first frame in each segment file, a multiple of every write size.
inline constexpr uint64_t kSegmentHeaderBytes = 8192;
// This is how many bytes of the segment header carry meaning: one sector, so that a write of it is
// atomic.
inline constexpr size_t kSegmentHeaderUsed = 512;
inline constexpr size_t kFrameHeaderBytes = 40;
inline constexpr size_t kRecordHeaderBytes = 4;
inline constexpr uint32_t kMaxLogWriteSize = 8192;

struct SegmentHeader {
  uint64_t log_id = 0;
  uint64_t number = 0;  // number in the file's name, unless a crash interrupted the recycling
  Lsn first_lsn = 0;    // LSN of byte 0 of the file
  uint64_t segment_bytes = 0;  // greatest length of the file (next segment's first_lsn - first_lsn)
  uint32_t epoch = 0;          // epoch of the open that wrote the header
  uint32_t write_size = 0;     // LogOptions of that open, for information only
  bool pad = false;
  // If true, the file had segment_bytes bytes from the beginning, so a shorter file was cut.
  bool whole = false;
  // If true, the next segment was made and is durable, so it must be there.
  bool has_next = false;

  Lsn begin() const { return first_lsn + kSegmentHeaderBytes; }
  Lsn end() const { return first_lsn + segment_bytes; }
};

enum class HeaderState : uint8_t {
  kValid,
  kBlank,    // zeros or an empty file: a crash came before the header was written
  kDamaged,  // any other content: damage, or a header that a crash cut short (IsHalfMade)
};

// Writes kSegmentHeaderUsed bytes to `block`, checksum included.
void EncodeSegmentHeader(const SegmentHeader& header, char* block);
// Returns the checksum that the header in `block` must carry.
uint64_t SegmentHeaderChecksum(const char* block);
// Decodes the header in `block` into *header if it is valid. Throws Error (kUsage) for a valid
// header of another format version; `path` is for that sentence.
HeaderState DecodeSegmentHeader(std::string_view block, const std::string& path,
                                SegmentHeader* header);

// Returns whether a segment with a damaged header holds no record, because a crash came when the
// header was being written for a new or recycled segment. `before` is the header of the segment
// before it, which says once the segment is complete; `last` says that no segment follows it.
bool IsHalfMade(const SegmentHeader& before, uint64_t number, bool last);

struct FrameHeader {
  uint64_t checksum = 0;  // checksum of the rest of the frame, seeded with log id and LSN
  uint64_t chain = 0;     // checksum of the frame before this frame; 0 for the log's first
  Lsn durable = 0;        // the log was durable up to here when this frame was written
  uint32_t length = 0;    // bytes of header and records
  uint32_t span = 0;      // bytes from this frame to the next in the segment: length and padding
  uint32_t epoch = 0;     // number of times that the log has been opened
  uint32_t records = 0;
};

// Writes the header, checksum included, into the frame of header.length bytes at `frame`, whose
// records are in place. Returns the checksum.
uint64_t SealFrame(uint64_t log_id, Lsn lsn, const FrameHeader& header, char* frame);

// Decodes the kFrameHeaderBytes at `frame` and returns whether they can be a frame header: their
// lengths fit into `room`, the bytes to the end of the segment, and their durable position is not
// after the frame.
bool PlausibleFrame(Lsn lsn, uint64_t room, const char* frame, FrameHeader* header);
// Returns whether the header.length bytes at `frame` are a frame that SealFrame made for this log
// and position.
bool ValidFrame(uint64_t log_id, Lsn lsn, const FrameHeader& header, const char* frame);

std::string LogSegmentPath(const std::string& directory, uint64_t number);
// Returns the number of the segment whose file has that name, 12 for "log-000012"; nothing for any
// other name, also for "log-0000012".
std::optional<uint64_t> LogSegmentNumber(std::string_view name);

// A SegmentInfo describes a segment file as it was found.
struct SegmentInfo {
  std::string path;
  uint64_t number = 0;  // number in the file's name
  uint64_t bytes = 0;   // length of the file
  HeaderState state = HeaderState::kBlank;
  SegmentHeader header;
  // Returns whether the file is the segment that its name says. Any other file is left over from a
  // crash that came while the file was made or recycled; it holds no record that is needed.
  bool in_use() const { return state == HeaderState::kValid && header.number == number; }
};

// Returns the paths of all segment files of a directory by number; none when there is no directory.
std::vector<std::string> LogSegmentPaths(const std::string& directory);
// Returns all segment files of a directory by number. A segment whose making a crash interrupted is
// blank. Throws Error: kCorruption when a header is damaged, when the segments belong to two logs,
// or when a segment is missing or was cut; kUsage when a header has another format version; kIo
// when the directory or a file cannot be read.
std::vector<SegmentInfo> ListLogSegments(const std::string& directory, IoMode mode);

}  // namespace testbed

#endif  // TESTBED_DEVICE_LOG_LOG_FORMAT_H_

#include "device/log/log_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/error.h"
#include "device/file/extents.h"

namespace testbed {
namespace {

constexpr uint64_t kWindow = 1ull << 20;
constexpr uint64_t kBlock = 8192;      // reads begin and end at multiples of this, in bytes
constexpr uint64_t kZeroBlock = 4096;  // PassZeros steps over this many bytes

}  // namespace

// Reads one segment file through a window in memory that moves forward.
class LogReader::Source {
 public:
  Source(const std::string& path, IoMode mode) {
    FileOptions options;
    options.kind = FileKind::kLog;
    options.mode = mode;
    options.read_only = true;
    file_ = File::Open(path, options);
    size_ = file_->Size();
  }

  const std::string& path() const { return file_->path(); }
  uint64_t size() const { return size_; }

  // Returns the n bytes at offset, valid until the next call, or null when the file ends before.
  const char* Bytes(uint64_t offset, uint64_t n) {
    if (offset + n > size_) return nullptr;
    if (offset < begin_ || offset + n > begin_ + filled_) Load(offset, n);
    return offset + n > begin_ + filled_ ? nullptr : window_.data() + (offset - begin_);
  }
  // Passes over zeros in steps of kZeroBlock, since no frame header consists of them. Returns the
  // first offset from which on a header may begin before the next step. `written` is the range that
  // the call before found, at a lower offset.
  uint64_t PassZeros(uint64_t offset, uint64_t end, FileRange* written) {
    constexpr uint64_t kStep = kZeroBlock + kFrameHeaderBytes;
    for (; offset + kStep <= end; offset += kZeroBlock) {
      if (offset >= written->end) *written = NextWritten(file_->fd(), offset);
      const uint64_t unwritten_end = std::min(written->begin, end);
      if (offset + kStep <= unwritten_end) {
        offset += (unwritten_end - offset - kStep) / kZeroBlock * kZeroBlock;
      } else if (!IsZero(offset, kStep)) {
        break;
      }
    }
    return offset;
  }

 private:
  // Returns whether the n bytes at offset are there, and all of them are zeros.
  bool IsZero(uint64_t offset, uint64_t n) {
    const char* bytes = Bytes(offset, n);
    return bytes != nullptr && bytes[0] == 0 && std::memcmp(bytes, bytes + 1, n - 1) == 0;
  }
  void Load(uint64_t offset, uint64_t n) {
    begin_ = offset / kBlock * kBlock;
    const uint64_t end = (offset + std::max(n, kWindow) + kBlock - 1) / kBlock * kBlock;
    if (end - begin_ > window_.size()) window_ = AlignedBuffer(end - begin_);
    filled_ = file_->ReadSome(begin_, window_.data(), end - begin_);
  }

  std::unique_ptr<File> file_;
  uint64_t size_ = 0;
  AlignedBuffer window_;
  uint64_t begin_ = 0, filled_ = 0;
};

LogReader::~LogReader() = default;

LogReader::LogReader(const std::string& directory, Lsn from, IoMode mode)
    : directory_(directory), from_(from), mode_(mode) {
  for (SegmentInfo& info : ListLogSegments(directory, mode)) {
    const bool follows =
        !segments_.empty() && info.number == segments_.back().number + 1;  // no gap before it
    if (info.in_use()) {
      tail_.epoch = std::max(tail_.epoch, info.header.epoch);
      segments_.push_back(std::move(info));
    } else if (info.state == HeaderState::kBlank && follows) {
      // A blank segment holds no frames, unless its header was lost. The search for damage looks
      // into it, at the position that its number gives it.
      const SegmentHeader& before = segments_.back().header;
      info.header = before;
      info.header.number = info.number;
      info.header.first_lsn = before.end();
      segments_.push_back(std::move(info));
    }
  }
  if (segments_.empty()) {
    if (from > 0) {
      throw Error(Error::kCorruption, "directory " + directory +
                                          " holds no log, but one is needed from LSN " +
                                          std::to_string(from) + " on");
    }
    ended_ = true;
    return;
  }
  at_ = FirstSegment(from);
  const SegmentHeader& header = segments_[at_].header;
  tail_.log_id = header.log_id;
  tail_.segment = header.number;
  tail_.lsn = header.begin();
}

size_t LogReader::FirstSegment(Lsn from) const {
  if (from == 0) return 0;
  // `from` may be the end of a segment whose successor holds no frame yet. Then the last frame,
  // whose checksum the next frame has to name, is in the segment before.
  for (Lsn wanted : {from - 1, from}) {
    for (size_t i = 0; i < segments_.size(); ++i) {
      const SegmentInfo& info = segments_[i];
      if (info.in_use() && info.header.first_lsn <= wanted && wanted < info.header.end()) return i;
    }
  }
  throw Error(Error::kCorruption, "the log in " + directory_ + " has no file with LSN " +
                                      std::to_string(from) +
                                      ", from which it is needed; the first "
                                      "is " +
                                      segments_.front().path + " with LSN " +
                                      std::to_string(segments_.front().header.first_lsn));
}

LogReader::Source& LogReader::Open(size_t segment) {
  if (source_ == nullptr || source_segment_ != segment) {
    source_ = std::make_unique<Source>(segments_[segment].path, mode_);
    source_segment_ = segment;
  }
  return *source_;
}

// Returns whether a frame of this log lies at lsn, and if so leaves the frame's bytes in frame_.
bool LogReader::TryFrame(size_t segment, Lsn lsn, FrameHeader* header) {
  const SegmentHeader& s = segments_[segment].header;
  if (lsn + kFrameHeaderBytes > s.end()) return false;
  Source& source = Open(segment);
  const uint64_t offset = lsn - s.first_lsn;
  const char* bytes = source.Bytes(offset, kFrameHeaderBytes);
  if (bytes == nullptr || !PlausibleFrame(lsn, s.end() - lsn, bytes, header)) return false;
  bytes = source.Bytes(offset, header->length);
  if (bytes == nullptr || !ValidFrame(s.log_id, lsn, *header, bytes)) return false;
  frame_ = {bytes, header->length};
  return true;
}

void LogReader::Accept(size_t segment, Lsn lsn, const FrameHeader& header) {
  at_ = segment;
  chained_ = true;
  frame_lsn_ = lsn;
  next_record_ = kFrameHeaderBytes;
  tail_.segment = segments_[segment].number;
  tail_.lsn = lsn + header.span;
  tail_.frame = lsn;
  tail_.durable = std::max(tail_.durable, header.durable);
  tail_.chain = header.checksum;
  tail_.epoch = std::max(tail_.epoch, header.epoch);
}

// Moves to the next frame. Returns false at the first position that holds no valid successor.
bool LogReader::NextFrame() {
  FrameHeader header;
  const Lsn lsn = tail_.lsn;
  if (TryFrame(at_, lsn, &header) && (!chained_ || header.chain == tail_.chain)) {
    Accept(at_, lsn, header);
    return true;
  }
  // A group that did not fit into the rest of its segment has opened the next segment.
  const size_t next = at_ + 1;
  if (chained_ && next < segments_.size() && segments_[next].in_use() &&
      segments_[next].header.first_lsn == segments_[at_].header.end() &&
      TryFrame(next, segments_[next].header.begin(), &header) && header.chain == tail_.chain) {
    Accept(next, segments_[next].header.begin(), header);
    return true;
  }
  return false;
}

bool LogReader::Next(LogRecord* record) {
  while (!ended_) {
    if (next_record_ < frame_.size()) {
      uint32_t n;
      std::memcpy(&n, frame_.data() + next_record_, sizeof n);
      record->lsn = frame_lsn_ + next_record_;
      record->bytes = frame_.substr(next_record_ + kRecordHeaderBytes, n);
      next_record_ += kRecordHeaderBytes + n;
      record->end = frame_lsn_ + next_record_;
      if (record->lsn >= from_) return true;
    } else if (!NextFrame()) {
      frame_ = {};
      ThrowIfDamaged();
      ended_ = true;
    }
  }
  return false;
}

// Throws unless a crash can leave the end that was found. It cannot when a frame after the end
// states that the log was durable beyond the end, or when the log ends before from_.
void LogReader::ThrowIfDamaged() {
  bool frames = ScanSegment(at_, tail_.lsn + 1);
  // A segment behind one without frames usually waits for service. It is enough to read where its
  // first frame would be.
  for (size_t i = at_ + 1; i < segments_.size(); ++i) {
    FrameHeader header;
    const Lsn begin = segments_[i].header.begin();
    if (!frames && i > at_ + 1 && !TryFrame(i, begin, &header)) continue;
    frames = ScanSegment(i, begin);
  }
  frame_ = {};
  if (tail_.lsn < from_) {
    throw Error(Error::kCorruption,
                "the log in " + directory_ + " ends at LSN " + std::to_string(tail_.lsn) + " (" +
                    segments_[at_].path + ", offset " +
                    std::to_string(tail_.lsn - segments_[at_].header.first_lsn) + "), before LSN " +
                    std::to_string(from_) + " from which it is needed");
  }
}

// Looks for frames of this log at every byte of the segment from `begin` on, and returns whether it
// found any. Throws Error (kCorruption) for a frame which states that the log was durable beyond
// tail_.lsn, the end that was found.
bool LogReader::ScanSegment(size_t segment, Lsn begin) {
  const SegmentHeader& s = segments_[segment].header;
  Source& source = Open(segment);
  const Lsn end = std::min(s.end(), s.first_lsn + source.size());
  bool found = false;
  FrameHeader header;
  FileRange written;
  for (Lsn lsn = begin; lsn + kFrameHeaderBytes <= end; ++lsn) {
    // Most of a segment that was never full is zeros.
    if (lsn % kZeroBlock == 0) {
      lsn = s.first_lsn + source.PassZeros(lsn - s.first_lsn, end - s.first_lsn, &written);
    }
    const char* bytes = source.Bytes(lsn - s.first_lsn, kFrameHeaderBytes);
    if (bytes == nullptr) break;
    if (!PlausibleFrame(lsn, s.end() - lsn, bytes, &header)) continue;
    bytes = source.Bytes(lsn - s.first_lsn, header.length);
    if (bytes == nullptr || !ValidFrame(s.log_id, lsn, header, bytes)) continue;
    found = true;
    if (header.durable <= tail_.lsn) continue;
    const SegmentHeader& bad = segments_[at_].header;
    throw Error(Error::kCorruption, "log file " + segments_[at_].path + " is damaged at offset " +
                                        std::to_string(tail_.lsn - bad.first_lsn) + " (LSN " +
                                        std::to_string(tail_.lsn) +
                                        "): no record can be read there, but the frame at "
                                        "offset " +
                                        std::to_string(lsn - s.first_lsn) + " of " + source.path() +
                                        " was written when the log was durable up to LSN " +
                                        std::to_string(header.durable));
  }
  return found;
}

}  // namespace testbed

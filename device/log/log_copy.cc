#include "device/log/log_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "device/error.h"
#include "device/log/group_commit.h"
#include "device/log/log_reader.h"
#include "device/log/log_segments.h"

namespace testbed {
namespace {

constexpr size_t kCopiedAtOnce = 256 << 10;  // bytes

}  // namespace

LogCopy::LogCopy(Log* log, Lsn from, std::string directory)
    : log_(log),
      from_(from),
      directory_(std::move(directory)),
      end_(from),
      buffer_(kCopiedAtOnce) {}

LogCopy::~LogCopy() = default;

// The bytes before the written end never change. In a log without padding the last block is written
// again with the next group, and has the same bytes before that end.
void LogCopy::Advance(uint64_t most) {
  Lsn written = log_->WrittenLsn();
  // The bytes of the segment that precede `from` are copied together with the first record, and
  // never alone.
  if (written < end_) return;
  if (written - end_ > most) written = end_ + most;
  for (const std::shared_ptr<LogSegment>& segment : log_->impl_->segments_->InService(0)) {
    const Lsn begin = segment->header.begin(), end = segment->header.end();
    if (end < end_ || begin >= written) continue;
    const bool is_new = file_ == nullptr || header_.number != segment->header.number;
    if (is_new) BeginSegment(*segment);
    CopyBytes(*segment, is_new ? begin : end_, std::min(written, end));
  }
  end_ = written;
}

void LogCopy::Finish(Lsn least) {
  log_->Write(std::max(least, from_));
  Advance(UINT64_MAX);  // Advance copies no records that are appended from now on
  if (file_ != nullptr) EndSegment(false);
  SyncDirectory(directory_);
  ReadAgain();
}

void LogCopy::BeginSegment(const LogSegment& segment) {
  if (file_ != nullptr) EndSegment(true);
  // The header is copied field by field, since the log may be changing has_next at this moment. In
  // the copy, has_next depends on the copy's own segments.
  const SegmentHeader& from = segment.header;
  header_ = {};
  header_.log_id = from.log_id;
  header_.number = from.number;
  header_.first_lsn = from.first_lsn;
  header_.segment_bytes = from.segment_bytes;
  header_.epoch = from.epoch;
  header_.write_size = from.write_size;
  header_.pad = from.pad;
  header_.whole = from.whole;
  FileOptions options;
  options.kind = FileKind::kLog;
  options.create = FileOptions::kMustCreate;
  file_ = File::Open(LogSegmentPath(directory_, header_.number), options);
  if (header_.whole && !file_->Allocate(0, header_.segment_bytes)) {
    file_->Truncate(header_.segment_bytes);
  }
  WriteHeader();
}

void LogCopy::EndSegment(bool has_next) {
  if (has_next) {
    header_.has_next = true;
    WriteHeader();
  }
  file_->Sync(true);
  file_.reset();
}

void LogCopy::WriteHeader() {
  AlignedBuffer block(kSegmentHeaderBytes);
  std::memset(block.data(), 0, kSegmentHeaderBytes);
  EncodeSegmentHeader(header_, block.data());
  file_->Write(0, block.data(), kSegmentHeaderBytes);
}

void LogCopy::CopyBytes(const LogSegment& segment, Lsn begin, Lsn end) {
  for (Lsn at = begin; at < end;) {
    const size_t n = std::min<uint64_t>(buffer_.size(), end - at);
    const size_t got = segment.file->ReadSome(at - header_.first_lsn, buffer_.data(), n);
    if (got > 0) file_->Write(at - header_.first_lsn, buffer_.data(), got);
    // A segment file that grows with each write ends with its last record, so a short read is no
    // error. ReadAgain finds any other missing bytes.
    if (got < n) return;
    at += n;
  }
}

// A log that ends too early looks like a log that a crash has cut, so no later reader would notice
// missing records.
void LogCopy::ReadAgain() {
  LogReader reader(directory_, from_);
  for (LogRecord record; reader.Next(&record);) {
  }
  if (reader.tail().lsn >= end_) return;
  throw Error(Error::kCorruption, "the log was copied to " + directory_ + " up to LSN " +
                                      std::to_string(end_) + ", and can be read up to LSN " +
                                      std::to_string(reader.tail().lsn) +
                                      " only: a device does not return what was written to it");
}

}  // namespace testbed

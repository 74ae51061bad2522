#include "device/log/log_segments.h"

#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/durable.h"
#include "device/os/dir_lock.h"
#include "device/os/mutex.h"

namespace testbed {
namespace {

constexpr uint64_t kFillChunk = 1ull << 20;

}  // namespace

LogSegments::LogSegments(std::string directory, const LogOptions& options, uint64_t log_id,
                         uint32_t epoch)
    : directory_(std::move(directory)), options_(options), log_id_(log_id), epoch_(epoch) {}

std::unique_ptr<File> LogSegments::OpenFile(const std::string& path,
                                            FileOptions::Create create) const {
  FileOptions options;
  options.kind = FileKind::kLog;
  options.mode = options_.mode;
  options.create = create;
  options.dsync = options_.sync == LogSync::kDsync;
  return File::Open(path, options);
}

void LogSegments::CheckAlignment(const File& file) const {
  if (options_.write_size % file.alignment() == 0) return;
  std::string accepted;
  for (uint32_t size : {512u, 4096u, 8192u}) {
    if (size % file.alignment() != 0) continue;
    accepted += (accepted.empty() ? "" : " or ") + std::to_string(size);
  }
  throw Error(Error::kUsage,
              "log write_size " + std::to_string(options_.write_size) +
                  " is not possible with direct IO in " + directory_ +
                  ", where it comes in units of " + std::to_string(file.alignment()) + " bytes: " +
                  (accepted.empty() ? "" : "use " + accepted + ", or ") + "write the log buffered");
}

SegmentHeader LogSegments::NextHeader() const {
  SegmentHeader header;
  header.log_id = log_id_;
  header.number = segments_.empty() ? 1 : segments_.back()->header.number + 1;
  header.first_lsn = segments_.empty() ? 0 : segments_.back()->header.end();
  header.segment_bytes = options_.segment_bytes;
  header.epoch = epoch_;
  header.write_size = options_.write_size;
  header.pad = options_.pad;
  return header;
}

// Writes the whole header block, so that the written space of the file has no gap. A file system
// keeps a gap as an extent of its own; a few more extents do not fit into the inode, and a journal
// entry of the file is then twice as long. The header is at the front, so that a write that ends
// early has written it nevertheless.
void LogSegments::WriteHeader(File& file, const SegmentHeader& header) {
  AlignedBuffer block(kSegmentHeaderBytes);
  std::memset(block.data(), 0, kSegmentHeaderBytes);
  EncodeSegmentHeader(header, block.data());
  file.Write(0, block.data(), kSegmentHeaderBytes);
  counts_.bytes += kSegmentHeaderBytes;
  ++counts_.writes;
}

// Gives an empty file the space that LogOptions::space asks for.
void LogSegments::Fill(File& file) {
  if (options_.space == LogSpace::kGrowing) return;
  if (options_.space == LogSpace::kRecycled && !options_.prewrite &&
      file.Allocate(0, options_.segment_bytes, false)) {
    return;
  }
  if (options_.space != LogSpace::kRecycled) {
    if (!file.Allocate(0, options_.segment_bytes, options_.space == LogSpace::kKeepSize)) {
      throw Error(Error::kUsage, std::string("log space '") + LogSpaceName(options_.space) +
                                     "' is not possible in " + directory_ +
                                     ", whose file system has no fallocate: use recycled or "
                                     "growing");
    }
    return;
  }
  AlignedBuffer zeros(std::min(kFillChunk, options_.segment_bytes));
  std::memset(zeros.data(), 0, zeros.size());
  for (uint64_t at = 0; at < options_.segment_bytes; at += zeros.size()) {
    const uint64_t n = std::min<uint64_t>(zeros.size(), options_.segment_bytes - at);
    file.Write(at, zeros.data(), n);
    counts_.bytes += n;
    ++counts_.writes;
  }
}

void LogSegments::Make(SegmentHeader header) {
  IoScope scope(kLogWrite);
  const std::string path = LogSegmentPath(directory_, header.number);
  CheckLockedDirectory(path);
  // A file that exists under this name is left over from a crash and was found to hold no record.
  std::unique_ptr<File> file;
  try {
    file = OpenFile(path, FileOptions::kTruncate);
    CheckAlignment(*file);
    Fill(*file);
    header.whole = file->Size() == options_.segment_bytes;
    WriteHeader(*file, header);
    file->Sync(true);
    if (options_.uncached) file->Forget(0, 0);
    SyncDirectory(directory_);
    counts_.syncs += 1;
  } catch (...) {
    try {
      RemoveFile(path);
    } catch (const std::exception&) {
      // The file stays if it cannot be removed, or if the directory was moved and its name now
      // leads to files of others. The caller gets the first error.
    }
    throw;
  }
  ++counts_.created;
  segments_.push_back(std::make_shared<LogSegment>(LogSegment{header, std::move(file)}));
  NoteLast();
}

void LogSegments::NoteLast() {
  if (segments_.size() > 1) WriteHasNext(*segments_[segments_.size() - 2], true);
}

void LogSegments::WriteHasNext(LogSegment& segment, bool has_next) {
  const SegmentHeader before = segment.header;
  segment.header.has_next = has_next;
  ReplaceHeader(*segment.file, before, segment.header);
  segment.file->Sync();
  ++counts_.syncs;
}

// Writes `header` over `before`, and writes `before` again when that fails. A write that ends
// within the header leaves a header that does not match its checksum, and a log with such a segment
// cannot be opened.
void LogSegments::ReplaceHeader(File& file, const SegmentHeader& before,
                                const SegmentHeader& header) {
  try {
    WriteHeader(file, header);
  } catch (...) {
    try {
      WriteHeader(file, before);
    } catch (const std::exception&) {
      // A device that refused the first write may refuse this second one, too. The caller gets the
      // first write's error.
    }
    throw;
  }
}

// Gives an old segment the next number. The frames in it stay, but are no longer valid, as they
// were sealed for other positions.
void LogSegments::Recycle(LogSegment& old) {
  IoScope scope(kLogWrite);
  SegmentHeader header = NextHeader();
  header.whole = true;
  const std::string from = old.file->path();
  const std::string to = LogSegmentPath(directory_, header.number);
  CheckLockedDirectory(to);
  if (::rename(from.c_str(), to.c_str()) != 0) throw Error::Io("rename", from, errno);
  auto file = OpenFile(to, FileOptions::kMustExist);
  ReplaceHeader(*file, old.header, header);
  file->Sync();
  if (options_.uncached) file->Forget(0, 0);
  SyncDirectory(directory_);
  ++counts_.syncs;
  ++counts_.recycled;
  segments_.push_back(std::make_shared<LogSegment>(LogSegment{header, std::move(file)}));
  NoteLast();
}

void LogSegments::Remove(const std::string& path) {
  CheckLockedDirectory(path);
  NameLoss loss(path);
  if (::unlink(path.c_str()) != 0) throw Error::Io("remove", path, errno);
  loss.Done();
  SyncDirectory(directory_);
  ++counts_.removed;
}

void LogSegments::Create() {
  LockGuard lock(mutex_);
  Make(NextHeader());
}

// Returns whether a segment that was found can wait for service behind the last segment.
bool LogSegments::Fits(const SegmentInfo& info, const File& file) const {
  return options_.space == LogSpace::kRecycled && info.in_use() &&
         info.number == segments_.back()->header.number + 1 &&
         info.header.first_lsn == segments_.back()->header.end() &&
         info.header.segment_bytes == options_.segment_bytes &&
         file.Size() == info.header.segment_bytes;
}

void LogSegments::Adopt(const std::vector<SegmentInfo>& found, uint64_t current) {
  LockGuard lock(mutex_);
  // Unfit segments are removed from the highest number down, so that the numbers of the rest have
  // no gap at any moment. So this first decides which segments stay.
  std::vector<std::string> unfit;
  std::vector<LogSegment> unfit_segments;
  for (const SegmentInfo& info : found) {
    if (info.in_use() && info.number <= current) {
      // A gap in the numbers up to `current` means that somebody removed segments by hand.
      segments_.push_back(std::make_shared<LogSegment>(
          LogSegment{info.header, OpenFile(info.path, FileOptions::kMustExist)}));
      CheckAlignment(*segments_.back()->file);
      if (info.number == current) current_ = segments_.size() - 1;
      continue;
    }
    auto file = OpenFile(info.path, FileOptions::kMustExist);
    if (!segments_.empty() && Fits(info, *file)) {
      segments_.push_back(std::make_shared<LogSegment>(LogSegment{info.header, std::move(file)}));
    } else {
      unfit.push_back(info.path);
      if (info.in_use()) unfit_segments.push_back({info.header, std::move(file)});
    }
  }
  // A header that speaks of an unfit segment is changed and synced before that segment is removed.
  // This includes the headers of unfit segments: what was read of them may not be durable.
  if (!unfit.empty() && !segments_.empty()) WriteHasNext(*segments_.back(), false);
  for (LogSegment& segment : unfit_segments) WriteHasNext(segment, false);
  for (auto path = unfit.rbegin(); path != unfit.rend(); ++path) Remove(*path);
  // An earlier sync of these headers may have failed, and frames will follow them without another
  // sync. The last segment's header is synced first, so that each segment is durable before the
  // header of the segment before speaks of it.
  for (size_t i = segments_.size(); i-- > current_;) {
    WriteHasNext(*segments_[i], i + 1 < segments_.size());
  }
}

void LogSegments::WriteAgain(Lsn begin, Lsn end) {
  LockGuard lock(mutex_);
  const auto block = [](uint64_t n) { return n / kSegmentHeaderBytes * kSegmentHeaderBytes; };
  for (const auto& segment : segments_) {
    const Lsn first = segment->header.first_lsn;
    const Lsn from = std::max(begin, segment->header.begin()),
              to = std::min(end, segment->header.end());
    if (from >= to) continue;
    counts_.bytes += testbed::WriteAgain(segment->file.get(), block(from - first),
                                         block(to - first + kSegmentHeaderBytes - 1));
    ++counts_.syncs;
  }
}

void LogSegments::Prepare(bool recovers) {
  LockGuard lock(mutex_);
  if (options_.space != LogSpace::kRecycled) return;
  const size_t reserve = reserves() && !recovers ? 1 : 0;
  const size_t least = std::max<size_t>(options_.min_segments, current_ + 1 + reserve);
  while (segments_.size() < least) Make(NextHeader());
}

void LogSegments::KeepReserve() {
  LockGuard lock(mutex_);
  if (!reserves()) return;
  reserve_ = 1;
  while (segments_.size() < current_ + 1 + reserve_) Make(NextHeader());
}

std::shared_ptr<LogSegment> LogSegments::Current() {
  LockGuard lock(mutex_);
  return segments_[current_];
}

std::vector<std::shared_ptr<LogSegment>> LogSegments::InService(uint64_t number) {
  LockGuard lock(mutex_);
  std::vector<std::shared_ptr<LogSegment>> segments;
  for (size_t i = 0; i <= current_; ++i) {
    if (segments_[i]->header.number >= number) segments.push_back(segments_[i]);
  }
  return segments;
}

std::shared_ptr<LogSegment> LogSegments::Advance() {
  LockGuard lock(mutex_);
  while (segments_.size() < current_ + 2 + reserve_) Make(NextHeader());
  return segments_[++current_];
}

void LogSegments::TruncateBefore(Lsn lsn, Lsn written) {
  LockGuard lock(mutex_);
  if (reserves()) reserve_ = 1;
  while (current_ > 0) {
    const std::shared_ptr<LogSegment> old = segments_.front();
    if (old->header.end() > lsn || old->header.end() >= written) break;
    const bool keep = options_.space == LogSpace::kRecycled &&
                      old->header.segment_bytes == options_.segment_bytes &&
                      (options_.max_segments == 0 || segments_.size() <= options_.max_segments) &&
                      old->file->Size() == options_.segment_bytes;
    if (keep) {
      Recycle(*old);
    } else {
      Remove(old->file->path());
    }
    segments_.pop_front();
    --current_;
  }
}

Lsn LogSegments::BeginLsn() const {
  LockGuard lock(mutex_);
  return segments_.front()->header.begin();
}

uint64_t LogSegments::SizeOnDisk() const {
  LockGuard lock(mutex_);
  uint64_t bytes = 0;
  for (const auto& segment : segments_) bytes += segment->file->Size();
  return bytes;
}

LogSegments::Counts LogSegments::counts() const {
  LockGuard lock(mutex_);
  return counts_;
}

}  // namespace testbed

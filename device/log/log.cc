#include "device/log/log.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/file/durable.h"
#include "device/log/group_commit.h"
#include "device/log/log_format.h"
#include "device/log/log_reader.h"
#include "device/log/log_segments.h"
#include "device/os/random_id.h"

namespace testbed {
namespace {

void CheckOptions(const LogOptions& o) {
  auto fail = [](const std::string& sentence) { throw Error(Error::kUsage, sentence); };
  if (o.mode == IoMode::kMmap) fail("a log cannot be written by mmap: use direct or buffered");
  if (o.write_size != 512 && o.write_size != 4096 && o.write_size != 8192) {
    fail("log write_size " + std::to_string(o.write_size) + " is none of 512, 4096, 8192");
  }
  if (o.segment_bytes % kSegmentHeaderBytes != 0 || o.segment_bytes < (64u << 10) ||
      o.segment_bytes > (1u << 30)) {
    fail("log segment_bytes " + std::to_string(o.segment_bytes) +
         " is not a multiple of 8192 from 64k to 1G");
  }
  if (o.max_segments != 0 && o.max_segments < std::max(2u, o.min_segments)) {
    fail("log max_segments " + std::to_string(o.max_segments) +
         " is neither 0 nor at least 2 and min_segments, which is " +
         std::to_string(o.min_segments));
  }
  if (o.buffer_bytes < kLogGroups * kMinLogGroupBytes || o.buffer_bytes > (1u << 30)) {
    fail("log buffer_bytes " + std::to_string(o.buffer_bytes) + " is not from 64k to 1G");
  }
}

// Makes the log's files durable before they are read. Records that a crash of the process left only
// in the page cache would otherwise be replayed now and be lost in the next power cut.
void MakeSegmentsDurable(const std::string& directory, IoMode mode) {
  for (const SegmentInfo& info : ListLogSegments(directory, mode)) {
    MakeDurable(info.path, FileKind::kLog, mode);
  }
  // A segment may hold records although the sync of its directory failed earlier.
  SyncDirectory(directory);
}

// Reads the rest of the log and returns where it goes on. Throws Error (kCorruption) when the log
// is damaged.
LogReader::Tail ReadAll(LogReader* reader, const Log::Replay& replay = {}) {
  LogRecord record;
  while (reader->Next(&record)) {
    if (replay) replay(record);
  }
  return reader->tail();
}

// Calls `replay` for each record of a log that ReadAll has read up to `tail`.
void ReplayAll(const std::string& directory, Lsn from, IoMode mode, const LogReader::Tail& tail,
               const Log::Replay& replay) {
  LogReader reader(directory, from, mode);
  const Lsn end = ReadAll(&reader, replay).lsn;
  if (end == tail.lsn) return;
  throw Error(Error::kCorruption, "the log in " + directory + " was read up to LSN " +
                                      std::to_string(tail.lsn) + ", and then up to LSN " +
                                      std::to_string(end) +
                                      " only: the device does not return what it has returned");
}

// Returns whether a segment file has nothing but zeros behind its header.
bool IsBlank(const std::string& path) {
  FileOptions options;
  options.kind = FileKind::kLog;
  options.read_only = true;
  const std::unique_ptr<File> file = File::Open(path, options);
  std::vector<char> piece(1 << 20);
  uint64_t at = kSegmentHeaderBytes;
  while (const size_t n = file->ReadSome(at, piece.data(), piece.size())) {
    const auto end = piece.begin() + static_cast<ptrdiff_t>(n);
    if (std::any_of(piece.begin(), end, [](char c) { return c != 0; })) return false;
    at += n;
  }
  return true;
}

}  // namespace

const char* LogSyncName(LogSync sync) {
  static constexpr const char* kNames[] = {"fdatasync", "dsync", "none"};
  return kNames[static_cast<size_t>(sync)];
}

const char* LogSpaceName(LogSpace space) {
  static constexpr const char* kNames[] = {"recycled", "fallocated", "growing", "keep-size"};
  return kNames[static_cast<size_t>(space)];
}

std::unique_ptr<Log> Log::Open(const std::string& directory, const LogOptions& options, Lsn from,
                               const Replay& replay, uint64_t id) {
  CheckOptions(options);
  IoScope scope(kOpen);
  MakeSegmentsDurable(directory, options.mode);
  LogReader reader(directory, from, options.mode);
  if (id != 0 && reader.empty()) {
    throw Error(Error::kCorruption, "the log in " + directory +
                                        " is missing: put it back, restore the database from a "
                                        "copy, or load it again");
  }
  if (id != 0 && reader.tail().log_id != id) {
    throw Error(Error::kCorruption, "the log in " + directory +
                                        " belongs to another database: restore the database from "
                                        "a copy, or load it again");
  }
  LogReader::Tail tail;
  std::unique_ptr<LogSegments> segments;
  bool recovers = false;
  if (reader.empty()) {
    tail.log_id = RandomId();
    segments = std::make_unique<LogSegments>(directory, options, tail.log_id, 1);
    segments->Create();
    segments->Prepare(false);
    tail.lsn = segments->BeginLsn();
  } else {
    tail = ReadAll(&reader, [&](const LogRecord&) { recovers = true; });
    segments = std::make_unique<LogSegments>(directory, options, tail.log_id, tail.epoch + 1);
    segments->Adopt(ListLogSegments(directory, options.mode), tail.segment);
    segments->WriteAgain(std::max(from, tail.durable), tail.lsn);
    // The pages that `replay` changes may be written at once, so the log is durable before.
    if (replay) ReplayAll(directory, from, options.mode, tail, replay);
    try {
      segments->Prepare(recovers);
    } catch (const Error& error) {
      // A full disk must not make Open fail. The log makes the segment later, when it needs it.
      if (!error.disk_is_full()) throw;
    }
  }
  auto impl = std::make_unique<Impl>(directory, options, std::move(segments), tail);
  // The frame that begins the epoch may have needed the reserve.
  recovers ? impl->BeginRecovery() : impl->KeepReserve();
  return std::unique_ptr<Log>(new Log(std::move(impl)));
}

void Log::RemoveUnused(const std::string& directory) {
  const std::vector<std::string> paths = LogSegmentPaths(directory);
  // If every segment is blank, the log has no records, even if no header is whole.
  const bool blank = std::all_of(paths.begin(), paths.end(), IsBlank);
  if (!blank && HasRecords(directory, IoMode::kBuffered, 0)) {
    throw Error(Error::kCorruption,
                "log file " + paths.front() +
                    " holds records though the database's data file is missing: put the data file "
                    "back, restore the database from a copy, or load it again with --fresh");
  }
  for (const std::string& path : paths) RemoveFile(path);
}

bool Log::HasRecords(const std::string& directory, IoMode mode, Lsn from) {
  MakeSegmentsDurable(directory, mode);
  LogReader reader(directory, from, mode);
  LogRecord record;
  return !reader.empty() && reader.Next(&record);
}

Log::Log(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Log::~Log() = default;

LogRange Log::Append(std::span<const std::string_view> parts) {
  size_t size = 0;
  for (std::string_view part : parts) size += part.size();
  return Append(size, [parts](char* to) {
    for (std::string_view part : parts) {
      if (!part.empty()) std::memcpy(to, part.data(), part.size());
      to += part.size();
    }
  });
}
LogRange Log::Append(size_t size, const std::function<void(char* to)>& fill) {
  return impl_->Append(size, fill);
}
size_t Log::MaxRecordBytes() const { return impl_->MaxRecordBytes(); }
void Log::WaitDurable(Lsn end) { impl_->WaitDurable(end); }
void Log::Write(Lsn end) { impl_->Wait(end, false); }
void Log::Sync() { impl_->Wait(EndLsn(), true); }
Lsn Log::EndLsn() const { return impl_->end_.load(std::memory_order_acquire); }
Lsn Log::WrittenLsn() const { return impl_->written_.load(std::memory_order_acquire); }
Lsn Log::DurableLsn() const { return impl_->durable_.load(std::memory_order_acquire); }
Lsn Log::BeginLsn() const { return impl_->segments_->BeginLsn(); }
void Log::TruncateBefore(Lsn lsn) { impl_->TruncateBefore(lsn); }
bool Log::LacksReserve() const { return impl_->LacksReserve(); }
LogCounters Log::Counters() const { return impl_->Counters(); }
const LogOptions& Log::options() const { return impl_->options_; }
uint64_t Log::id() const { return impl_->id_; }
uint64_t Log::SizeOnDisk() const { return impl_->segments_->SizeOnDisk(); }
uint64_t Log::MemoryBytes() const { return impl_->MemoryBytes(); }

std::vector<std::pair<std::string, std::string>> Log::EffectiveSettings() const {
  const LogOptions& o = options();
  return {{"log_io", IoModeName(o.mode)},
          {"log_write_size", std::to_string(o.write_size)},
          {"log_pad", o.pad ? "true" : "false"},
          {"log_sync", LogSyncName(o.sync)},
          {"log_space", LogSpaceName(o.space)},
          {"log_prewrite", o.prewrite ? "true" : "false"},
          {"log_uncached", o.uncached ? "true" : "false"},
          {"log_segment_bytes", std::to_string(o.segment_bytes)},
          {"log_min_segments", std::to_string(o.min_segments)},
          {"log_max_segments", std::to_string(o.max_segments)},
          {"log_buffer_bytes", std::to_string(o.buffer_bytes)},
          {"log_flush_interval_ms", std::to_string(o.flush_interval_ms)}};
}

}  // namespace testbed

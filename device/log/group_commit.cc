#include "device/log/group_commit.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "device/log/lazy_pace.h"
#include "device/os/thread.h"

namespace testbed {
namespace {

uint64_t RoundUp(uint64_t n, uint64_t to) { return (n + to - 1) / to * to; }

// Runs the action and returns the error that it throws, if it throws one.
template <typename Action>
std::optional<Error> ErrorOf(const Action& action) {
  try {
    action();
  } catch (const std::exception& e) {
    return Error::Of(e);
  }
  return std::nullopt;
}

}  // namespace

Log::Impl::Impl(std::string directory, const LogOptions& options,
                std::unique_ptr<LogSegments> segments, const LogReader::Tail& tail)
    : options_(options),
      id_(tail.log_id),
      segments_(std::move(segments)),
      directory_(std::move(directory)),
      granule_(options.pad || options.mode == IoMode::kDirect ? options.write_size : 1),
      group_bytes_(RoundUp(options.buffer_bytes / kLogGroups, kMaxLogWriteSize)),
      epoch_(tail.epoch + 1),
      next_(tail.lsn),
      chain_(tail.chain) {
  for (Group& group : ring_) group.memory = AlignedBuffer(group_bytes_);
  segment_ = segments_->Current();
  segment_end_ = segment_->header.end();
  synced_segment_ = segment_->header.number;
  if (const size_t part = next_ % granule_; part != 0) {
    segment_->file->Read(next_ - part - segment_->header.first_lsn, last_block_.data(), part);
  }
  // An empty frame begins the epoch. It is durable before any other frame of the epoch is written,
  // so no later open can choose this epoch again. It also states that the recovered log is durable.
  durable_ = written_ = end_ = next_;
  UniqueLock lock(latch_);
  OpenGroup(0);
  end_ = Slot(head_).lsn + kFrameHeaderBytes;
  Lead(true, true);
  lock.unlock();
  if (options_.flush_interval_ms != 0) {
    flusher_ = StartThread("the flusher of the log", [this] { RunFlusher(); });
  }
}

Log::Impl::~Impl() {
  if (flusher_.joinable()) {
    {
      LockGuard lock(latch_);
      stop_ = true;
    }
    wake_.notify_all();
    flusher_.join();
  }
  try {
    WaitDurable(end_);
  } catch (const std::exception&) {
    // The log is dead. Each thread that waited for these bytes has got the error.
  }
}

bool Log::Impl::Fits(const Group& group, size_t need) const {
  return group.end + need <= group.memory.size() &&
         group.lsn + (group.end - group.begin) + need <= segment_end_;
}

// Opens a group at the end of the log, with room for a record of `need` bytes, header included.
// Changes nothing when it throws std::bad_alloc.
void Log::Impl::OpenGroup(size_t need) {
  const bool opens_segment = next_ + kFrameHeaderBytes + need > segment_end_;
  const Lsn lsn = opens_segment ? segment_end_ + kSegmentHeaderBytes : next_;
  const size_t begin = lsn % granule_, end = begin + kFrameHeaderBytes;
  Group& group = Slot(head_);
  if (end + need > group.memory.size()) {
    group.memory = AlignedBuffer(RoundUp(end + need, kMaxLogWriteSize));
  }
  group.lsn = lsn;
  group.begin = begin;
  group.end = end;
  group.records = 0;
  group.opens_segment = opens_segment;
  if (opens_segment) segment_end_ += options_.segment_bytes;
  open_ = true;
}

void Log::Impl::SealGroup() {
  Group& group = Slot(head_);
  const size_t end = options_.pad ? RoundUp(group.end, granule_) : group.end;
  next_ = group.next = group.lsn + (end - group.begin);
  open_ = false;
  ++head_;
}

LogRange Log::Impl::Append(size_t size, const std::function<void(char* to)>& fill) {
  if (size > MaxRecordBytes()) {
    throw Error(Error::kUsage, "a log record of " + std::to_string(size) +
                                   " bytes is too long for log segment_bytes " +
                                   std::to_string(options_.segment_bytes) + ", which allow " +
                                   std::to_string(MaxRecordBytes()));
  }
  const size_t need = kRecordHeaderBytes + size;
  LockGuard lock(latch_);
  for (;;) {
    if (error_) ThrowFailed();
    if (no_reserve_) throw Error(*no_reserve_);
    if (open_ && Fits(Slot(head_), need)) break;
    if (open_) {
      SealGroup();
      if (flusher_.joinable()) wake_.notify_one();
    } else if (head_ - tail_ < kLogGroups) {
      OpenGroup(need);
    } else {
      MakeRoom();
    }
  }
  Group& group = Slot(head_);
  char* to = group.memory.data() + group.end;
  const auto length = static_cast<uint32_t>(size);
  std::memcpy(to, &length, sizeof length);
  fill(to + kRecordHeaderBytes);
  LogRange range;
  range.begin = group.lsn + (group.end - group.begin);
  range.end = range.begin + need;
  group.end += need;
  ++group.records;
  end_.store(range.end, std::memory_order_release);
  return range;
}

// Makes room for a group when all groups are sealed. Waits for the leader to write one. If there is
// no leader, the calling thread leads.
void Log::Impl::MakeRoom() {
  if (writing_) {
    done_.wait(latch_);
  } else {
    Lead(false, false);
  }
}

void Log::Impl::Wait(Lsn end, bool durable) {
  const std::atomic<Lsn>& reached = durable ? durable_ : written_;
  if (reached.load(std::memory_order_acquire) >= end) return;
  LockGuard lock(latch_);
  end = std::min(end, end_.load(std::memory_order_relaxed));
  while (reached.load(std::memory_order_relaxed) < end) {
    if (error_) ThrowFailed();
    if (writing_ || (durable && syncing_)) {
      done_.wait(latch_);
    } else {
      Lead(true, durable);
    }
  }
}

// Makes the calling thread the leader. It writes the sealed groups and, with `open_group_too`, the
// open group. With `sync` it then syncs them; no other thread may be syncing. Throws the error of a
// write or sync, which has killed the log. The caller holds the latch, which Lead releases
// meanwhile.
void Log::Impl::Lead(bool open_group_too, bool sync) {
  writing_ = true;
  syncing_ = syncing_ || sync;
  if (open_group_too && open_) SealGroup();
  const uint64_t first = tail_, last = head_;
  latch_.unlock();
  std::optional<Error> error = ErrorOf([&] { WriteSealed(first, last); });
  const std::shared_ptr<LogSegment> newest = segment_;
  const Lsn end = written_;
  latch_.lock();
  writing_ = false;
  if (error) Fail(*error);
  if (sync) {
    if (!error && durable_ < end) {
      // done_ is notified under the latch, so that a waiter cannot miss the notification between
      // its check and its sleep.
      done_.notify_all();
      latch_.unlock();
      error = ErrorOf([&] { SyncWritten(newest, end); });
      latch_.lock();
      if (error) Fail(*error);
    }
    syncing_ = false;
  }
  done_.notify_all();
  if (error) throw *error;
}

void Log::Impl::WriteSealed(uint64_t first, uint64_t last) {
  for (uint64_t i = first; i < last; ++i) {
    Group& group = Slot(i);
    WriteGroup(group);
    AlignedBuffer smaller;  // replaces a group's memory that was enlarged for a long record
    try {
      if (group.memory.size() > group_bytes_) smaller = AlignedBuffer(group_bytes_);
    } catch (const std::bad_alloc&) {
      // The group keeps its enlarged memory. Its bytes are in the file already, so no write has
      // failed.
    }
    LockGuard lock(latch_);
    if (smaller.size() != 0) group.memory = std::move(smaller);
    tail_ = i + 1;
    written_.store(group.next, std::memory_order_release);
    if (options_.sync == LogSync::kDsync) durable_.store(group.next, std::memory_order_release);
    done_.notify_all();
  }
}

void Log::Impl::WriteGroup(Group& group) {
  if (group.opens_segment) segment_ = segments_->Advance();
  const size_t end = RoundUp(group.end, granule_);
  const Lsn base = group.lsn - group.begin;
  if (base < segment_->header.first_lsn || base + end > segment_->header.end()) {
    throw Error(Error::kRun, "a group of the log at LSN " + std::to_string(group.lsn) +
                                 " is not within " + segment_->file->path());
  }
  char* memory = group.memory.data();
  std::memcpy(memory, last_block_.data(), group.begin);
  std::memset(memory + group.end, 0, end - group.end);
  FrameHeader header;
  header.chain = chain_;
  header.durable = durable_.load(std::memory_order_relaxed);
  header.length = static_cast<uint32_t>(group.end - group.begin);
  header.span = options_.pad ? static_cast<uint32_t>(end - group.begin) : header.length;
  header.epoch = epoch_;
  header.records = group.records;
  chain_ = SealFrame(id_, group.lsn, header, memory + group.begin);
  segment_->file->Write(base - segment_->header.first_lsn, memory, end);
  const size_t part = options_.pad ? 0 : group.end % granule_;
  std::memcpy(last_block_.data(), memory + group.end - part, part);

  const uint64_t framing = kFrameHeaderBytes + group.records * uint64_t{kRecordHeaderBytes};
  groups_.Add(1);
  records_.Add(group.records);
  payload_.Add(header.length - framing);
  framing_.Add(framing);
  padding_.Add(end - group.end);
  rewritten_.Add(group.begin);
}

// Makes all bytes before `end` durable. `newest` is the segment that holds the last of them.
void Log::Impl::SyncWritten(const std::shared_ptr<LogSegment>& newest, Lsn end) {
  // Groups may have gone into several segments since the last sync; nearly always it is one.
  if (synced_segment_ != newest->header.number) {
    for (const auto& segment : segments_->InService(synced_segment_)) {
      if (segment->header.number >= newest->header.number) break;
      segment->file->Sync();
      syncs_.Add(1);
    }
  }
  newest->file->Sync();
  syncs_.Add(1);
  synced_segment_ = newest->header.number;
  durable_.store(end, std::memory_order_release);
}

// Kills the log with its first error.
void Log::Impl::Fail(const Error& error) {
  if (error_) return;
  error_ = error;
  try {
    error_ = error.With("the log in " + directory_ +
                        " takes no more records after an error: " + error.what());
  } catch (const std::bad_alloc&) {
    return;  // error_ keeps the plain sentence of the error
  }
}

void Log::Impl::ThrowFailed() const { throw Error(*error_); }

// With LogSync::kNone, a truncation must not run beside a sync: it can remove a segment that is
// written and not yet synced, and the sync of a file that has no name any more kills the log. In
// the other modes a segment is removed only when the log is durable beyond the segment's end.
void Log::Impl::TruncateBefore(Lsn lsn) {
  const bool takes_turn = options_.sync == LogSync::kNone;
  {
    LockGuard lock(latch_);
    while (takes_turn && syncing_) done_.wait(latch_);
    if (error_) ThrowFailed();
    syncing_ = syncing_ || takes_turn;
  }
  const Lsn newest = (takes_turn ? written_ : durable_).load();
  const auto error = ErrorOf([&] { segments_->TruncateBefore(std::min(lsn, newest), newest); });
  if (takes_turn || error) {
    LockGuard lock(latch_);
    if (takes_turn) syncing_ = false;
    if (error) Fail(*error);
    done_.notify_all();
    if (error) throw Error(*error);
  }
  // Recovery may have used the reserve, and TruncateBefore may have recycled no segment, as it
  // recycles only segments of the right size.
  KeepReserve();
}

void Log::Impl::KeepReserve() {
  std::optional<Error> error = ErrorOf([&] { segments_->KeepReserve(); });
  LockGuard lock(latch_);
  if (error && !error->disk_is_full()) {
    Fail(*error);
    throw Error(*error);
  }
  no_reserve_ = std::move(error);
  lacks_reserve_ = no_reserve_.has_value();
}

// The flusher thread flushes once within each interval, and writes full groups in between.
void Log::Impl::RunFlusher() {
  LazyPace pace{std::chrono::milliseconds(options_.flush_interval_ms)};
  const bool durable = options_.flush_syncs && options_.sync != LogSync::kNone;
  UniqueLock lock(latch_);
  while (!stop_ && !error_) {
    wake_.wait_until(latch_, pace.Next(),
                     [&]() REQUIRES(latch_) { return stop_ || error_ || head_ != tail_; });
    if (stop_ || error_) break;
    try {
      if (LazyPace::Clock::now() >= pace.Next()) {
        pace.Begin();
        const Lsn end = end_;
        if ((durable ? durable_ : written_) >= end) continue;
        lock.unlock();
        IoScope scope(kLogWrite);
        Wait(end, durable);
        lock.lock();
        pace.End();
      } else if (writing_) {
        done_.wait_until(latch_, pace.Next());
      } else if (head_ != tail_) {
        IoScope scope(kLogWrite);
        Lead(false, false);
      }
    } catch (const Error&) {
      break;  // error_ keeps the error for all callers
    }
  }
}

LogCounters Log::Impl::Counters() const {
  LogCounters c;
  c.records = records_.Get();
  c.payload_bytes = payload_.Get();
  c.framing_bytes = framing_.Get();
  c.padding_bytes = padding_.Get();
  c.rewritten_bytes = rewritten_.Get();
  c.written_bytes = c.payload_bytes + c.framing_bytes + c.padding_bytes + c.rewritten_bytes;
  c.groups = c.writes = groups_.Get();
  c.syncs = syncs_.Get();
  const LogSegments::Counts s = segments_->counts();
  c.segments_created = s.created;
  c.segments_recycled = s.recycled;
  c.segments_removed = s.removed;
  c.preparation_bytes = s.bytes;
  return c;
}

uint64_t Log::Impl::MemoryBytes() const {
  LockGuard lock(latch_);
  uint64_t bytes = last_block_.size();
  for (const Group& group : ring_) bytes += group.memory.size();
  return bytes;
}

}  // namespace testbed

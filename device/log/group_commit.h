// Group commit brings the records that threads append to the device (device/log/log.h).
//
// Append copies a record into a group in memory. A thread that needs its record on the device
// becomes the leader, unless another thread leads. The leader seals the open group, writes all
// sealed groups and syncs the segment, for every thread that waits meanwhile.
#ifndef TESTBED_DEVICE_LOG_GROUP_COMMIT_H_
#define TESTBED_DEVICE_LOG_GROUP_COMMIT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/file.h"
#include "device/log/log.h"
#include "device/log/log_format.h"
#include "device/log/log_reader.h"
#include "device/log/log_segments.h"
#include "device/os/mutex.h"

namespace testbed {

// kLogGroups is the number of groups: one fills and one is written, while two wait in between.
inline constexpr size_t kLogGroups = 4;
inline constexpr uint64_t kMinLogGroupBytes = 2 * kMaxLogWriteSize;

// Groups go through a ring. The groups at [tail_, head_) are sealed, in log order; the group at
// head_ is open if open_ is set. latch_ protects the ring and all positions. The thread that set
// writing_ is the leader: it alone writes groups, and owns the members marked so without holding
// the latch. The thread that set syncing_ alone syncs the written groups, or truncates a log whose
// sync mode is kNone. While it syncs, a thread that wants its record durable waits, so that records
// gather for the next group; a thread that finds all groups full, or that only needs its record
// written, may lead.
class Log::Impl {
 public:
  Impl(std::string directory, const LogOptions& options, std::unique_ptr<LogSegments> segments,
       const LogReader::Tail& tail);
  ~Impl();

  LogRange Append(size_t size, const std::function<void(char* to)>& fill);
  void WaitDurable(Lsn end) { Wait(end, options_.sync != LogSync::kNone); }
  // Returns when all bytes before `end` are durable or, without `durable`, written.
  void Wait(Lsn end, bool durable);
  void TruncateBefore(Lsn lsn);
  // Begins recovery, in which Append may use the reserve. It ends at the next TruncateBefore.
  void BeginRecovery() { lacks_reserve_ = segments_->reserves(); }
  // Keeps the reserve from now on. While the disk is too full for one, Append throws.
  void KeepReserve();
  bool LacksReserve() const { return lacks_reserve_.load(std::memory_order_acquire); }
  size_t MaxRecordBytes() const {
    return options_.segment_bytes - kSegmentHeaderBytes - kFrameHeaderBytes - kRecordHeaderBytes;
  }
  LogCounters Counters() const;
  uint64_t MemoryBytes() const;

  const LogOptions options_;
  const uint64_t id_;
  const std::unique_ptr<LogSegments> segments_;
  std::atomic<Lsn> end_{0}, written_{0}, durable_{0};

 private:
  struct Group {
    AlignedBuffer memory;
    Lsn lsn = 0;  // LSN of the group's frame
    // This is the offset of the frame in `memory`. Bytes of earlier groups that lie in the same
    // block of the file come before it.
    size_t begin = 0;
    size_t end = 0;  // end of the records in `memory`
    Lsn next = 0;    // LSN after the frame and its padding, set when the group is sealed
    uint32_t records = 0;
    bool opens_segment = false;
  };

  // Only WriteSealed and WriteGroup call Slot without the latch: a sealed group belongs to the
  // leader.
  Group& Slot(uint64_t i) NO_THREAD_SAFETY_ANALYSIS { return ring_[i % kLogGroups]; }
  // The caller of these functions holds the latch, except for WriteSealed, WriteGroup and
  // SyncWritten, which run without it.
  bool Fits(const Group& group, size_t need) const REQUIRES(latch_);
  void OpenGroup(size_t need) REQUIRES(latch_);
  void SealGroup() REQUIRES(latch_);
  void MakeRoom() REQUIRES(latch_);
  void Lead(bool open_group_too, bool sync) REQUIRES(latch_);
  void WriteSealed(uint64_t first, uint64_t last) EXCLUDES(latch_);
  void WriteGroup(Group& group);
  void SyncWritten(const std::shared_ptr<LogSegment>& newest, Lsn end);
  void Fail(const Error& error) REQUIRES(latch_);
  [[noreturn]] void ThrowFailed() const REQUIRES(latch_);
  void RunFlusher();

  const std::string directory_;
  const size_t granule_;  // file writes begin and end at multiples of this, in bytes
  const size_t group_bytes_;
  const uint32_t epoch_;

  mutable Mutex latch_;
  CondVar done_;  // notified when groups are written or synced, and when a thread stops doing so
  std::array<Group, kLogGroups> ring_ GUARDED_BY(latch_);
  uint64_t head_ GUARDED_BY(latch_) = 0, tail_ GUARDED_BY(latch_) = 0;
  bool open_ GUARDED_BY(latch_) = false;
  bool writing_ GUARDED_BY(latch_) = false, syncing_ GUARDED_BY(latch_) = false;
  Lsn next_ GUARDED_BY(latch_) = 0;  // LSN of the next frame, if the frame fits into the segment
  Lsn segment_end_ GUARDED_BY(latch_) = 0;
  std::optional<Error> error_ GUARDED_BY(latch_);
  std::optional<Error> no_reserve_ GUARDED_BY(latch_);  // why KeepReserve found no space
  std::atomic<bool> lacks_reserve_{false};

  // The leader owns the members below.
  std::shared_ptr<LogSegment> segment_;
  uint64_t chain_;
  AlignedBuffer last_block_{kMaxLogWriteSize};  // the partly filled block at the end of the log
  Counter records_, payload_, framing_, padding_, rewritten_, groups_;

  // The thread that set syncing_ owns the members below.
  uint64_t synced_segment_ = 0;  // number of the segment that was the newest at the last sync
  Counter syncs_;

  // The flusher is the log's own thread; it runs if the options give a flush interval.
  CondVar wake_;
  bool stop_ GUARDED_BY(latch_) = false;
  std::thread flusher_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_LOG_GROUP_COMMIT_H_

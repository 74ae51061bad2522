// Group commit: how records get from the threads that append them to the device (device/log/log.h).
//
// Records are copied into a group in memory. A thread that needs its record on the device becomes
// the leader, if there is none: it seals the open group, writes all sealed ones, and syncs the
// segment, for every thread that waits meanwhile.
#ifndef TESTBED_DEVICE_LOG_GROUP_COMMIT_H_
#define TESTBED_DEVICE_LOG_GROUP_COMMIT_H_

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
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

namespace testbed {

// Enough that one group fills and one is written while two wait.
inline constexpr size_t kLogGroups = 4;
inline constexpr uint64_t kMinLogGroupBytes = 2 * kMaxLogWriteSize;

// Groups go through a ring: [tail_, head_) are sealed, in log order, and the one at head_ is open
// if open_ says so. latch_ protects the ring and all positions. The thread that set writing_ is the
// leader: it alone writes, and owns what is marked so, without holding the latch. The one that set
// syncing_ alone syncs what was written. While it does, only a thread
// that finds all groups full may lead: other threads that wait for the device gather for the next group.
class Log::Impl {
 public:
  Impl(std::string directory, const LogOptions& options, std::unique_ptr<LogSegments> segments,
       const LogReader::Tail& tail);
  ~Impl();

  LogRange Append(size_t size, const std::function<void(char* to)>& fill);
  void WaitDurable(Lsn end) { Wait(end, options_.sync != LogSync::kNone); }
  void Wait(Lsn end, bool durable);
  void TruncateBefore(Lsn lsn);
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
    Lsn lsn = 0;       // of the frame
    size_t begin = 0;  // of the frame in memory; before it, bytes of earlier groups in its block
    size_t end = 0;    // of its records in memory
    Lsn next = 0;      // of the frame after it, set when sealed; padding included
    uint32_t records = 0;
    bool opens_segment = false;
  };
  using Lock = std::unique_lock<std::mutex>;

  Group& Slot(uint64_t i) { return ring_[i % kLogGroups]; }
  bool Fits(const Group& group, size_t need) const;
  void OpenGroup(size_t need);
  void SealGroup();
  void MakeRoom(Lock& lock);
  void Lead(Lock& lock, bool open_group_too, bool sync);
  void WriteSealed(uint64_t last);
  void WriteGroup(Group& group);
  void SyncWritten(const std::shared_ptr<LogSegment>& newest, Lsn end);
  void Fail(const Error& error);
  [[noreturn]] void ThrowFailed() const;
  void RunFlusher();

  const std::string directory_;
  const size_t granule_;  // file writes begin and end at multiples of it
  const size_t group_bytes_;
  const uint32_t epoch_;

  mutable std::mutex latch_;
  std::condition_variable done_;  // the leader got further, or stopped
  std::array<Group, kLogGroups> ring_;
  uint64_t head_ = 0, tail_ = 0;
  bool open_ = false;
  bool writing_ = false, syncing_ = false;
  Lsn next_ = 0;  // of the next frame, if it fits into the segment
  Lsn segment_end_ = 0;
  bool opens_segment_ = false;  // next_ is the first frame of its segment
  std::optional<Error> error_;

  // What the leader owns.
  std::shared_ptr<LogSegment> segment_;
  uint64_t chain_;
  AlignedBuffer last_block_{kMaxLogWriteSize};  // the partly filled block at the log's end
  Counter records_, payload_, framing_, padding_, rewritten_, groups_;

  // What the thread that set syncing_ owns.
  uint64_t synced_segment_ = 0;  // number of the segment in service at the last sync
  Counter syncs_;

  // The flusher, which the log starts for a flush interval.
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread flusher_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_LOG_GROUP_COMMIT_H_

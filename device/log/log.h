// A write-ahead log: records appended to an endless sequence of bytes, kept in segment files of one
// directory, made durable by group commit.
//
//   LogOptions options;
//   options.mode = IoMode::kDirect;
//   options.write_size = 512;
//   auto log = Log::Open(dir, options, checkpoint_lsn,
//                        [&](const LogRecord& r) { Replay(r.lsn, r.bytes); });
//   LogRange r = log->Append(record);   // into memory; never waits for the device
//   log->WaitDurable(r.end);            // group commit: one write and one sync for all who wait
//   log->TruncateBefore(checkpoint_lsn);
//
// An LSN (log sequence number) is a byte position in the endless log. It only grows and is never
// used twice, also across restarts. Record and frame headers, padding and segment headers have
// positions too, so the difference of two LSNs is log space, not payload. 0 is no record's LSN.
//
// Group commit. Records collect in the open group, in memory. The first thread that waits takes
// everything appended so far and writes it as one frame, with one write call and one sync; those
// that come meanwhile fill the next group and wait for it. A frame has one checksum: after a crash
// a group is there as a whole or not at all.
//
// What a crash leaves (docs/log-format.md has the argument). The valid log ends at the first frame
// that fails its checks. Each frame states how far the log was durable when it was written. If a
// valid frame after the end states that the log was durable beyond the end, then what is missing
// there had been durable: it is damaged, and reading throws Error::kCorruption with file and
// offset. Otherwise what is missing was written after the last sync, nobody was told that it is
// durable, and it is a torn tail: a normal end. (So damage to the very last group of the log cannot
// be told from a torn write, and with LogSync::kNone hardly any damage can.) Frames after the end
// never come back to life: each frame names its predecessor's checksum and the epoch, the number of
// times that the log was opened.
//
// Errors. A write or sync that fails kills the log: nothing is retried, since after a failed sync
// nobody knows what the device holds. From then on Append, Write and WaitDurable throw the first
// error again (WaitDurable returns still for what was durable before). Reopen to recover.
//
// Thread safety: everything but Open and the destructor may be called by any thread at any time.
// Group writes are charged to the scope of the thread that does them (device/account/ledger.h), as
// FileKind::kLog; making a new segment and the log's own thread are charged to kLogWrite.
//
// Sources: group commit after DeWitt et al., "Implementation techniques for main memory database
// systems", SIGMOD 1984; log sequence numbers after Mohan et al., "ARIES", TODS 17(1), 1992.
#ifndef TESTBED_DEVICE_LOG_LOG_H_
#define TESTBED_DEVICE_LOG_LOG_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/file/file.h"

namespace testbed {

using Lsn = uint64_t;

enum class LogSync : uint8_t {
  kFdatasync,  // fdatasync(2) after the write
  kDsync,      // segments are opened with O_DSYNC: the write itself is durable
  kNone,       // WaitDurable only writes; the kernel decides when it becomes durable
};
const char* LogSyncName(LogSync sync);  // "fdatasync", "dsync", "none"

// Where the space for new bytes comes from. On a journaling file system it decides how many other
// blocks a sync costs.
enum class LogSpace : uint8_t {
  kRecycled,    // written with zeros once, then used again and again: a sync writes log bytes only
                // (but see LogOptions::prewrite)
  kFallocated,  // fallocate(2) for each new segment; old segments are removed
  kGrowing,     // the file grows with each write; old segments are removed
  kKeepSize,    // as fallocated, but the space lies behind the end of the file, which grows
};
const char* LogSpaceName(LogSpace space);  // "recycled", "fallocated", "growing", "keep-size"

struct LogOptions {
  IoMode mode = IoMode::kBuffered;  // direct or buffered
  // 512, 4096 or 8192 bytes. Padded: each group begins at a multiple of it and is filled up to the
  // next. Not padded: direct writes are of whole blocks of this size, and the last, partly filled
  // block is written again with the next group; buffered writes are of exactly the new bytes.
  uint32_t write_size = 4096;
  bool pad = true;
  LogSync sync = LogSync::kFdatasync;
  LogSpace space = LogSpace::kRecycled;
  // Recycled space: new segments are written with zeros, so that no sync in one ever writes
  // metadata of the file system. Without it only allocated: they are there at once, and syncs while
  // one is used for the first time write metadata.
  bool prewrite = true;
  // Recycled space, buffered: segments leave the page cache before they are used, as those do that
  // were written long ago. A write of a part of a page then has to read it first.
  bool uncached = false;
  uint64_t segment_bytes = 16ull << 20;  // a multiple of 8192, 64 KiB to 1 GiB
  uint32_t min_segments = 2;             // made when the log is opened; recycled space only
  uint32_t max_segments = 0;             // more than these are removed, not recycled; 0 = no limit
  uint64_t buffer_bytes = 1ull << 20;    // memory for groups that are not written yet
  // Lazy durability: with an interval the log has a thread that calls Flush that often, and that
  // writes groups which are full, so that appending threads need not. 0 = no thread.
  uint32_t flush_interval_ms = 0;
};

// Where a record lies: `begin` is its LSN; wait for `end`.
struct LogRange {
  Lsn begin = 0;
  Lsn end = 0;
};

struct LogRecord {
  Lsn lsn = 0;
  Lsn end = 0;
  std::string_view bytes;  // valid during the callback, or until the reader's next call
};

// What the log did since it was opened; all but the last four are of group writes, and
// written_bytes = payload + framing + padding + rewritten.
struct LogCounters {
  uint64_t records = 0;
  uint64_t payload_bytes = 0;    // of records as they were given to Append
  uint64_t framing_bytes = 0;    // record and frame headers
  uint64_t padding_bytes = 0;    // zeros up to the write size
  uint64_t rewritten_bytes = 0;  // bytes of earlier groups in a last block that was written again
  uint64_t written_bytes = 0;
  uint64_t groups = 0;  // frames; each is one write
  uint64_t writes = 0;
  uint64_t syncs = 0;  // sync calls; a kDsync write is none
  uint64_t segments_created = 0;
  uint64_t segments_recycled = 0;
  uint64_t segments_removed = 0;
  uint64_t preparation_bytes = 0;  // segment headers, and zeros for recycled space
};

class Log {
 public:
  using Replay = std::function<void(const LogRecord&)>;

  // Opens the log in `directory`, which must exist, or begins a new one when it holds no segments.
  // Makes durable what is there, calls `replay` for each record with an LSN >= from (0 = all) in
  // order, and continues after the last. Throws kCorruption when the log does not reach from..end
  // without damage, or ends before `from`; kUsage for options that cannot be; kIo.
  static std::unique_ptr<Log> Open(const std::string& directory, const LogOptions& options,
                                   Lsn from = 0, const Replay& replay = {});

  // Writes and, unless sync is kNone, syncs what was appended. Errors are swallowed: who must know
  // calls Flush first.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Copies the record, or the concatenation of its parts, into the open group. Waits for the device
  // only when all memory for groups is full. Records are ordered as their LSNs are. Throws kUsage
  // for a record longer than MaxRecordBytes(). Allocates only for a record longer than a quarter of
  // buffer_bytes.
  LogRange Append(std::string_view record) { return Append(std::span(&record, 1)); }
  LogRange Append(std::span<const std::string_view> parts);
  // The same for a record of `size` bytes that `fill` writes where it is to lie. No other record is
  // appended meanwhile.
  LogRange Append(size_t size, const std::function<void(char* to)>& fill);
  size_t MaxRecordBytes() const;

  // Returns when everything before `end` is durable (with LogSync::kNone: written).
  void WaitDurable(Lsn end);
  // Returns when everything before `end` was given to the kernel: enough to survive the end of the
  // process, not of the machine.
  void Write(Lsn end);
  // WaitDurable of everything appended so far.
  void Flush() { WaitDurable(EndLsn()); }
  // Makes everything appended so far durable in any sync mode; a checkpoint needs it.
  void Sync();

  // The end of the last record appended; the next record's LSN is at least this.
  Lsn EndLsn() const;
  Lsn WrittenLsn() const;
  // Everything before it is on the device. With LogSync::kNone only Open and Sync move it.
  Lsn DurableLsn() const;
  // The first LSN that is still kept.
  Lsn BeginLsn() const;

  // Says that records before lsn are no longer needed: segments that hold only such are recycled or
  // removed. The segment with the newest written frame always stays.
  void TruncateBefore(Lsn lsn);

  LogCounters Counters() const;
  const LogOptions& options() const;
  uint64_t id() const;           // random, made with the log; tells it from every other log
  uint64_t SizeOnDisk() const;   // bytes of all segment files, spare ones included
  uint64_t MemoryBytes() const;  // held for groups
  // Settings in force, for Engine::EffectiveSettings.
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const;

 private:
  class Impl;
  explicit Log(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_LOG_LOG_H_

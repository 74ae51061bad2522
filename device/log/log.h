// A Log is a write-ahead log. Records are appended to an endless sequence of bytes, which is kept
// in segment files of one directory and made durable by group commit.
//
//   LogOptions options;
//   options.mode = IoMode::kDirect;
//   options.write_size = 512;
//   auto log = Log::Open(dir, options, checkpoint_lsn,
//                        [&](const LogRecord& r) { Replay(r.lsn, r.bytes); });
//   LogRange r = log->Append(record);   // copies into memory
//   log->WaitDurable(r.end);            // group commit: one write and one sync for all waiters
//   log->TruncateBefore(checkpoint_lsn);
//
// An LSN (log sequence number) is a byte position in the endless log. LSNs only grow, and no LSN is
// used twice, even across restarts. Record and frame headers, padding and segment headers have
// positions too, so the difference of two LSNs is log space, not payload. 0 is no record's LSN.
//
// Group commit. Records collect in the open group, in memory. The first thread that waits writes
// all records appended so far as one frame, with one write call and one sync. Records that other
// threads append meanwhile fill the next group, and those threads wait for it. A frame has one
// checksum: after a crash the log holds a group as a whole or not at all.
//
// After a crash (docs/log-format.md has the argument). The valid log ends at the first frame that
// fails its checks. Each frame states how far the log was durable when the frame was written. If a
// valid frame after the end states that the log was durable beyond the end, then the bytes at the
// end had been durable and are damaged: reading throws Error (kCorruption) with file and offset.
// Otherwise these bytes were written after the last sync, no caller was told that they are durable,
// and they are a torn tail: a normal end. (So a reader cannot tell damage to the very last group of
// the log from a torn write, and with LogSync::kNone hardly any damage can.) Frames after the end
// never come back to life: each frame names its predecessor's checksum and the epoch, the number of
// times that the log was opened.
//
// Errors. A write or sync that fails kills the log. The log retries nothing, since after a failed
// sync the content of the device is unknown. From then on Append, Write, WaitDurable, Sync and
// TruncateBefore throw the first error again; only waits for LSNs that were reached before it still
// return. Opening the log anew recovers it.
//
// Thread-safe, but for Open and the destructor. A group write is charged to the scope of the thread
// that does it (device/account/ledger.h), as FileKind::kLog. Making a new segment and the work of
// the log's own thread are charged to kLogWrite.
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
  kDsync,      // segments are opened with O_DSYNC, so a write is durable when it returns
  kNone,       // WaitDurable only writes; the kernel decides when the bytes become durable
};
const char* LogSyncName(LogSync sync);  // "fdatasync", "dsync", "none"

// A LogSpace says where the space for new bytes comes from. On a journaling file system this
// decides how many other blocks a sync writes.
enum class LogSpace : uint8_t {
  kRecycled,    // a segment is filled with zeros once and used again and again, so a sync writes
                // log bytes only (but see LogOptions::prewrite)
  kFallocated,  // each new segment is reserved by fallocate(2); old segments are removed
  kGrowing,     // a segment's file grows with each write; old segments are removed
  kKeepSize,    // as kFallocated, but the space lies behind the end of the file, which grows
};
const char* LogSpaceName(LogSpace space);  // "recycled", "fallocated", "growing", "keep-size"

struct LogOptions {
  IoMode mode = IoMode::kBuffered;  // direct or buffered
  // write_size is 512, 4096 or 8192 bytes. With `pad` each group begins at a multiple of write_size
  // (the first group of an open begins where the log ended) and is filled up to the next multiple.
  // Without `pad` a direct write is of whole blocks of this size, and the last, partly filled block
  // is written again with the next group; a buffered write is of exactly the new bytes.
  uint32_t write_size = 4096;
  bool pad = true;
  LogSync sync = LogSync::kFdatasync;
  LogSpace space = LogSpace::kRecycled;
  // For recycled space. If true, new segments are filled with zeros, so that a sync never writes
  // metadata of the file system. If false, new segments are only allocated: that takes no time, but
  // syncs write metadata while a segment is used for the first time.
  bool prewrite = true;
  // For recycled space and buffered IO. If true, a segment's pages leave the page cache before the
  // segment is used, as the pages of a segment that was written long ago do. A write of part of a
  // page then reads the page first.
  bool uncached = false;
  uint64_t segment_bytes = 16ull << 20;  // a multiple of 8192, 64 KiB to 1 GiB
  uint32_t min_segments = 2;             // made when the log is opened; recycled space only
  uint32_t max_segments = 0;  // segments beyond this number are not recycled; 0 = no limit
  // For recycled space. If true, the log keeps a spare segment, the reserve, for the records that
  // recovery appends, as a disk that the log has filled has no room for them. Other records never
  // use it, so the log fills the disk one segment earlier. Recovery lasts from an Open that replays
  // records until TruncateBefore. The frame that Open writes may use the reserve, too
  // (LacksReserve).
  bool reserve = false;
  uint64_t buffer_bytes = 1ull << 20;  // memory for groups that are not written yet
  // This interval is for lazy durability. If it is not 0, the log has a thread that makes the log
  // durable within each interval. The thread also writes groups that are full, so that appending
  // threads need not.
  uint32_t flush_interval_ms = 0;
  // If false, that thread only writes the log within each interval and does not sync it (durability
  // none). WaitDurable syncs all the same.
  bool flush_syncs = true;
};

// A LogRange says where a record lies. `begin` is the record's LSN; a caller that needs the record
// durable waits for `end`.
struct LogRange {
  Lsn begin = 0;
  Lsn end = 0;
};

struct LogRecord {
  Lsn lsn = 0;
  Lsn end = 0;
  std::string_view bytes;  // valid during the callback, or until the reader's next call
};

// LogCounters say what the log did since it was opened. All counters but the last four are of group
// writes, and written_bytes = payload + framing + padding + rewritten.
struct LogCounters {
  uint64_t records = 0;
  uint64_t payload_bytes = 0;    // bytes of records as they were given to Append
  uint64_t framing_bytes = 0;    // record and frame headers
  uint64_t padding_bytes = 0;    // zeros up to the write size
  uint64_t rewritten_bytes = 0;  // bytes of earlier groups in a last block that was written again
  uint64_t written_bytes = 0;
  uint64_t groups = 0;  // groups written, each as one frame and in one write
  uint64_t writes = 0;
  uint64_t syncs = 0;  // sync calls; a write with kDsync is not one of them
  uint64_t segments_created = 0;
  uint64_t segments_recycled = 0;
  uint64_t segments_removed = 0;
  uint64_t preparation_bytes = 0;  // segment headers, zeros, and what Open writes again
};

class Log {
 public:
  using Replay = std::function<void(const LogRecord&)>;

  // Opens the log in `directory`, which must exist, or begins a new log when the directory holds no
  // segments. Makes the existing log durable, calls `replay` for each record with an LSN >= from (0
  // = all) in order, and continues after the last record. With `id`, refuses a log whose id() is
  // another (kCorruption). Throws Error: kCorruption when the log is damaged after `from` or ends
  // before it, kUsage when the options are invalid, kIo when the system refuses. Exceptions of
  // `replay` pass through.
  // Open reads the whole log before it calls `replay`, so a log that is refused changes nothing. It
  // then writes the bytes for which no successful sync vouches again and syncs them. So the records
  // that `replay` gets are durable, and the caller may write the pages that it changes in place.
  static std::unique_ptr<Log> Open(const std::string& directory, const LogOptions& options,
                                   Lsn from = 0, const Replay& replay = {}, uint64_t id = 0);

  // Removes the segments of a log that was begun and never written to. Does nothing when there is
  // no such directory; other files in it stay. Throws Error (kCorruption), and removes nothing,
  // when the log holds records, or is damaged so that it may.
  static void RemoveUnused(const std::string& directory);

  // Returns whether the closed log in `directory` holds a record with an LSN >= from. Makes the log
  // durable first. Throws Error (kCorruption) when no segment holds `from`.
  static bool HasRecords(const std::string& directory, IoMode mode, Lsn from);

  // Waits, as Flush does, for all appended records, but drops errors: a caller that must know of
  // them calls Flush first.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Copies the record, or the concatenation of its parts, into the open group. Waits for the device
  // only when all memory for groups is full. Throws Error (kUsage) for a record longer than
  // MaxRecordBytes(). Allocates memory only for a record longer than a quarter of buffer_bytes.
  LogRange Append(std::string_view record) { return Append(std::span(&record, 1)); }
  LogRange Append(std::span<const std::string_view> parts);
  // Appends a record of `size` bytes that `fill` writes in place. `fill` runs with the log's latch
  // held: it must not call the log, and no other record is appended meanwhile.
  LogRange Append(size_t size, const std::function<void(char* to)>& fill);
  size_t MaxRecordBytes() const;

  // Returns when all bytes before `end` are durable (with LogSync::kNone: written).
  void WaitDurable(Lsn end);
  // Returns when all bytes before `end` were given to the kernel. They then survive the end of the
  // process, but not of the machine.
  void Write(Lsn end);
  // Waits, as WaitDurable does, for all records appended so far.
  void Flush() { WaitDurable(EndLsn()); }
  // Makes all records appended so far durable in any sync mode; a checkpoint needs that.
  void Sync();

  // Returns the end of the last record appended; the next record's LSN is at least this.
  Lsn EndLsn() const;
  // Returns the LSN before which all bytes were given to the kernel.
  Lsn WrittenLsn() const;
  // Returns the LSN before which all bytes are durable. With LogSync::kNone only Open and Sync move
  // it.
  Lsn DurableLsn() const;
  // Returns the first LSN that is still kept.
  Lsn BeginLsn() const;

  // Says that records before lsn are no longer needed. Segments that hold only such records are
  // recycled or removed. The segment with the newest durable frame (with LogSync::kNone: the newest
  // written frame) always stays.
  void TruncateBefore(Lsn lsn);
  // Returns whether recovery goes on, in which records may use the reserve, or the frame that Open
  // wrote has used it up. A caller that cannot truncate the log after recovery, because the disk is
  // full, must append nothing more until it can: the next recovery needs the rest of the reserve.
  // After recovery Append throws Error (kIo, full disk) until TruncateBefore has recycled a segment
  // or made one. Does not wait.
  bool LacksReserve() const;

  LogCounters Counters() const;
  const LogOptions& options() const;
  uint64_t id() const;           // random number, made with the log, that no other log has
  uint64_t SizeOnDisk() const;   // lengths of all segment files in bytes, spare ones included
  uint64_t MemoryBytes() const;  // bytes of memory held for groups
  // Returns the settings in force, for Engine::EffectiveSettings.
  std::vector<std::pair<std::string, std::string>> EffectiveSettings() const;

 private:
  friend class LogCopy;  // log_copy.h
  class Impl;
  explicit Log(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_LOG_LOG_H_

// Imitates a disk under the file layer that fails as a disk under Linux does, for tests.
//
// Each file of the directory has two states: its contents in the page cache, which the real file
// holds, and its contents on the device. A sync copies from the page cache to the device. A sync
// that fails marks the dirty blocks as clean: the page cache keeps their contents, the device never
// gets them, and the next sync succeeds (Rebello et al., "Can applications recover from fsync
// failures?", ATC 2020). Pages that the program drops from the cache get the device's contents.
// What was written by direct IO stays readable when its sync has failed, as if the device had it in
// its cache, until a power cut. A block that has not been written since its space was allocated is
// worse off: after its first write to the device has failed, ext4 takes it for written while its
// page stays in the page cache. Later syncs write the page and return 0, but the block's extent
// stays marked as unwritten, and reads as zeros after a power cut (kernel log: "failed to convert
// unwritten extents to written extents"). A write that fails may have written its first part. Names
// have two states as well: only the sync of a directory makes its names durable, together with
// those of a directory that files were renamed to or from. Changes through a mapping are noticed at
// the next sync.
//
//   FailingDisk disk(dir);
//   disk.Fail({DiskCall::kSync, 17});  // the 18th sync from now on fails
//   disk.CutAfter(900, 1);             // the power is cut after 900 calls of any kind
//   ... run ...
//   disk.CopyTo(to);                   // the directory as it is after the power cut
//
// At a power cut, each block that was not synced is on the device, or is not, or only some of its
// sectors are. A block that was written several times since the last sync may be there as it was
// before the last of these writes. Names are those of the last sync, the current ones, or those
// between two changes: the file system's journal keeps the order of the changes, and the cut may
// come after any of them, while data that was synced later is there.
//
// Only one disk may exist at a time. Files outside of the directory are not affected. The test
// program's own system calls are replaced (failing_disk_calls.cc).
#ifndef TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_FAILING_DISK_H_
#define TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_FAILING_DISK_H_

#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>

namespace testbed {
namespace disk_model {
class Hold;
}  // namespace disk_model

enum class DiskCall : uint8_t {
  kWrite,
  kSync,
  kMsync,
  kTruncate,
  kAllocate,  // fallocate, including punched holes
  kCreate,    // an open that makes a file
  kRename,
  kUnlink,
  kClose,
  kSyncDirectory,
  // No power cut comes at these.
  kList,  // a step through the names of a directory
  kRead,  // not of a mapping
};

struct DiskFault {
  DiskCall call = DiskCall::kSync;
  uint64_t at = UINT64_MAX;
  int error = EIO;     // 0: a write or read transfers only its first part, and says so
  bool lasts = false;  // all later calls of the kind fail, too
  // Fails only writes, syncs, allocations and creations of paths that end so.
  std::string file = "";
};

class FailingDisk {
 public:
  // With `whole_blocks` the device writes each block of 4096 bytes as a whole. Databases without
  // protection from torn pages need such a device.
  explicit FailingDisk(const std::string& dir, bool whole_blocks = false);
  ~FailingDisk();

  // Makes a call fail. Calls of the fault's kind are numbered from 0 on, beginning now.
  void Fail(const DiskFault& fault);
  // Makes all calls succeed again, unless the power is cut.
  void Heal();
  // Makes the disk full when its files have `bytes` bytes together. A file counts with its length.
  void Limit(uint64_t bytes);
  // Imitates a failed write-back by the kernel: the disk refuses the dirty pages of the files whose
  // paths end with `ending`, and the kernel reclaims their memory, so that reads return what the
  // device has. The next sync of each open descriptor reports the error.
  void FailWriteBack(const std::string& ending);
  // Cuts the power after `calls` more calls of any kind. All calls after that fail and change
  // nothing. `seed` chooses which of the blocks that were not synced are on the device.
  void CutAfter(uint64_t calls, uint64_t seed);
  void Cut(uint64_t seed);  // cuts the power now, unless it is cut already
  bool is_cut() const;

  uint64_t calls() const;  // calls of the chosen kind since Fail
  uint64_t failed() const;
  uint64_t all_calls() const;  // calls of any kind since the constructor
  // Copies the directory as it is on the device.
  void CopyTo(const std::string& to) const;
};

// While a DiskPause lives, the calls of other threads on the disk wait. Those of its own thread go
// to the system unchanged, and are not counted.
class DiskPause {
 public:
  DiskPause();
  ~DiskPause();
  DiskPause(const DiskPause&) = delete;
  DiskPause& operator=(const DiskPause&) = delete;

 private:
  const std::unique_ptr<disk_model::Hold> hold_;
};

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_FAILING_DISK_H_

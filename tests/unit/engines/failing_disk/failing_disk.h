// A disk under the file layer that keeps the kernel's rules when it fails, for tests.
//
// Each file of a directory is twice: as the program wrote it, which the real file shows (the page
// cache), and as it is on the device. A sync copies from the one to the other. A sync that fails
// drops what was dirty: the page cache goes on showing it, the device never gets it, and the next
// sync says that all is well (Rebello et al., "Can applications recover from fsync failures?", ATC
// 2020). Pages that are told to leave the cache come back as the device has them. A write that
// fails may have written its first part. Names are twice likewise: a directory's sync makes them
// durable, and nothing else does. Files that are mapped and written in memory are seen when they
// are synced.
//
//   FailingDisk disk(dir);
//   disk.Fail({DiskCall::kSync, 17});  // the 18th from now on
//   disk.CutAfter(900, 1);             // the 900th call of any kind is the last that is done
//   ... run ...
//   disk.CopyTo(to);                   // the directory as it is after the power cut
//
// When the power is cut, each block that was not synced is on the device or not, or some of its
// sectors are, and names are as they were last synced or as they are.
//
// One disk at a time; other files are not touched. The test program's own system calls are replaced
// (failing_disk_calls.cc).
#ifndef TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_FAILING_DISK_H_
#define TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_FAILING_DISK_H_

#include <cerrno>
#include <cstdint>
#include <string>

namespace testbed {

enum class DiskCall : uint8_t {
  kWrite,
  kSync,
  kMsync,
  kTruncate,
  kAllocate,  // and holes
  kRename,
  kUnlink,
  kClose,
  kSyncDirectory,
};

struct DiskFault {
  DiskCall call = DiskCall::kSync;
  uint64_t at = UINT64_MAX;
  int error = EIO;     // 0, of a write: does its first part, and says so
  bool lasts = false;  // all such calls after it fail, too
};

class FailingDisk {
 public:
  explicit FailingDisk(const std::string& dir);
  ~FailingDisk();

  // Numbers calls of that kind from 0 on.
  void Fail(const DiskFault& fault);
  void Heal();
  // After so many more calls of any kind the power is cut: all calls after that fail and change
  // nothing. `seed` chooses what of that which was not synced is on the device.
  void CutAfter(uint64_t calls, uint64_t seed);
  void Cut(uint64_t seed);  // now, if it was not
  bool is_cut() const;

  uint64_t calls() const;  // of the kind that was chosen, since Fail
  uint64_t failed() const;
  uint64_t all_calls() const;  // since the constructor
  // Copies what the device has.
  void CopyTo(const std::string& to) const;
};

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_ENGINES_FAILING_DISK_FAILING_DISK_H_

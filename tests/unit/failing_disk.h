// A disk under the file layer that keeps the kernel's rules when it fails, for tests.
//
// Each file of a directory is twice: as the program wrote it, which the real file shows (the page
// cache), and as it is on the device. A sync copies from the one to the other. A sync that fails
// drops what was dirty: the page cache goes on showing it, the device never gets it, and the next
// sync says that all is well (Rebello et al., "Can applications recover from fsync failures?", ATC
// 2020). Pages that are told to leave the cache come back as the device has them. A write that
// fails may have written its first part.
//
//   FailingDisk disk(dir);
//   disk.FailSync(17);             // the 18th from now on
//   ... run; writes and syncs of the files in dir count whose path has `only` in it ...
//   disk.Cut(to);                  // the directory as it is after a power cut
//
// Names are durable at once. One disk at a time; other files are not touched. The test program's
// own pwrite(2), fsync(2), fdatasync(2) and posix_fadvise(2) are replaced
// (failing_disk.cc).
#ifndef TESTBED_TESTS_UNIT_FAILING_DISK_H_
#define TESTBED_TESTS_UNIT_FAILING_DISK_H_

#include <cstdint>
#include <string>

namespace testbed {

class FailingDisk {
 public:
  explicit FailingDisk(const std::string& dir, const std::string& only = "");
  ~FailingDisk();

  // The n-th call from now on fails, once or with all after it.
  void FailSync(uint64_t n, bool lasts = false);
  void FailWrite(uint64_t n, int error, bool lasts = false);
  void Heal();
  uint64_t syncs() const;  // since a Fail or the constructor
  uint64_t writes() const;
  uint64_t failed() const;
  // Copies the directory to `to` as the device has it.
  void Cut(const std::string& to) const;
};

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_FAILING_DISK_H_

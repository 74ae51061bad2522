// One process at a time in a directory: a lock on the directory itself, which leaves no file behind
// and ends with the process, however it ends.
//
//   DirLock lock(dir, "--dir");     // throws when another process holds it
#ifndef TESTBED_DEVICE_DIR_LOCK_H_
#define TESTBED_DEVICE_DIR_LOCK_H_

#include <string>

namespace testbed {

class DirLock {
 public:
  DirLock() = default;  // holds nothing
  // Throws Error: kUsage, naming `option`, when another process holds the lock; kIo when the
  // directory cannot be opened. Children of this process hold it too, until they end.
  DirLock(const std::string& dir, const std::string& option);
  ~DirLock();
  DirLock(DirLock&& other) noexcept;
  DirLock& operator=(DirLock&& other) noexcept;

 private:
  int fd_ = -1;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_DIR_LOCK_H_

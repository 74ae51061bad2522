// One process at a time in a directory: a lock on the directory itself, which leaves no file behind
// and ends with the process, however it ends.
//
//   DirLock lock(dir, "--dir");     // throws when another process holds it
#ifndef TESTBED_DEVICE_OS_DIR_LOCK_H_
#define TESTBED_DEVICE_OS_DIR_LOCK_H_

#include <optional>
#include <string>

namespace testbed {

class DirLock {
 public:
  DirLock() = default;  // holds nothing
  // Throws Error: kUsage, naming `option`, when another process holds the lock; kIo when the
  // directory cannot be opened. Children of this process hold it too, until they end.
  DirLock(const std::string& dir, const std::string& option);
  // Nothing when another process holds it, or `dir` is no directory that can be opened: a symbolic
  // link is none.
  static std::optional<DirLock> Try(const std::string& dir);
  ~DirLock();
  DirLock(DirLock&& other) noexcept;
  DirLock& operator=(DirLock&& other) noexcept;

  // Whether `dir` is the directory that this holds, and no symbolic link to it.
  bool Leads(const std::string& dir) const;
  // A path of the directory that stays its own when `dir` is renamed or replaced.
  std::string held_path() const;
  int fd() const { return fd_; }  // of the directory; -1 when this holds nothing

 private:
  int fd_ = -1;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_DIR_LOCK_H_

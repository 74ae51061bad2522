// A DirLock lets one process of a host at a time use a directory. It locks the directory itself by
// flock(2), so it leaves no file behind and ends with the process, however the process ends. A file
// server does not pass the lock on to other hosts (IsServedByAnotherHost, device/os/sys_file.h).
// Forked children of the process have the lock too, until it is given back or they have ended or
// run another program.
//
//   DirLock lock(dir, "--dir");     // throws when another process holds the lock
//   CheckLockedDirectory(dir + "/log-000002");  // throws when `dir` is another directory by now
//
// A DirLock is not thread-safe.
#ifndef TESTBED_DEVICE_OS_DIR_LOCK_H_
#define TESTBED_DEVICE_OS_DIR_LOCK_H_

#include <sys/types.h>

#include <optional>
#include <string>

namespace testbed {

class DirLock {
 public:
  DirLock() = default;  // holds no lock
  // Locks `dir`. Throws Error: kUsage, naming `option`, when this process or another one holds the
  // lock; kIo when the directory cannot be opened.
  DirLock(const std::string& dir, const std::string& option);
  // Returns the lock, or nothing when somebody holds it, when `dir` is a symbolic link, or when it
  // cannot be opened as a directory or locked. Then sets *code, unless it is null, to the errno,
  // which is EWOULDBLOCK when somebody holds the lock.
  static std::optional<DirLock> Try(const std::string& dir, int* code = nullptr);
  // Gives the lock back, also for the forked children. In a forked child it gives nothing back: the
  // lock stays its parent's.
  ~DirLock();
  DirLock(DirLock&& other) noexcept;
  DirLock& operator=(DirLock&& other) noexcept;

  // Returns whether `dir` names the locked directory itself, rather than a symbolic link to it.
  bool Leads(const std::string& dir) const;
  // Returns a path that leads to the locked directory even when `dir` was renamed or replaced. The
  // path works in this process only.
  std::string held_path() const;
  int fd() const { return fd_; }  // descriptor of the directory; -1 when no lock is held

 private:
  int fd_ = -1;
  pid_t owner_ = 0;  // the process that took the lock
};

// Throws Error (kIo, ESTALE) when `path` lies in a directory that this process, or the process that
// it was forked from, has locked, and the name under which it was locked no longer leads to that
// directory. A file that is made, renamed or removed by such a path would be another database's.
// Thread-safe.
void CheckLockedDirectory(const std::string& path);

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_DIR_LOCK_H_

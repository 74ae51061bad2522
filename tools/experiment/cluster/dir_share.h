// A lock by which processes share a directory, where a DirLock (device/os/dir_lock.h) keeps others
// out of it. Both lock the directory itself by flock(2), so the locks end with the processes. They
// hold on one host: a file server does not pass them on.
//
//   DirShare share(out, "--out");  // throws when a process keeps others out
//
// Not thread-safe.
#ifndef TESTBED_TOOLS_EXPERIMENT_CLUSTER_DIR_SHARE_H_
#define TESTBED_TOOLS_EXPERIMENT_CLUSTER_DIR_SHARE_H_

#include <string>

namespace testbed {

class DirShare {
 public:
  DirShare() = default;  // holds no lock
  // Throws Error: kUsage, naming `option`, when a process keeps others out of the directory; kIo
  // when it cannot be opened.
  DirShare(const std::string& dir, const std::string& option);
  ~DirShare();
  DirShare(DirShare&& other) noexcept;
  DirShare& operator=(DirShare&& other) noexcept;

 private:
  int fd_ = -1;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_CLUSTER_DIR_SHARE_H_

// The directory that a process has for its databases and scratch devices, where several processes
// share one place for theirs:
//
//   Part part("results/databases");   // results/databases/testbed-HOST-1, or -2, ...
//
// It is locked by flock(2), so each process of a host has one of its own, and a later process takes
// over that of a killed one with what is in it. The name has the host in it (NodeName), because
// hosts may share the place. Throws Error (kIo). Not thread-safe.
#ifndef TESTBED_TOOLS_EXPERIMENT_CLUSTER_PART_H_
#define TESTBED_TOOLS_EXPERIMENT_CLUSTER_PART_H_

#include <string>

#include "device/os/dir_lock.h"

namespace testbed {

class Part {
 public:
  // Takes the first free directory in `place`, and makes both as far as they do not exist.
  explicit Part(const std::string& place);
  // Removes the directory when it is empty. `place` stays: others may be about to make theirs in
  // it.
  ~Part();
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  DirLock lock_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_CLUSTER_PART_H_

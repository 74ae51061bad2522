// The directory that a process has for its databases and scratch devices, where several processes
// share one place for theirs:
//
//   Part part("/local/databases", PartId(out));   // /local/databases/testbed-HOST-ID-1, or -2, ...
//
// It is locked by flock(2), so each process of a host has one of its own, and a later process takes
// over that of a killed one with what is in it. The name has the host in it (NodeName), because
// hosts may share the place, and an id of the results, because experiments may share it, too, and
// each removes only what it has left itself. Throws Error (kIo). Not thread-safe.
#ifndef TESTBED_TOOLS_EXPERIMENT_CLUSTER_PART_H_
#define TESTBED_TOOLS_EXPERIMENT_CLUSTER_PART_H_

#include <cstdint>
#include <set>
#include <string>

#include "device/os/dir_lock.h"

namespace testbed {

// Returns the id of the results in `out`, which follows from the directory's path.
std::string PartId(const std::string& out);

// Returns the bytes of the databases in the directories of this host in `place` that belong to the
// results in `out` and that no process uses.
uint64_t BytesOfParts(const std::string& place, const std::string& out);

class Part {
 public:
  // Takes the first free directory in `place`, and makes both as far as they do not exist.
  Part(const std::string& place, const std::string& id);
  // Removes the directory when it is empty. `place` stays: others may be about to make theirs in
  // it.
  ~Part();
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  const std::string& path() const { return path_; }
  // Removes the databases and what is left of scratch devices that an ended process has left in the
  // directory, but not the loads whose keys in the plan are in `kept`, nor those made again for
  // such a key (KEY.2).
  void RemoveLeftovers(const std::set<std::string>& kept) const;

 private:
  std::string path_;
  DirLock lock_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_CLUSTER_PART_H_

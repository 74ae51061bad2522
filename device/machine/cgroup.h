// Where this process's cgroups are, and groups of our own in them.
//
// A controller is in one hierarchy only: on cgroup v1 in one that is mounted with its name, on v2
// in the one that there is. Source: Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst.
//
// Thread-safe.
#ifndef TESTBED_DEVICE_MACHINE_CGROUP_H_
#define TESTBED_DEVICE_MACHINE_CGROUP_H_

#include <optional>
#include <string>
#include <string_view>

#include "device/os/dir_lock.h"

namespace testbed {

// How directories of the cgroup file system are made and removed, and where it is mounted. Tests
// put a directory of plain files in its place.
class CgroupFs {
 public:
  virtual ~CgroupFs() = default;
  virtual int MakeDirectory(const std::string& path) const;    // 0 or errno
  virtual int RemoveDirectory(const std::string& path) const;  // 0 or errno
  // Put before /proc/self/mountinfo, /proc/self/cgroup and the mount points they name.
  virtual std::string prefix() const { return ""; }
  static const CgroupFs& System();
};

// The mount of a hierarchy and the group this process is in.
struct CgroupHierarchy {
  int version = 0;
  std::string mount;  // prefix included
  std::string own;    // prefix included; mount or below it
};

// The hierarchy with the controller, by its names on v1 and v2; nothing when none is mounted.
std::optional<CgroupHierarchy> FindCgroups(const CgroupFs& fs, std::string_view v1,
                                           std::string_view v2);

// A group of ours, made in `parent` under a name that nobody else has, and locked: a run in another
// process namespace tells by the lock that it is in use. Returns 0 or errno.
int MakeCgroup(const CgroupFs& fs, const std::string& parent, std::string* path, DirLock* lock);
// Holds the group's lock when the path is a group of ours that no run has any more.
std::optional<DirLock> TakeLeftoverCgroup(const std::string& path);

// Whether a list has the item.
bool CgroupListHas(std::string_view list, char separator, std::string_view item);

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_CGROUP_H_

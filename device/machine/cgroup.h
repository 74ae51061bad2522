// Finds this process's cgroups and makes testbed's own groups in them.
//
// A controller is in a single hierarchy: on cgroup v1 in the hierarchy that is mounted with the
// controller's name, on v2 in the only hierarchy. Source: Documentation/admin-guide/cgroup-v1 and
// cgroup-v2.rst.
//
// Thread-safe.
#ifndef TESTBED_DEVICE_MACHINE_CGROUP_H_
#define TESTBED_DEVICE_MACHINE_CGROUP_H_

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/os/dir_lock.h"

namespace testbed {

// A CgroupFs makes and removes directories of the cgroup file system. Tests use one that works on a
// directory of plain files.
class CgroupFs {
 public:
  virtual ~CgroupFs() = default;
  virtual int MakeDirectory(const std::string& path) const;    // returns 0 or an errno
  virtual int RemoveDirectory(const std::string& path) const;  // returns 0 or an errno
  // Tests let this return a path, which then stands before /proc/self/mountinfo, /proc/self/cgroup
  // and the mount points that these files name.
  virtual std::string prefix() const { return ""; }
  // Returns for how long the kernel may reclaim the pages of a group without any progress before
  // the caller gives up.
  virtual std::chrono::milliseconds patience() const { return std::chrono::seconds(2); }
  static const CgroupFs& System();
};

// A CgroupHierarchy is a mounted hierarchy and this process's group in it.
struct CgroupHierarchy {
  int version = 0;
  std::string mount;  // path of the mount point, prefix included
  std::string own;    // path of this process's group, at or below `mount`
};

// Returns the hierarchy of the controller, which is called `v1` on version 1 and `v2` on version 2;
// nothing when none is mounted. If the mount does not show this process's group, `own` is the mount
// point.
std::optional<CgroupHierarchy> FindCgroups(const CgroupFs& fs, std::string_view v1,
                                           std::string_view v2);

// Makes a group in `parent` under a random name, and locks its directory. Runs in other process
// namespaces see by the lock that the group is in use. Sets *path and *lock. Returns 0 or an errno.
int MakeCgroup(const CgroupFs& fs, const std::string& parent, std::string* path, DirLock* lock);
// Returns the paths of all groups of the hierarchy below its mount point. A killed run may have
// left its group anywhere in it, as a run is in the group of the session that started it.
std::vector<std::string> AllCgroups(const CgroupHierarchy& hierarchy);
// Returns the group's lock when `path` is a group that a run of this user made and no run holds any
// more; else nothing.
std::optional<DirLock> TakeLeftoverCgroup(const std::string& path);

// Returns whether `item` is in `list`, whose items are separated by `separator`.
bool CgroupListHas(std::string_view list, char separator, std::string_view item);

}  // namespace testbed

#endif  // TESTBED_DEVICE_MACHINE_CGROUP_H_

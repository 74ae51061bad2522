#include "device/machine/cgroup.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "device/os/sys_file.h"
#include "device/os/temporary_dir.h"

namespace testbed {
namespace {

constexpr char kGroupPrefix[] = "testbed-";

// Returns the path of this process's group in the hierarchy of `version`, as /proc/self/cgroup has
// it.
std::string OwnGroup(const CgroupFs& fs, int version, std::string_view controller) {
  for (const std::string& line :
       SplitLines(ReadSmallFile(fs.prefix() + "/proc/self/cgroup").value_or(""))) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version == 1 ? CgroupListHas(controllers, ',', controller) : controllers.empty()) {
      return line.substr(second + 1);
    }
  }
  return "/";
}

}  // namespace

bool CgroupListHas(std::string_view list, char separator, std::string_view item) {
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(separator, at), list.size());
    if (list.substr(at, end - at) == item) return true;
    at = end + 1;
  }
  return false;
}

int CgroupFs::MakeDirectory(const std::string& path) const {
  return mkdir(path.c_str(), 0755) == 0 ? 0 : errno;
}

int CgroupFs::RemoveDirectory(const std::string& path) const {
  return rmdir(path.c_str()) == 0 ? 0 : errno;
}

const CgroupFs& CgroupFs::System() {
  static const CgroupFs system;
  return system;
}

std::optional<CgroupHierarchy> FindCgroups(const CgroupFs& fs, std::string_view v1,
                                           std::string_view v2) {
  std::optional<CgroupHierarchy> found;
  std::string found_root;
  for (const Mount& at : ReadMounts(fs.prefix())) {
    const std::string mount = fs.prefix() + at.point;
    int version = 0;
    if (at.type == "cgroup" && at.HasOption(v1)) version = 1;
    if (at.type == "cgroup2" && CgroupListHas(ReadLine(mount + "/cgroup.controllers"), ' ', v2)) {
      version = 2;
    }
    // A controller belongs to one hierarchy only, but that hierarchy may be mounted more than once.
    if (version == 0 || found) continue;
    found = CgroupHierarchy{version, mount, mount};
    found_root = at.root;
  }
  if (!found) return found;
  std::string own = OwnGroup(fs, found->version, v1);
  if (found_root != "/" && own.compare(0, found_root.size(), found_root) == 0) {
    own = own.substr(found_root.size());
  }
  const std::string path = found->mount + (own == "/" ? "" : own);
  struct stat info;
  // A cgroup namespace may show a path ("/../..") that this mount does not have. The top of the
  // mount is then the nearest group.
  if (own.find("..") == std::string::npos && stat(path.c_str(), &info) == 0) found->own = path;
  return found;
}

int MakeCgroup(const CgroupFs& fs, const std::string& parent, std::string* path, DirLock* lock) {
  // Another process that looks for leftovers may take the new group and remove it before the group
  // is locked.
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    *path = fmt::format("{}/{}{}", parent, kGroupPrefix, RandomName());
    if (const int code = fs.MakeDirectory(*path); code != 0) return code;
    int refused = 0;
    std::optional<DirLock> taken = DirLock::Try(*path, &refused);
    if (taken && taken->Leads(*path)) {
      *lock = std::move(*taken);
      return 0;
    }
    if (taken || refused == EWOULDBLOCK || refused == ENOENT) continue;
    (void)fs.RemoveDirectory(*path);
    return refused;
  }
  return EAGAIN;
}

std::vector<std::string> AllCgroups(const CgroupHierarchy& hierarchy) {
  namespace fs = std::filesystem;
  std::vector<std::string> groups;
  std::error_code failed, gone;
  fs::recursive_directory_iterator at(hierarchy.mount,
                                      fs::directory_options::skip_permission_denied, failed);
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
    if (at->is_directory(gone)) groups.push_back(at->path());
  }
  return groups;
}

std::optional<DirLock> TakeLeftoverCgroup(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with(kGroupPrefix) || !IsRandomName(name.substr(sizeof kGroupPrefix - 1))) {
    return std::nullopt;
  }
  std::optional<DirLock> lock = DirLock::Try(path);
  struct stat info;
  if (!lock || ::fstat(lock->fd(), &info) != 0 || info.st_uid != ::geteuid()) return std::nullopt;
  return lock;
}

}  // namespace testbed

// A process of a run that stands still, as under a hypervisor that takes its processors away.
//
//   FrozenProcess frozen(child);
//   ...                              // the process does nothing, and time goes on
//   frozen.Thaw();
//
// A run with a memory cgroup of its own is frozen by cgroups: on version 2 by the run's group, on
// version 1 by a group of the freezer hierarchy, which the destructor removes when the process has
// ended. A process without one, or one that may not be moved, gets SIGSTOP and SIGCONT. Not
// thread-safe.
#ifndef TESTBED_TESTS_FROZEN_PROCESS_H_
#define TESTBED_TESTS_FROZEN_PROCESS_H_

#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "device/machine/cgroup.h"
#include "device/os/dir_lock.h"

namespace testbed {

class FrozenProcess {
 public:
  explicit FrozenProcess(pid_t process) : process_(process) {
    if (!FreezeRunsGroup() && !FreezeByFreezer()) ::kill(process_, SIGSTOP);
  }
  ~FrozenProcess() {
    Thaw();
    if (made_) ::rmdir(group_.c_str());
  }
  FrozenProcess(const FrozenProcess&) = delete;
  FrozenProcess& operator=(const FrozenProcess&) = delete;

  void Thaw() {
    if (thawed_) return;
    thawed_ = true;
    if (group_.empty()) {
      ::kill(process_, SIGCONT);
    } else if (made_) {
      Write(group_ + "/freezer.state", "THAWED");
    } else {
      Write(group_ + "/cgroup.freeze", "0");
    }
  }
  // Returns what froze the process: the path of a cgroup, or nothing for a signal.
  const std::string& group() const { return group_; }

 private:
  static bool Write(const std::string& path, const std::string& text) {
    std::ofstream out(path);
    return static_cast<bool>(out << text << std::flush);
  }

  // Returns the path of the process's group in the hierarchy of a controller; empty unless the run
  // has made the group for itself.
  std::string RunsGroup(const std::string& controllers) const {
    std::ifstream in("/proc/" + std::to_string(process_) + "/cgroup");
    for (std::string line; std::getline(in, line);) {
      const size_t first = line.find(':'), second = line.find(':', first + 1);
      if (second == std::string::npos) continue;
      if (line.substr(first + 1, second - first - 1) != controllers) continue;
      const std::string path = line.substr(second + 1);
      return path.find("/testbed-") == std::string::npos ? "" : path;
    }
    return "";
  }

  bool FreezeRunsGroup() {
    const auto memory = FindCgroups(CgroupFs::System(), "memory", "memory");
    const std::string path = RunsGroup("");
    if (!memory || memory->version != 2 || path.empty()) return false;
    const std::string group = memory->mount + path;
    if (!Write(group + "/cgroup.freeze", "1")) return false;
    group_ = group;
    return true;
  }

  bool FreezeByFreezer() {
    const auto freezer = FindCgroups(CgroupFs::System(), "freezer", "freezer");
    if (!freezer || freezer->version != 1 || RunsGroup("memory").empty()) return false;
    std::string group;
    if (MakeCgroup(CgroupFs::System(), freezer->own, &group, &lock_) != 0) return false;
    if (!Write(group + "/cgroup.procs", std::to_string(process_)) ||
        !Write(group + "/freezer.state", "FROZEN")) {
      ::rmdir(group.c_str());
      return false;
    }
    group_ = group;
    made_ = true;
    return true;
  }

  const pid_t process_;
  std::string group_;
  DirLock lock_;
  bool made_ = false, thawed_ = false;
};

}  // namespace testbed

#endif  // TESTBED_TESTS_FROZEN_PROCESS_H_

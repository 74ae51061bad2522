// A claim keeps a cell, a block of cells, or a load that is being made for one process, so that
// processes on several hosts that share a results directory do each cell once, and write each
// load's document once.
//
//   std::optional<Claim> claim = Claim::Try(dir.ClaimFile(CellKey(cell)));
//   if (!claim) ...                       // another process does it
//
// A claim is a file that its holder has locked (fcntl(2), F_OFD_SETLK). The lock ends with the
// process and the children that it has forked, however they end, so a dead process's claim is free.
// When the host dies, the claim is free once the file server has noticed (NFS 4: when the host's
// lease has expired, 90 s by default). The file names the holder. A file system without such locks
// is refused.
//
// Not thread-safe.
#ifndef TESTBED_TOOLS_EXPERIMENT_CLUSTER_CLAIM_H_
#define TESTBED_TOOLS_EXPERIMENT_CLUSTER_CLAIM_H_

#include <optional>
#include <string>

namespace testbed {

class Claim {
 public:
  // Returns the claim, or nothing when another process holds it. Throws Error: kIo when the file
  // cannot be made, kUsage when the file system has no locks.
  static std::optional<Claim> Try(const std::string& file);
  // Returns whether a process holds the claim. The file of a dead process is there, but not held.
  static bool IsHeld(const std::string& file);
  // Returns the holder of the claim, such as "n2, process 4711"; "another process" when the file
  // does not name it.
  static std::string Holder(const std::string& file);
  ~Claim();  // removes the file
  Claim(Claim&& other) noexcept;
  Claim& operator=(Claim&& other) noexcept;

 private:
  Claim(int fd, std::string file) : fd_(fd), file_(std::move(file)) {}
  int fd_ = -1;
  std::string file_;
};

// Throws Error (kUsage) when the mount of the directory keeps its locks to this host, as far as the
// kernel tells: claims would then not be seen by other hosts. `prefix` is that of ReadMounts
// (device/os/sys_file.h).
void CheckLocksReachHosts(const std::string& directory, const std::string& prefix = "");

// Returns the name that the scheduler gives this host (SLURMD_NODENAME), else that of the system.
std::string NodeName();

}  // namespace testbed

#endif  // TESTBED_TOOLS_EXPERIMENT_CLUSTER_CLAIM_H_

#include "tools/experiment/cluster/claim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "device/error.h"
#include "device/machine/host.h"
#include "device/os/sys_file.h"
#include "tools/experiment/results_dir.h"
#include "tools/output/json_text.h"

namespace testbed {
namespace {

using nlohmann::json;

// Returns the lock that a claim is.
struct flock WholeFile() {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  return whole;
}

// Locks the open file. Returns false when another process has it.
bool Lock(int fd, const std::string& file) {
  struct flock whole = WholeFile();
  if (::fcntl(fd, F_OFD_SETLK, &whole) == 0) return true;
  const int code = errno;
  if (code == EAGAIN || code == EACCES) return false;
  throw Error(
      Error::kUsage,
      fmt::format("the file system of {} has no locks ({}), without which two hosts could run "
                  "the same cell; choose an --out on one that has (NFS 4, or Lustre with "
                  "flock)",
                  file, Error::Io("lock", file, code).what()));
}

// Returns whether the name still leads to the open file. The holder of a claim removes its file.
bool Leads(int fd, const std::string& file) {
  struct stat mine, there;
  return ::fstat(fd, &mine) == 0 && ::lstat(file.c_str(), &there) == 0 &&
         mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
}

// Writes the holder's name into the file, for people. The lock alone makes the claim, so errors are
// ignored.
void NameHolder(int fd) {
  const char* job = std::getenv("SLURM_JOB_ID");
  const std::string text = JsonText({{"schema", kClaimSchema},
                                     {"host", NodeName()},
                                     {"process", ::getpid()},
                                     {"job", job == nullptr ? "" : job}}) +
                           "\n";
  const bool written = ::ftruncate(fd, 0) == 0 && ::pwrite(fd, text.data(), text.size(), 0) > 0;
  (void)written;
}

// Returns what keeps the locks of the mount (fcntl(2)) from other hosts: one of its options, or its
// type. Returns "" when nothing is known to do so.
std::string WhatKeepsLocksHere(const Mount& mount) {
  if (mount.type == "nfs" || mount.type == "nfs4") {
    const std::string local = mount.OptionValue("local_lock");
    if (local == "all" || local == "posix") return "local_lock=" + local;
    if (mount.HasOption("nolock")) return "nolock";
  }
  if (mount.type == "lustre" && mount.HasOption("localflock")) return "localflock";
  if ((mount.type == "cifs" || mount.type == "smb3") && mount.HasOption("nobrl")) return "nobrl";
  return mount.type == "fuse.sshfs" ? "sshfs" : "";
}

}  // namespace

std::optional<Claim> Claim::Try(const std::string& file) {
  for (;;) {
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) throw Error::Io("create", file, errno);
    Claim claim(fd, "");  // without file_ its destructor only closes fd
    if (!Lock(fd, file)) return std::nullopt;
    if (!Leads(fd, file)) continue;
    claim.file_ = file;
    NameHolder(fd);
    return claim;
  }
}

bool Claim::IsHeld(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return false;
  struct flock found = WholeFile();
  const bool held = ::fcntl(fd, F_OFD_GETLK, &found) == 0 && found.l_type != F_UNLCK;
  ::close(fd);
  return held;
}

std::string Claim::Holder(const std::string& file) {
  const json holder = ParseJson(ReadSmallFile(file).value_or(""));
  try {
    return fmt::format("{}, process {}", holder.at("host").get<std::string>(),
                       holder.at("process").get<int>());
  } catch (const json::exception&) {
    return "another process";
  }
}

Claim::~Claim() {
  if (fd_ < 0) return;
  if (!file_.empty()) ::unlink(file_.c_str());
  ::close(fd_);
}

Claim::Claim(Claim&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), file_(std::move(other.file_)) {}

Claim& Claim::operator=(Claim&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(file_, other.file_);
  return *this;
}

void CheckLocksReachHosts(const std::string& directory, const std::string& prefix) {
  const std::optional<Mount> mount = MountOf(directory, prefix);
  const std::string what = mount ? WhatKeepsLocksHere(*mount) : "";
  if (what.empty()) return;
  throw Error(Error::kUsage,
              fmt::format("--out {} is mounted with locks that hold on this host alone ({}), so "
                          "that two hosts could run the same cell; choose an --out on a file "
                          "system whose locks reach all hosts (NFS 4, or Lustre with flock)",
                          directory, what));
}

std::string NodeName() {
  const char* node = std::getenv("SLURMD_NODENAME");
  if (node != nullptr && *node != '\0') return node;
  return HostName();
}

}  // namespace testbed

// Whether another user could lead root elsewhere through a directory in which root is to work. Root
// makes, opens and removes the files of a database by their paths. Whoever owns a directory on the way
// may rename what lies in it at any time, and put a link to another file under its name.
//
//   CheckNotForeign("--dir", "/tmp/b");    // throws when /tmp/b is another user's
//
// The rule is that of fs.protected_symlinks (proc_sys_fs(5)) for directories, too: below a directory
// with the sticky bit in which everybody may make files (/tmp), nothing on the way may be another
// user's, and no symbolic link either. Elsewhere whoever names the directory knows whose it is. The user
// who called root by sudo (SUDO_UID) is no other user. Other users than root are not asked: they can
// only be led to files that they may write themselves.
//
// The answer stays true: nobody else can replace a directory of root's in such a place. That of a path
// which is not there yet holds for what is there of it, so that whoever makes the rest asks again.
// Thread-safe.
#ifndef TESTBED_DEVICE_OS_FOREIGN_DIRECTORY_H_
#define TESTBED_DEVICE_OS_FOREIGN_DIRECTORY_H_

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <string>
#include <system_error>

#include "device/error.h"

namespace testbed {

// Returns whether a file of this owner is root's, or that of the user who called root by sudo.
inline bool IsOfRootsUser(uid_t owner) {
  const char* const caller = std::getenv("SUDO_UID");
  if (owner == 0 || caller == nullptr) return owner == 0;
  uid_t uid = 0;
  const char* const end = caller + std::strlen(caller);
  const auto [read, error] = std::from_chars(caller, end, uid);
  return error == std::errc() && read == end && owner == uid;
}

// Returns whether the directory, which a path without symbolic links names, or one above it has the
// sticky bit and may be written by everybody.
inline bool LiesWhereAllMayWrite(std::filesystem::path directory) {
  constexpr mode_t kForAll = S_ISVTX | S_IWOTH;
  for (;; directory = directory.parent_path()) {
    struct stat about {};
    if (::stat(directory.c_str(), &about) == 0 && (about.st_mode & kForAll) == kForAll) return true;
    if (!directory.has_relative_path()) return false;
  }
}

// Returns what of another user's the path leads through or to, by the rule above; empty when there is
// no such thing, or this process is not root's.
inline std::string ForeignOnTheWay(const std::string& path) {
  namespace fs = std::filesystem;
  constexpr int kMostLinks = 40;  // as of the kernel (path_resolution(7))
  std::error_code unknown;
  const fs::path whole = fs::absolute(path, unknown);
  if (::geteuid() != 0 || unknown) return "";
  std::deque<fs::path> parts(whole.begin(), whole.end());
  fs::path at = "/";
  for (int links = 0; !parts.empty(); parts.pop_front()) {
    const fs::path part = parts.front();
    if (part.empty() || part == "." || part == "/") continue;
    if (part == "..") {
      at = at.parent_path();
      continue;
    }
    const fs::path next = at / part;
    struct stat about {};
    if (::lstat(next.c_str(), &about) != 0) return "";  // the rest is not there
    if (!IsOfRootsUser(about.st_uid) && LiesWhereAllMayWrite(at)) return next.string();
    if (!S_ISLNK(about.st_mode)) {
      at = next;
      continue;
    }
    const fs::path target = fs::read_symlink(next, unknown);
    if (unknown || links++ == kMostLinks) return "";  // nobody can open it
    if (target.is_absolute()) at = "/";
    parts.insert(parts.begin() + 1, target.begin(), target.end());
  }
  return "";
}

// Throws Error (kUsage) when the path leads through, or to, what is another user's by the rule above.
// `what` begins the sentence: the option that names the path.
inline void CheckNotForeign(const std::string& what, const std::string& path) {
  const std::string foreign = ForeignOnTheWay(path);
  if (foreign.empty()) return;
  throw Error(Error::kUsage,
              what + " " + path + ": " + foreign +
                  " belongs to another user, in a place where everybody may write, and its owner "
                  "could lead root elsewhere through it; choose a directory of your own");
}

// Returns a path that leads to an open file, whatever has its name now. It works in this process, and
// in the processes that it forks, as long as they have the file open.
inline std::string HeldPath(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_FOREIGN_DIRECTORY_H_

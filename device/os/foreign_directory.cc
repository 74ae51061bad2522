#include "device/os/foreign_directory.h"

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <system_error>

#include "device/error.h"

namespace testbed {
namespace {

// Returns whether a file of this owner is root's, or that of the user who called root by sudo.
bool IsOfRootsUser(uid_t owner) {
  const char* const caller = std::getenv("SUDO_UID");
  if (owner == 0 || caller == nullptr) return owner == 0;
  uid_t uid = 0;
  const char* const end = caller + std::strlen(caller);
  const auto [read, error] = std::from_chars(caller, end, uid);
  return error == std::errc() && read == end && owner == uid;
}

}  // namespace

bool LiesWhereAllMayWrite(std::filesystem::path directory) {
  constexpr mode_t kForAll = S_ISVTX | S_IWOTH;
  for (;; directory = directory.parent_path()) {
    struct stat about {};
    if (::stat(directory.c_str(), &about) == 0 && (about.st_mode & kForAll) == kForAll) return true;
    if (!directory.has_relative_path()) return false;
  }
}

std::string ForeignOnTheWay(const std::string& path) {
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

void CheckNotForeign(const std::string& what, const std::string& path) {
  const std::string foreign = ForeignOnTheWay(path);
  if (foreign.empty()) return;
  throw Error(Error::kUsage,
              what + " " + path + ": " + foreign +
                  " belongs to another user, in a place where everybody may write, and its owner "
                  "could lead root elsewhere through it; choose a directory of your own");
}

}  // namespace testbed

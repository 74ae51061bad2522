#include "device/os/foreign_directory.h"

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "device/error.h"
#include "device/os/path_walk.h"

namespace testbed {
namespace {

// Returns whether everybody may make files in the directory, while only a file's owner may remove
// it.
bool IsForAll(const struct stat& directory) {
  constexpr mode_t kForAll = S_ISVTX | S_IWOTH;
  return (directory.st_mode & kForAll) == kForAll;
}

// Returns whether `owner` is root, or the user who called root by sudo.
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
  for (;; directory = directory.parent_path()) {
    struct stat about {};
    if (::stat(directory.c_str(), &about) == 0 && IsForAll(about)) return true;
    if (!directory.has_relative_path()) return false;
  }
}

bool IsForeignLink(const std::filesystem::path& link) {
  struct stat about {
  }, directory{};
  const std::string parent = link.has_parent_path() ? link.parent_path().string() : ".";
  if (::lstat(link.c_str(), &about) != 0 || ::stat(parent.c_str(), &directory) != 0) return false;
  return S_ISLNK(about.st_mode) && IsForAll(directory) && about.st_uid != ::geteuid() &&
         about.st_uid != directory.st_uid;
}

std::string ForeignOnTheWay(const std::string& path) {
  std::error_code unknown;
  const std::filesystem::path whole = std::filesystem::absolute(path, unknown);
  if (::geteuid() != 0 || unknown) return "";
  PathWalk walk(whole);
  while (walk.Next()) {
    const std::filesystem::path& place = walk.place();
    struct stat about {};
    if (::lstat(place.c_str(), &about) != 0) return "";  // the rest of the path does not exist
    if (!IsOfRootsUser(about.st_uid) && LiesWhereAllMayWrite(place.parent_path())) return place;
    if (S_ISLNK(about.st_mode) && walk.Follow() != 0) return "";  // nobody can open the path
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

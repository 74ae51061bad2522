#include "device/os/path_walk.h"

#include <cerrno>
#include <system_error>

namespace testbed {

namespace fs = std::filesystem;

bool PathWalk::Next() {
  while (!left_.empty()) {
    const fs::path name = left_.front();
    left_.pop_front();
    // An empty name stands for a slash at the end. It counts only if no other name follows, as it
    // does behind a link whose text ends with a slash.
    if (name.empty() && left_.empty()) place_ /= name;
    if (name.empty() || name == "." || name == "/") continue;
    std::error_code unknown;
    if (name != ".." || !fs::is_directory(place_, unknown)) {
      place_ /= name;
      return true;
    }
    place_ = place_.parent_path();
  }
  return false;
}

bool PathWalk::IsAtLink() const {
  std::error_code unknown;
  return fs::is_symlink(fs::symlink_status(place_, unknown));
}

int PathWalk::Follow() {
  constexpr int kMostLinks = 40;  // the kernel's limit (path_resolution(7))
  if (links_++ == kMostLinks) return ELOOP;
  std::error_code failed;
  const fs::path target = fs::read_symlink(place_, failed);
  if (failed) return failed.value();
  place_ = target.is_absolute() ? fs::path("/") : place_.parent_path();
  left_.insert(left_.begin(), target.begin(), target.end());
  return 0;
}

}  // namespace testbed

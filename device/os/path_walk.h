// Walks the way that a path leads, name by name, as open(2) does, and follows the symbolic links
// that the caller chooses. It serves code that must check each name on the way before it goes on.
//
//   PathWalk walk("/tmp/link/file");
//   while (walk.Next()) {                      // /tmp, /tmp/link, and what is behind the link
//     if (IsForeignLink(walk.place())) throw ...;
//     if (walk.IsAtLink()) walk.Follow();
//   }
//   walk.place();                              // where the path leads, be it there or not
//
// Not thread-safe.
#ifndef TESTBED_DEVICE_OS_PATH_WALK_H_
#define TESTBED_DEVICE_OS_PATH_WALK_H_

#include <deque>
#include <filesystem>

namespace testbed {

class PathWalk {
 public:
  explicit PathWalk(const std::filesystem::path& absolute)
      : left_(absolute.begin(), absolute.end()) {}

  // Goes on by one name; returns false when none is left. A ".." after a directory goes back and is
  // not a step of its own. After anything else it is a name that leads nowhere. place() keeps a
  // slash at the end of the path, which asks for a directory.
  bool Next();
  // Returns the path up to the current name, with the links that were followed resolved.
  const std::filesystem::path& place() const { return place_; }
  bool IsAtLink() const;
  // Goes to where the link at place() leads. Returns 0, or an errno when the link cannot be
  // followed.
  int Follow();

 private:
  std::deque<std::filesystem::path> left_;
  std::filesystem::path place_ = "/";
  int links_ = 0;  // number of links followed so far
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_PATH_WALK_H_

// The way that a path leads, name by name, with the symbolic links that the caller has followed: what
// open(2) does, for those who must know each name on the way before they go on.
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

  // Goes on by one name, and returns false when none is left. A ".." behind a directory is no name
  // but leads back, and one behind what is no directory leads nowhere. place() keeps a slash at the
  // end, which asks for a directory.
  bool Next();
  // Returns the name where the walk is, behind the links that it has followed.
  const std::filesystem::path& place() const { return place_; }
  bool IsAtLink() const;
  // Goes to where the link at place() leads. Returns 0, or the errno of why it leads nowhere.
  int Follow();

 private:
  std::deque<std::filesystem::path> left_;
  std::filesystem::path place_ = "/";
  int links_ = 0;  // so many were followed
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_PATH_WALK_H_

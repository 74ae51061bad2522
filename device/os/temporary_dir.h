// A directory that a run makes for itself and removes at its end: testbed-<16 random digits>.tmp.
//
//   TemporaryDir made(".");           // for this user alone, empty, locked
//   ... made.path() ...               // its maker removes what it put there; then it is removed
//   for (TemporaryDir& dead : TemporaryDir::Leftovers(".")) ...
//
// It belongs to whoever holds its lock, in whatever process namespace that is: no process number
// says whether it is in use. It is made exclusively under a name that nobody can guess, so that
// nobody can have put anything under that name before. One that is no longer locked is a leftover
// only when its owner is this user and nobody else may have written into it.
#ifndef TESTBED_DEVICE_OS_TEMPORARY_DIR_H_
#define TESTBED_DEVICE_OS_TEMPORARY_DIR_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "device/os/dir_lock.h"

namespace testbed {

// Sixteen hexadecimal digits that nobody can guess.
std::string RandomName();
// Whether the text is of that form.
bool IsRandomName(const std::string& text);

class TemporaryDir {
 public:
  // Throws Error when none can be made in `parent`.
  explicit TemporaryDir(const std::string& parent);
  // Removes it if it is empty, in the process that made it.
  ~TemporaryDir();
  TemporaryDir(TemporaryDir&& other) noexcept;
  TemporaryDir& operator=(TemporaryDir&&) = delete;

  const std::string& path() const { return path_; }
  // The same, whatever has become of the name.
  std::string held_path() const { return lock_.held_path(); }
  // Whether this process made it or took it over, rather than a parent of this process.
  bool IsOwner() const;
  // Leaves it as it is at the end.
  void Keep() { owner_ = 0; }

  // Those in `parent` that nobody holds any more; they are this process's from now on.
  static std::vector<TemporaryDir> Leftovers(const std::string& parent);

 private:
  TemporaryDir(std::string path, DirLock lock);
  std::string path_;
  DirLock lock_;
  pid_t owner_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_TEMPORARY_DIR_H_

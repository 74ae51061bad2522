// A TemporaryDir is a directory that a run makes for itself and removes at its end. Its name is
// testbed-<16 random digits>.tmp.
//
//   TemporaryDir made(".");           // for this user alone, empty, locked
//   ... made.path() ...               // the run removes the files that it puts there
//   for (TemporaryDir& dead : TemporaryDir::Leftovers(".")) ...
//
// The directory belongs to the process that holds its lock. A process number could not say whether
// it is in use, as the process may be in another process namespace. The directory is created
// exclusively under a name that cannot be guessed, so that no other user can have put files under
// that name before. A directory that is no longer locked is a leftover only when this user owns it
// and no other user could write into it, and only where no other host has the files: a lock on a
// directory holds on one host. Not thread-safe.
#ifndef TESTBED_DEVICE_OS_TEMPORARY_DIR_H_
#define TESTBED_DEVICE_OS_TEMPORARY_DIR_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "device/os/dir_lock.h"

namespace testbed {

// Returns sixteen hexadecimal digits that cannot be guessed.
std::string RandomName();
// Returns whether the text has the form of a RandomName().
bool IsRandomName(const std::string& text);
// Returns whether the name, without its parent, is that of a TemporaryDir.
bool IsTemporaryName(const std::string& name);

class TemporaryDir {
 public:
  // Makes and locks a directory in `parent`. Throws Error: kIo when it cannot, kUsage when another
  // user could replace it under root (device/os/foreign_directory.h) or write into it.
  explicit TemporaryDir(const std::string& parent);
  // Removes the directory if it is empty and IsOwner().
  ~TemporaryDir();
  TemporaryDir(TemporaryDir&& other) noexcept;
  TemporaryDir& operator=(TemporaryDir&&) = delete;

  const std::string& path() const { return path_; }
  // Returns a path to the directory that works even when the directory was renamed or replaced.
  std::string held_path() const { return lock_.held_path(); }
  // Returns whether this process made the directory or took it over. False in a forked child.
  bool IsOwner() const;
  // Makes the destructor leave the directory where it is.
  void Keep() { owner_ = 0; }

  // Locks and returns the leftovers in `parent`, which belong to this process from then on; none on
  // a file system that another host serves (IsServedByAnotherHost, sys_file.h, also for `prefix`).
  static std::vector<TemporaryDir> Leftovers(const std::string& parent,
                                             const std::string& prefix = "");

 private:
  TemporaryDir(std::string path, DirLock lock);
  std::string path_;
  DirLock lock_;
  pid_t owner_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_TEMPORARY_DIR_H_

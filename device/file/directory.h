// Functions on names in directories, for code that depends on their durability or must not mistake
// an error for an absent file. They throw Error (kIo) when the system refuses.
#ifndef TESTBED_DEVICE_FILE_DIRECTORY_H_
#define TESTBED_DEVICE_FILE_DIRECTORY_H_

#include <string>
#include <vector>

namespace testbed {

// Returns whether the file or directory exists. Throws when the system does not tell: a file that
// cannot be examined is not absent.
bool IsThere(const std::string& path);
// Return whether the name exists and is that of a regular file, or of a directory. A symbolic link
// counts as what it leads to. They throw as IsThere does.
bool IsFileThere(const std::string& path);
bool IsDirectoryThere(const std::string& path);
// Returns the names in the directory, in alphabetical order. Throws when the system does not tell
// all of them: a name that could not be read is not absent.
std::vector<std::string> NamesIn(const std::string& directory);
// RemoveNew undoes a failed attempt to make something in the directory: it removes each entry that
// is not in `before`, which NamesIn returned before the attempt. It passes over an entry that it
// cannot remove, and removes nothing when it cannot read the names that are there now.
void RemoveNew(const std::string& directory, const std::vector<std::string>& before);
// Makes the directory and its parents, as far as they do not exist, and makes their names durable
// as SyncParent does.
void MakeDirectories(const std::string& directory);
// Makes sure that the directory of a database is there: with `create` it makes it, as
// MakeDirectories does. Throws Error (kUsage) when there is no directory of that name.
void RequireDirectory(const std::string& directory, bool create);
// Returns the directories that MakeDirectories has to make, the innermost first.
std::vector<std::string> MissingDirectories(std::string directory);
// RemoveMadeDirectories undoes MakeDirectories, before which MissingDirectories returned `made`: it
// removes these directories, up to the first that is not empty. It removes none when somebody has
// locked the innermost (device/os/dir_lock.h), and passes over those that are not there.
void RemoveMadeDirectories(const std::vector<std::string>& made) noexcept;
// Makes the name of a directory durable, and those of the directories above it on the same file
// system: somebody else may have made them just before. It passes over a directory that this user
// may not open, or whose file system syncs none.
void MakeNameDurable(const std::string& directory);
// Makes the names in the directory of `path` durable, such as that of a file that was renamed
// there. It passes over a directory that this user may not open, or whose file system syncs none.
void SyncParent(const std::string& path);
// RenameFile and RemoveFile rename and remove a file. The change is durable only after
// SyncDirectory (file.h). Removing a file that does not exist is not an error. RenameFile replaces
// a regular file or a symbolic link only, and throws Error (kIo) when anything else has the name
// `to`: otherwise root could replace /dev/null by a file.
void RenameFile(const std::string& from, const std::string& to);
void RemoveFile(const std::string& path);
// A NameLoss is for code that removes or replaces a file by another call, such as unlink(2). It is
// made before the call, and Done() is called when the call has succeeded. If the file has lost its
// last name, the account forgets it (Ledger::ForgetFile). The NameLoss keeps the file's inode until
// then, so that Done() knows whose it is.
class NameLoss {
 public:
  explicit NameLoss(const std::string& path);
  ~NameLoss();
  NameLoss(const NameLoss&) = delete;
  NameLoss& operator=(const NameLoss&) = delete;
  void Done();

 private:
  int fd_;  // -1: the file is not there, or no descriptor is free
};
// Gives the file `from` the further name `to`, unless something has that name. Returns whether it
// did. `from` must be the file's only name, which nobody else uses. Throws when the system refuses.
bool LinkFile(const std::string& from, const std::string& to);
// Throws Error (kIo) when the open file, which was opened as `path`, has no name left, so that its
// bytes vanish when it is closed.
void CheckHasName(int fd, const std::string& path);

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_DIRECTORY_H_

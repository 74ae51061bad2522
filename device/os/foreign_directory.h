// Tells whether another user could lead root elsewhere through a directory in which root is to
// work. Root makes, opens and removes the files of a database by their paths. The owner of a
// directory on such a path may rename the entries in it at any time, and put a link to another file
// under their names.
//
//   CheckNotForeign("--dir", "/tmp/b");    // throws when /tmp/b is another user's
//
// The rule is that of fs.protected_symlinks (proc_sys_fs(5)), extended to directories: below a
// directory with the sticky bit in which everybody may make files (/tmp), no directory, file or
// symbolic link on the path may belong to another user. Elsewhere, root is expected to know whose
// the named directory is. The user who called root by sudo (SUDO_UID) is not another user. The
// check is for root only: other users can only be led to files that they may write anyway.
//
// The answer stays true, as nobody else can replace a directory of root's in such a place. For a
// path that does not exist in full it holds for the part that does, so a caller that makes the rest
// asks again. Thread-safe.
#ifndef TESTBED_DEVICE_OS_FOREIGN_DIRECTORY_H_
#define TESTBED_DEVICE_OS_FOREIGN_DIRECTORY_H_

#include <filesystem>
#include <string>

namespace testbed {

// Returns whether everybody may make files in the directory or in one above it, which then has the
// sticky bit. `directory` is a path without symbolic links.
bool LiesWhereAllMayWrite(std::filesystem::path directory);
// Returns whether `link` is a symbolic link that another user may have put there to have us write
// elsewhere. By the rule of fs.protected_symlinks, which not every system has in force, such a link
// lies in a directory where everybody may make files, and that belongs neither to us nor to the
// directory's owner. Applies to every user, not only to root.
bool IsForeignLink(const std::filesystem::path& link);
// Returns the first place on the path, or at its end, that belongs to another user in violation of
// the rule above; empty when there is none, and when this process is not root's.
std::string ForeignOnTheWay(const std::string& path);
// Throws Error (kUsage) when ForeignOnTheWay finds a place. `what` begins the sentence: the option
// that names the path.
void CheckNotForeign(const std::string& what, const std::string& path);
// Returns a path that leads to an open file, whatever has the file's name now. It works in this
// process, and in the processes that it forks, as long as they have the file open.
inline std::string HeldPath(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_FOREIGN_DIRECTORY_H_

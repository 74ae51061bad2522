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

#include <filesystem>
#include <string>

namespace testbed {

// Returns whether the directory, which a path without symbolic links names, or one above it has the
// sticky bit and may be written by everybody.
bool LiesWhereAllMayWrite(std::filesystem::path directory);
// Returns whether the link is one that another user may have put there to have us write elsewhere, by
// the rule of fs.protected_symlinks, which not every system has in force: in a directory where everybody
// may make files, it belongs neither to us nor to the directory's owner. Every user is asked. What is
// no symbolic link is none.
bool IsForeignLink(const std::filesystem::path& link);
// Returns what of another user's the path leads through or to, by the rule above; empty when there is
// no such thing, or this process is not root's.
std::string ForeignOnTheWay(const std::string& path);
// Throws Error (kUsage) when the path leads through, or to, what is another user's by the rule above.
// `what` begins the sentence: the option that names the path.
void CheckNotForeign(const std::string& what, const std::string& path);
// Returns a path that leads to an open file, whatever has its name now. It works in this process, and
// in the processes that it forks, as long as they have the file open.
inline std::string HeldPath(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

}  // namespace testbed

#endif  // TESTBED_DEVICE_OS_FOREIGN_DIRECTORY_H_

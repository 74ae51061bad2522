#include "device/file/replacement.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/os/dir_lock.h"
#include "device/os/foreign_directory.h"
#include "device/os/interrupted.h"
#include "device/os/path_walk.h"

namespace testbed {

namespace fs = std::filesystem;

bool IsOpenFile(const std::string& followed) {
  const fs::path link = followed, directory = link.parent_path();
  const std::string number = link.filename();
  if (directory.filename() != "fd" || number.empty() ||
      number.find_first_not_of("0123456789") != std::string::npos) {
    return false;
  }
  struct statfs about {};
  std::error_code unknown;
  return ::statfs(directory.c_str(), &about) == 0 && about.f_type == PROC_SUPER_MAGIC &&
         fs::is_symlink(fs::symlink_status(link, unknown)) && !fs::is_directory(link, unknown);
}

std::string FollowLinks(const std::string& path) {
  PathWalk walk(fs::absolute(path));
  while (walk.Next()) {
    if (!walk.IsAtLink() || IsOpenFile(walk.place())) continue;
    if (IsForeignLink(walk.place())) {
      throw Error(Error::kIo, walk.place().string() +
                                  " is a symbolic link of another user in a directory "
                                  "that everybody may write to");
    }
    if (const int code = walk.Follow(); code != 0) throw Error::Io("follow", path, code);
  }
  return walk.place();
}

void PutInPlace(int fd, const std::string& unfinished, const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) == 0) {
    // Only root may change the owner of a file. Without this call, root would become the owner of
    // another user's file by replacing it.
    const bool same_owner = ::fchown(fd, about.st_uid, about.st_gid) == 0;
    // The set-user-ID and set-group-ID bits are kept only if the new file has the earlier owner.
    if (::fchmod(fd, about.st_mode & (same_owner ? 07777 : 0777)) != 0) {
      throw Error::Io("chmod", unfinished, errno);
    }
  }
  RenameFile(unfinished, path);
  SyncParent(path);
}

FileReplacement::FileReplacement(const std::string& path)
    : path_(path), unfinished_(path + ".XXXXXX") {
  CheckLockedDirectory(path);
  fd_ = ::mkostemp(unfinished_.data(), O_CLOEXEC);
  if (fd_ < 0) throw Error::Io("create", unfinished_, errno);
}

FileReplacement::~FileReplacement() {
  ::close(fd_);
  if (!done_) ::unlink(unfinished_.c_str());
}

void FileReplacement::Write(const std::string& text) const {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd_, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw Error::Io("write", unfinished_, errno);
    done += static_cast<size_t>(n);
  }
  if (Uninterrupted([&] { return ::fsync(fd_); }) != 0) {
    throw Error::Io("sync", unfinished_, errno);
  }
}

void FileReplacement::TakePlace() {
  // mkostemp(3) has given the file a mode for this user alone. A file that replaces another gets
  // the mode of that one in PutInPlace.
  if (!IsThere(path_)) {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::fchmod(fd_, 0666 & ~mask) != 0) throw Error::Io("chmod", unfinished_, errno);
  }
  PutInPlace(fd_, unfinished_, path_);
  done_ = true;
}

}  // namespace testbed

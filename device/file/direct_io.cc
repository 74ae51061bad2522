#include "device/file/direct_io.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace testbed {
namespace {

// Returns whether the bytes of the file lie in its inode, as those of a small file may on ext4. The
// file system has no direct IO for it as long as it is so small, and has it later.
[[maybe_unused]] bool LiesInInode(int fd) {
  int flags = 0;
  return ::ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (flags & FS_INLINE_DATA_FL) != 0;
}

}  // namespace

DirectIo DirectIoOf([[maybe_unused]] int fd) {
  DirectIo direct;
#ifdef STATX_DIOALIGN
  struct statx st;
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &st) != 0) return direct;
  direct.told = (st.stx_mask & STATX_DIOALIGN) != 0;
  if (!direct.told) return direct;
  direct.offset_align = st.stx_dio_offset_align;
  direct.memory_align = st.stx_dio_mem_align;
  direct.in_page_cache = direct.offset_align == 0 && !LiesInInode(fd);
#endif
  return direct;
}

size_t DirectAlignment(int fd) {
  const DirectIo direct = DirectIoOf(fd);
  if (direct.offset_align == 0) return 4096;
  return std::max(direct.offset_align, direct.memory_align);
}

Error NoDirectIo(const std::string& path, bool accepted) {
  if (!accepted) {
    return Error(Error::kUsage,
                 "the file system of " + path +
                     " has no direct IO: use --io buffered, or a --dir on ext4 or xfs");
  }
  return Error(Error::kUsage,
               "the file system has no direct IO for " + path +
                   ", which it would read and write through the page cache, as an ext4 does that "
                   "is mounted with data=journal, and for encrypted files: use --io buffered, or "
                   "another --dir");
}

int OpenNameless(const std::string& directory, int flags) {
  flags |= O_RDWR | O_CLOEXEC;
  const int fd = ::open(directory.c_str(), O_TMPFILE | flags, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) return fd;
  const std::string name = directory + "/.testbed-nameless-" + std::to_string(::getpid());
  const int named = ::open(name.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | flags, 0600);
  const int code = errno;
  // open(2) may create the file and then refuse the flags (EINVAL), so the name is removed then,
  // too.
  if (named >= 0 || code == EINVAL) ::unlink(name.c_str());
  errno = code;
  return named;
}

void RequireDirectIo(const std::string& directory) {
  const int fd = OpenNameless(directory, O_DIRECT);
  if (fd < 0 && errno == EINVAL) throw NoDirectIo(directory, false);
  if (fd < 0) return;
  const bool in_page_cache = DirectIoOf(fd).in_page_cache;
  ::close(fd);
  if (in_page_cache) throw NoDirectIo("files in " + directory, true);
}

}  // namespace testbed

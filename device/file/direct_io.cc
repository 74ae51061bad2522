#include "device/file/direct_io.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>

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

}  // namespace testbed

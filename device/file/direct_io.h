// Tells what direct IO a file system has for a file (statx(2), STATX_DIOALIGN, Linux 6.1).
//
// A file system with direct IO may have none for some of its files. It accepts O_DIRECT for such a
// file all the same, and reads and writes it through the page cache: ext4 that is mounted with
// data=journal does, and files that are encrypted (fscrypt) or protected by fs-verity are so.
#ifndef TESTBED_DEVICE_FILE_DIRECT_IO_H_
#define TESTBED_DEVICE_FILE_DIRECT_IO_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "device/error.h"

namespace testbed {

struct DirectIo {
  bool told = false;           // the system tells; else the numbers below are 0
  uint32_t offset_align = 0;   // bytes of which the offset and the length must be multiples
  uint32_t memory_align = 0;   // bytes of which the memory's address must be a multiple
  bool in_page_cache = false;  // O_DIRECT is accepted for the file and has no effect on it
};

// Returns what the system tells of the open file. Thread-safe.
DirectIo DirectIoOf(int fd);

// Returns the alignment that direct IO on the open file needs. Where the system does not tell, it
// returns 4096, which is enough for every block device in use. Thread-safe.
size_t DirectAlignment(int fd);

// Returns the error (kUsage) that the file has no direct IO. `accepted` says that the file system
// has accepted O_DIRECT for it.
Error NoDirectIo(const std::string& path, bool accepted);

// Opens a new file in the directory, which disappears when it is closed, for reading and writing
// and with further flags of open(2). Returns its descriptor, or -1 with errno. On a file system
// without nameless files (NFS, vfat) the file's name is removed at once. Thread-safe.
int OpenNameless(const std::string& directory, int flags);

// Throws NoDirectIo when new files in the directory have no direct IO. This is for files that a
// library or a server opens by itself; File::Open looks at each file. Does nothing when no file can
// be made there. Thread-safe.
void RequireDirectIo(const std::string& directory);

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_DIRECT_IO_H_

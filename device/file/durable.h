// Makes files agree with the device. A process that was killed, or a write-back that failed, may
// have left bytes in the page cache that the device does not hold.
#ifndef TESTBED_DEVICE_FILE_DURABLE_H_
#define TESTBED_DEVICE_FILE_DURABLE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "device/file/file.h"

namespace testbed {

// Makes a closed file's pages in the page cache agree with the device: writes dirty pages back
// (fdatasync) and then drops all pages, so that the next read comes from the device. It drops none
// where there is no device (tmpfs). Callers use it for a file that a process may have left behind
// without closing it in order.
// After a failed write-back the page cache holds pages that the device lacks. They are clean, so no
// sync writes them. On ext4 not even a new write to such a page helps, if it was the first write to
// its block: the sync returns 0, but the block's extent stays marked as unwritten and reads as
// zeros after a power cut.
// Throws Error (kIo) when the file cannot be opened or written back, and Error (kRun) when pages
// stay in the page cache because a process has mapped or locked them.
void MakeDurable(const std::string& path, FileKind kind, IoMode mode = IoMode::kBuffered);
// Opens a file for reading from the device rather than from the page cache: by direct IO, or, where
// the file system has none, buffered after MakeDurable.
std::unique_ptr<File> OpenPastPageCache(const std::string& path, FileKind kind);
// Makes the system write the dirty pages in a range of a buffered file back, and waits until it
// has. The range is not durable afterwards: neither the device's cache nor the file's length is
// flushed. On overlayfs the whole file is synced, since the call for a range does nothing there.
// Throws Error (kIo) when pages could not be written; File::Sync does not report that failure
// again.
void WriteBack(const File& file, uint64_t offset, uint64_t n);
// Makes the system begin to write the dirty pages in a range of a buffered file back. With
// `after_earlier` it first waits for the pages of the range that are being written already. Does
// nothing where the system has no such call. The range is not durable, as with WriteBack; the next
// sync makes it so. Throws Error (kIo) as WriteBack does.
void StartWriteBack(const File& file, uint64_t offset, uint64_t n, bool after_earlier);

// Writes the bytes [begin, end) of the file, as far as the file reaches, to it once more and syncs
// them. Returns the number of bytes. Throws Error (kIo).
// After a failed sync the device may hold written bytes in its volatile cache alone: they can be
// read, later syncs succeed, and a power cut loses them. So when a database is opened, bytes for
// which no successful sync vouches are written again before anything that they replace is
// overwritten or removed.
uint64_t WriteAgain(File* file, uint64_t begin, uint64_t end);

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_DURABLE_H_

// What the device holds of a file that a killed process, or a failed write-back, may have left in the
// page cache alone.
#ifndef TESTBED_DEVICE_FILE_DURABLE_H_
#define TESTBED_DEVICE_FILE_DURABLE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "device/file/file.h"

namespace testbed {

// Makes a closed file's pages in the page cache agree with the device: writes dirty pages back
// (fdatasync) and then drops all pages, so that the next read comes from the device. For a file that
// a process may have left behind without closing it in order. After a failed write-back the page
// cache holds pages that the device lacks. They are clean, so no sync writes them. On ext4 not even a
// new write to such a page helps, if it was the first write to its block: the sync returns 0, but the
// block's extent stays marked as unwritten and reads as zeros after a power cut.
// Throws Error (kIo) when the file cannot be opened or written back, and Error (kRun) when pages stay
// in the page cache because a process has mapped or locked them.
void MakeDurable(const std::string& path, FileKind kind, IoMode mode = IoMode::kBuffered);
// Opens a file for reading from the device rather than from the page cache: by direct IO, or, where
// the file system has none, buffered after MakeDurable.
std::unique_ptr<File> OpenPastPageCache(const std::string& path, FileKind kind);
// Has the system write the dirty pages of a range of a buffered file back, and waits until it has.
// Nothing is durable then: the device's cache is not flushed, and neither is the file's length. Throws
// Error (kIo) when pages could not be written, of which File::Sync does not tell again.
void WriteBack(const File& file, uint64_t offset, uint64_t n);

// Writes the bytes [begin, end) of the file, which ends behind them or is cut there, once more, and
// syncs them. When a sync has failed, the device may have what was written in its own cache alone: it
// reads back, later syncs succeed, and a power cut takes it away. So whoever has opened a database
// writes what he builds on, and no successful sync vouches for, again before he overwrites or
// removes what it replaces. Returns the number of bytes. Throws Error (kIo).
uint64_t WriteAgain(File* file, uint64_t begin, uint64_t end);

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_DURABLE_H_

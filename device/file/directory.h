// Names in directories, where it matters that they are durable or that nothing was overlooked.
#ifndef TESTBED_DEVICE_FILE_DIRECTORY_H_
#define TESTBED_DEVICE_FILE_DIRECTORY_H_

#include <string>

namespace testbed {

// Whether the file or directory is there. Throws when that cannot be told: a file that cannot be
// looked at is not absent.
bool IsThere(const std::string& path);
// Makes a directory and those above it, as far as they are not there, and their names durable.
void MakeDirectories(const std::string& directory);
// The like of std::filesystem, with our errors. What is not there need not be removed. Not durable
// before SyncDirectory (file.h).
void RenameFile(const std::string& from, const std::string& to);
void RemoveFile(const std::string& path);
void RemoveTree(const std::string& path);

}  // namespace testbed

#endif  // TESTBED_DEVICE_FILE_DIRECTORY_H_

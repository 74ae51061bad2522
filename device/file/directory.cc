#include "device/file/directory.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "device/error.h"
#include "device/file/file.h"

namespace testbed {

bool IsThere(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) == 0) return true;
  if (errno != ENOENT && errno != ENOTDIR) throw Error::Io("stat", path, errno);
  return false;
}

void MakeDirectories(const std::string& directory) {
  if (directory.empty() || IsThere(directory)) return;
  const size_t end = directory.find_last_not_of('/');
  const size_t slash = directory.rfind('/', end);
  std::string parent = slash == std::string::npos ? "." : directory.substr(0, slash + 1);
  MakeDirectories(parent);
  if (::mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST) {
    throw Error::Io("create", directory, errno);
  }
  try {
    SyncDirectory(parent);
  } catch (...) {
    // The next attempt would take an existing directory for a durable one.
    ::rmdir(directory.c_str());
    throw;
  }
}

void RenameFile(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) throw Error::Io("rename", from, errno);
}

void RemoveFile(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw Error::Io("remove", path, errno);
}

}  // namespace testbed

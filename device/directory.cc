#include "device/directory.h"

#include <sys/stat.h>

#include <cerrno>

#include "device/error.h"
#include "device/file.h"

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
  SyncDirectory(parent);
}

}  // namespace testbed

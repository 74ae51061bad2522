#include "engines/data_file/data_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdint>

#include "device/error.h"
#include "device/file/directory.h"

namespace testbed {

void CheckDataFile(const std::string& data_file, const std::string& lock_file) {
  const bool has_lock = IsThere(lock_file);
  if (!IsThere(data_file)) {
    if (!has_lock) return;  // a new database
    throw Error(Error::kCorruption,
                fmt::format("file {} is missing though {} is there: put it back, or load the "
                            "database anew with --fresh; when nothing was ever loaded, remove {}",
                            data_file, lock_file, lock_file));
  }
  struct stat st {};
  if (::stat(data_file.c_str(), &st) != 0) throw Error::Io("stat", data_file, errno);
  if (st.st_size != 0) return;
  throw Error(Error::kCorruption,
              fmt::format("file {} is empty: put it back, or load the database anew with --fresh; "
                          "when nothing was ever loaded, remove it and {}",
                          data_file, lock_file));
}

bool DeviceIsFull(const std::string& directory) {
  constexpr uint64_t kLittle = 1 << 20;
  struct statvfs room {};
  return ::statvfs(directory.c_str(), &room) == 0 &&
         uint64_t{room.f_bavail} * room.f_frsize < kLittle;
}

}  // namespace testbed

#include "engines/data_file/data_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "device/account/ledger.h"
#include "device/error.h"
#include "device/file/directory.h"

namespace testbed {

void CheckDataFile(const std::string& data_file, const std::string& lock_file) {
  const bool has_lock = IsThere(lock_file);
  if (!IsThere(data_file)) {
    if (!has_lock) return;  // the database is new
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

// IsThere throws for a file that cannot be examined. It must not be taken for absent: files that
// were absent are removed when the database cannot be opened.
DataFileOpening::DataFileOpening(std::string data_file, std::string lock_file)
    : data_file_(std::move(data_file)),
      lock_file_(std::move(lock_file)),
      is_new_(!IsThere(data_file_)),
      had_lock_(IsThere(lock_file_)) {
  CheckDataFile(data_file_, lock_file_);
}

DataFileOpening::~DataFileOpening() {
  if (is_done_) return;
  std::error_code error;
  if (is_new_) std::filesystem::remove(data_file_, error);
  if (!had_lock_) std::filesystem::remove(lock_file_, error);
}

void RegisterDataFile(const std::string& data_file, const std::string& lock_file) {
  struct stat st {};
  if (::stat(data_file.c_str(), &st) == 0) {
    Ledger::Get().RegisterFile(st.st_dev, st.st_ino, FileKind::kData);
  }
  if (::stat(lock_file.c_str(), &st) == 0) {
    Ledger::Get().RegisterFile(st.st_dev, st.st_ino, FileKind::kTemp);
  }
}

void CheckTableName(const std::string& engine, const std::string& table, size_t longest) {
  if (!table.empty() && table.find('\0') == std::string::npos && table.size() <= longest) return;
  throw Error(Error::kUsage, engine + " cannot name a table '" + table + "': a name has 1 to " +
                                 std::to_string(longest) + " bytes, none of them zero");
}

bool DeviceIsFull(const std::string& directory) {
  constexpr uint64_t kLittle = 1 << 20;
  struct statvfs room {};
  return ::statvfs(directory.c_str(), &room) == 0 &&
         uint64_t{room.f_bavail} * room.f_frsize < kLittle;
}

}  // namespace testbed

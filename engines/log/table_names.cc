#include "engines/log/table_names.h"

#include <fmt/core.h>
#include <xxhash.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string_view>

#include "device/file/directory.h"
#include "device/file/durable.h"
#include "device/file/file.h"

namespace testbed {
namespace append_log {
namespace {

// Returns the first line of the file, which has the checksum of the other lines and the id of their
// log.
std::string FirstLine(uint64_t log_id, std::string_view names) {
  return fmt::format("testbed-log-tables 2 {:016x} {:016x}\n", log_id,
                     XXH3_64bits_withSeed(names.data(), names.size(), log_id));
}

std::unique_ptr<File> OpenFile(const std::string& path, FileOptions::Create create) {
  FileOptions options;
  options.kind = FileKind::kMeta;
  options.create = create;
  options.read_only = create == FileOptions::kMustExist;
  return File::Open(path, options);
}

}  // namespace

std::string TableNames::Path(const std::string& directory) { return directory + "/tables"; }

std::string TableNames::UnfinishedPath(const std::string& directory) {
  return Path(directory) + ".new";
}

TableNames::TableNames(const std::string& directory) : directory_(directory) {
  const std::string path = Path(directory);
  // A process that crashed may have left the file's newest bytes in the page cache alone.
  MakeDurable(path, FileKind::kMeta);
  const auto file = OpenFile(path, FileOptions::kMustExist);
  std::string text(file->Size(), '\0');
  file->Read(0, text.data(), text.size());
  const std::string_view names =
      std::string_view(text).substr(std::min(text.size(), FirstLine(0, "").size()));
  unsigned long long id = 0;
  if (std::sscanf(text.c_str(), "testbed-log-tables 2 %16llx ", &id) != 1 ||
      text != FirstLine(id, names).append(names)) {
    throw Error(Error::kCorruption, "file " + path +
                                        " is damaged, or was written by an earlier testbed: put a "
                                        "copy back, or load the database anew with --fresh");
  }
  log_id_ = id;
  for (size_t at = 0, end; (end = names.find('\n', at)) != names.npos; at = end + 1) {
    names_.emplace_back(names.substr(at, end - at));
  }
  count_.store(static_cast<uint32_t>(names_.size()), std::memory_order_release);
}

TableNames::TableNames(const std::string& directory, uint64_t log_id)
    : directory_(directory), log_id_(log_id) {
  Replace("");
}

TableId TableNames::Open(const std::string& name) {
  const LockGuard lock(mutex_);
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found != names_.end()) return static_cast<TableId>(found - names_.begin());
  if (name.find('\n') != std::string::npos) {
    throw Error(Error::kUsage, "a table's name cannot have a line break in the engine log");
  }
  if (failure_) throw Error(*failure_);
  std::string names;
  for (size_t i = 1; i < names_.size(); ++i) names.append(names_[i]).append("\n");
  names.append(name).append("\n");
  try {
    Replace(names);
  } catch (const Error& error) {
    if (!error.disk_is_full()) failure_ = error;
    throw;
  }
  names_.push_back(name);
  count_.store(static_cast<uint32_t>(names_.size()), std::memory_order_release);
  return static_cast<TableId>(names_.size() - 1);
}

void TableNames::Replace(const std::string& names) {
  const std::string unfinished = UnfinishedPath(directory_);
  const std::string text = FirstLine(log_id_, names) + names;
  RemoveFile(unfinished);  // a crash or a full disk has left it
  {
    const auto file = OpenFile(unfinished, FileOptions::kMustCreate);
    file->Write(0, text.data(), text.size());
    file->Sync(true);
  }
  RenameFile(unfinished, Path(directory_));
  SyncDirectory(directory_);
}

}  // namespace append_log
}  // namespace testbed

#include "tools/maintenance/backup_place.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "device/error.h"
#include "device/file/directory.h"
#include "device/os/foreign_directory.h"
#include "tools/database/database_files.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kHere[] = ".";  // ClosedDatabase::PlaceOf

std::string WithoutSlashes(std::string dir) {
  while (dir.size() > 1 && dir.back() == '/') dir.pop_back();
  return dir;
}

fs::path Canonical(const std::string& dir) {
  std::error_code code;
  fs::path path = fs::weakly_canonical(dir, code);
  if (code) throw Error::Io("resolve", dir, code.value());
  return path;
}

void CheckElsewhere(const std::string& to, const std::string& dir) {
  const fs::path target = Canonical(to), source = Canonical(dir);
  if (std::mismatch(source.begin(), source.end(), target.begin(), target.end()).first !=
      source.end()) {
    return;
  }
  throw Error(Error::kUsage, fmt::format("--to {} is the directory of the database, {}, or lies in "
                                         "it; give one elsewhere",
                                         to, dir));
}

}  // namespace

BackupPlace::BackupPlace(const std::string& to, const ClosedDatabase& closed)
    : to_(WithoutSlashes(to)), closed_(closed), missing_(MissingDirectories(to_)) {
  CheckNotForeign("--to", to_);
  for (const std::string& dir : closed_.directories()) CheckElsewhere(to_, dir);
  CheckEmpty();
}

BackupPlace::~BackupPlace() {
  if (finished_) return;
  try {
    Remove();
  } catch (const std::exception&) {
    // A destructor must not throw, and the command reports its own error.
  }
  lock_ = DirLock();  // RemoveMadeDirectories removes no directory that is locked
  RemoveMadeDirectories(missing_);
}

void BackupPlace::CheckEmpty() const {
  if (!IsThere(to_)) return;
  if (!IsDirectoryThere(to_)) {
    throw Error(Error::kUsage,
                fmt::format("--to {} is no directory; give a new or an empty one", to_));
  }
  if (NamesIn(to_).empty()) return;
  const std::optional<json> record = ReadRecord(to_);
  const bool unfinished = record && !record->value("loaded", false);
  throw Error(Error::kUsage,
              fmt::format("--to {} is not empty{}; give a new or an empty directory", to_,
                          unfinished ? " (a backup or a load in it was not finished: remove it if "
                                       "nobody needs it)"
                                     : ""));
}

void BackupPlace::Begin() {
  const json* const record = closed_.whole_record();
  MakeDirectories(to_);
  CheckNotForeign("--to", to_);  // another user may have made a part of the path first
  if (record == nullptr && PathOf(closed_.databases().front()) == to_) return;
  DirLock lock(to_, "--to");
  CheckEmpty();  // another process may have made a file before the lock was taken
  lock_ = std::move(lock);
  if (record == nullptr) return;
  json begun = *record;
  begun["loaded"] = false;
  begun[kUnfinishedBackup] = true;
  WriteRecord(to_, begun);
}

std::string BackupPlace::PathOf(const InspectedDir::Database& database) const {
  const std::string place = closed_.PlaceOf(database);
  return place == kHere ? to_ : to_ + "/" + place;
}

void BackupPlace::Finish() {
  if (const json* const record = closed_.whole_record()) WriteRecord(to_, *record);
  finished_ = true;
}

// Removes only what lies in a directory that was empty when this object locked it. After a failed
// backup into an unlocked directory, the engine has removed its own files itself.
void BackupPlace::Remove() const {
  if (lock_.fd() < 0) return;
  for (const InspectedDir::Database& database : closed_.databases()) {
    const std::string path = PathOf(database);
    RemoveEngineFiles(path, database.engine->name);
    const fs::path above = fs::path(path).parent_path();  // db/, when there are several databases
    if (above != to_) ::rmdir(above.c_str());
  }
  if (closed_.whole_record() != nullptr) RemoveDatabase(to_, to_);
}

}  // namespace testbed

#include "tools/database/database_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>
#include <system_error>
#include <thread>

#include "device/error.h"
#include "device/file/directory.h"
#include "engines/databases.h"
#include "engines/disk_size.h"
#include "engines/registry.h"
#include "tools/output/json_text.h"
#include "tools/output/output_file.h"
#include "tools/output/table.h"
#include "tools/release/release.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kKept[] = "kept";

// The size of the longest record in bytes. A record lists the rows that exist as ranges, and random
// erases make many ranges.
constexpr size_t kMostRecord = 16 << 20;

// Returns the text of a regular file that is no longer than a record; nothing when `path` is no
// such file. It does not follow a symbolic link, and does not block on a pipe.
std::optional<std::string> SmallText(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::optional<std::string> text;
  struct stat st;
  if (::fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
      st.st_size <= static_cast<off_t>(kMostRecord)) {
    text.emplace(static_cast<size_t>(st.st_size), '\0');
    const ssize_t n = ::pread(fd, text->data(), text->size(), 0);
    text->resize(n > 0 ? static_cast<size_t>(n) : 0);
  }
  ::close(fd);
  return text;
}

std::vector<std::string> Names(const std::string& dir) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(dir, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool IsRecord(const json& document) {
  return document.is_object() && document.value("schema", json()) == kDatabaseSchema;
}

// Returns whether the text is a record, or the beginning of one that a crash has cut off.
bool IsBegunRecord(const std::string& text) {
  const std::string written = text.substr(0, text.find('\0'));  // a crash may leave zeros behind it
  if (const json whole = ParseJson(written); !whole.is_discarded()) return IsRecord(whole);
  // JsonText sorts the names in a record, so the text begins with one of these: the first in a
  // record with the settings of a load, the second in one without.
  for (const std::string begin : {"{\n  \"compressibility\": ", "{\n  \"loaded\": "}) {
    if (written.starts_with(begin) || begin.starts_with(written)) return true;
  }
  return false;
}

// Returns the engine that the record names, without its release; empty when it names none.
std::string EngineOf(const json& record) { return SplitRelease(record.value("engine", "")).engine; }

// Throws Error (kUsage) when this build lacks the engine that the record names. None of the files
// would be recognized, and without the record nothing would know them any more.
void CheckEngineIsKnown(const json& record, const std::string& shown) {
  const std::string name = EngineOf(record);
  const std::vector<EngineInfo>& all = Engines();
  const bool is_known = std::any_of(all.begin(), all.end(),
                                    [&](const EngineInfo& info) { return info.name == name; });
  if (name.empty() || is_known) return;
  throw Error(Error::kUsage,
              fmt::format("{} holds a database of {}, which this build does not have, so its files "
                          "are not known: use a build that has {}, or remove them yourself",
                          shown, name, name));
}

// Recognizes the files that the engine of a database makes, in any release; when the record names
// no engine, the files that any engine makes.
class Ours {
 public:
  // Reads the names that follow from tables, from the record and from the database in `files`.
  Ours(const json& record, const std::string& files) {
    const std::string name = EngineOf(record);
    for (const EngineInfo& info : Engines()) {
      if (!name.empty() && name != info.name) continue;
      engines_.push_back(&info);
      const std::vector<std::string> found = TableFilesIn(info, files);
      tables_.insert(found.begin(), found.end());
    }
    const std::vector<std::string> recorded = RecordedTableFiles(record);
    tables_.insert(recorded.begin(), recorded.end());
  }
  bool IsOfTable(const std::string& path) const { return tables_.contains(path); }
  bool Has(const std::string& path) const { return IsOfTable(path) || IsListed(path, false); }
  bool HasDirectory(const std::string& path) const {
    const auto first = tables_.lower_bound(path + "/");
    return IsListed(path, true) || (first != tables_.end() && first->starts_with(path + "/"));
  }

 private:
  bool IsListed(const std::string& path, bool directory) const {
    return std::any_of(engines_.begin(), engines_.end(), [&](const EngineInfo* info) {
      return IsEngineFile(*info, path, directory);
    });
  }

  std::vector<const EngineInfo*> engines_;
  std::set<std::string> tables_;
};

// Removes files and directories below a directory by their paths in it, and follows no symbolic
// link. A directory on such a path may belong to another user (such as the cluster of a server that
// root started), who could put a link in its place at any time.
class Remover {
 public:
  // The constructor and Remove throw filesystem_error.
  explicit Remover(const fs::path& top)
      : top_(top), fd_(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (fd_ < 0) Fail(top, errno);
  }
  ~Remover() { ::close(fd_); }
  Remover(const Remover&) = delete;
  Remover& operator=(const Remover&) = delete;

  // Removes the file or empty directory at this path, if it exists.
  void Remove(const fs::path& path) const {
    const fs::path below = path.lexically_relative(top_);
    int at = fd_;
    for (const fs::path& part : below.parent_path()) {
      const int next = ::openat(at, part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      const int code = errno;
      if (at != fd_) ::close(at);
      if (next < 0) Fail(path, code);
      at = next;
    }
    const std::string name = below.filename();
    const bool removed = ::unlinkat(at, name.c_str(), 0) == 0 || errno == ENOENT ||
                         (errno == EISDIR && ::unlinkat(at, name.c_str(), AT_REMOVEDIR) == 0);
    const int code = errno;
    if (at != fd_) ::close(at);
    if (!removed) Fail(path, code);
  }

 private:
  [[noreturn]] static void Fail(const fs::path& path, int code) {
    throw fs::filesystem_error("remove", path, {code, std::generic_category()});
  }

  const fs::path top_;
  const int fd_;
};

// Removes the files in db/ of the engine that the record names, and their directories when they are
// empty then. Returns the names of the others, which stay.
std::vector<std::string> RemoveFilesOf(const json& record, const fs::path& files) {
  const Ours ours(record, files);
  std::vector<std::string> left;
  std::vector<fs::path> directories, removed;
  const auto stays = [&](const std::string& path) {
    left.push_back(fmt::format("{}/{}", kEngineFiles, path));
  };
  for (const auto& entry : fs::recursive_directory_iterator(files)) {
    const std::string path = entry.path().lexically_relative(files);
    if (entry.is_directory() && !entry.is_symlink()) {
      directories.push_back(entry.path());
    } else if (ours.Has(path)) {
      removed.push_back(entry.path());
    } else {
      stays(path);
    }
  }
  // The files of tables are removed first, and then the files that name them, so that a removal
  // that was interrupted can be completed.
  std::stable_partition(removed.begin(), removed.end(), [&](const fs::path& path) {
    return ours.IsOfTable(path.lexically_relative(files));
  });
  const Remover remover(files);
  for (const fs::path& path : removed) remover.Remove(path);
  for (auto at = directories.rbegin(); at != directories.rend(); ++at) {
    if (!fs::is_empty(*at)) continue;
    const std::string path = at->lexically_relative(files);
    ours.HasDirectory(path) ? remover.Remove(*at) : stays(path + "/");
  }
  if (fs::is_empty(files)) fs::remove(files);
  std::sort(left.begin(), left.end());
  return left;
}

// Removes the files as RemoveFilesOf does, and begins again when a file vanishes meanwhile: the
// server of a killed run ends by itself a moment later, and may remove files that it was making.
std::vector<std::string> RemoveRestlessFilesOf(const json& record, const fs::path& files) {
  constexpr int kTries = 50;
  for (int tries = 1;; ++tries) {
    try {
      return RemoveFilesOf(record, files);
    } catch (const fs::filesystem_error& e) {
      if (!fs::exists(files)) return {};
      if (e.code() != std::errc::no_such_file_or_directory || tries == kTries) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// Notes in the record that the database is not loaded, so that --reuse refuses what a removal that
// was cut short has left. A full disk may have no room for that, and removing makes room.
void NoteRemoval(const std::string& dir, const std::string& shown, json record) {
  if (!record.value("loaded", false)) return;
  record["loaded"] = false;
  try {
    WriteRecord(dir, record);
  } catch (const Error& error) {
    if (error.code() == ENOSPC || error.code() == EDQUOT) return;
    throw Error::Io("remove", shown, error.code());
  }
}

}  // namespace

void CheckReadable(const std::string& dir, const std::string& named) {
  const std::string record = dir + "/" + kRecordFile;
  const auto refused = [](const std::error_code& why) {
    return why && why != std::errc::no_such_file_or_directory && why != std::errc::not_a_directory;
  };
  std::error_code why;
  (void)fs::directory_iterator(dir, why);
  const bool of_record = !refused(why) && ::access(record.c_str(), R_OK) != 0 &&
                         refused(why = std::error_code(errno, std::generic_category()));
  if (!refused(why)) return;
  throw Error(
      Error::kUsage,
      fmt::format("{} cannot be read{} ({}); choose a directory that this user may read", named,
                  of_record ? std::string(", as to its ") + kRecordFile : "", why.message()));
}

std::optional<json> ReadRecord(const std::string& dir) {
  json record = ParseJson(SmallText(dir + "/" + kRecordFile).value_or(""));
  if (!IsRecord(record)) return std::nullopt;
  const bool whole = record.value("engine", json("")).is_string() &&
                     record.value("loaded", json(false)).is_boolean();
  return whole ? std::optional(std::move(record)) : std::nullopt;
}

std::vector<std::string> RecordedTableFiles(const json& record) {
  std::vector<std::string> files;
  for (const json& file : record.value(kTableFiles, json::array())) {
    if (file.is_string()) files.push_back(file);
  }
  return files;
}

bool HasOtherSizes(const json& record) {
  const json other = record.value(kOtherSizes, json());
  return other.is_boolean() && other.get<bool>();
}

void WriteRecord(const std::string& dir, const json& record) {
  std::string text = JsonText(record, 2) + "\n";
  // SmallText reads no longer record, and without its record the database would be lost. The list
  // of rows is left out; a later run counts the rows.
  if (text.size() > kMostRecord && record.contains("population")) {
    json shorter = record;
    shorter["population"] = nullptr;
    text = JsonText(shorter, 2) + "\n";
  }
  ReplaceFile(dir + "/" + kRecordFile, text);
}

std::vector<std::string> UnfinishedRecords(const std::string& dir) {
  std::vector<std::string> names = NamesIn(dir);
  const bool alone = names.size() == 1;
  std::erase_if(names, [&](const std::string& name) {
    const bool is_ours =
        ReplacedBy(name) == kRecordFile || (alone && name == std::string(kRecordFile) + ".new");
    const std::optional<std::string> text =
        is_ours ? SmallText(fmt::format("{}/{}", dir, name)) : std::nullopt;
    return !text || !IsBegunRecord(*text);
  });
  return names;
}

bool HoldsNoDatabaseYet(const std::string& dir) {
  return UnfinishedRecords(dir).size() == NamesIn(dir).size();
}

void RemoveUnfinishedRecords(const std::string& dir) {
  for (const std::string& name : UnfinishedRecords(dir))
    RemoveFile(fmt::format("{}/{}", dir, name));
}

std::vector<std::string> RemoveDatabase(const std::string& dir, const std::string& shown) {
  const std::optional<json> record = ReadRecord(dir);
  if (!record) return Names(dir);
  CheckEngineIsKnown(*record, shown);
  const fs::path files = fs::path(dir) / kEngineFiles;
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(files, error))) {
    throw Error(Error::kUsage,
                fmt::format("{}/{} is a symbolic link, which testbed did not make and does not "
                            "remove; remove it or choose another directory",
                            shown, kEngineFiles));
  }
  NoteRemoval(dir, shown, *record);
  std::vector<std::string> inside;
  try {
    if (fs::exists(fs::symlink_status(files))) inside = RemoveRestlessFilesOf(*record, files);
    // The record is removed last: without it, the files that are left would not count as testbed's.
    RemoveUnfinishedRecords(dir);
    fs::remove(fs::path(dir) / kRecordFile);
  } catch (const fs::filesystem_error& e) {
    throw Error::Io("remove", shown, e.code().value());
  }
  std::vector<std::string> left = Names(dir);
  std::erase(left, kEngineFiles);
  left.insert(left.end(), inside.begin(), inside.end());
  return left;
}

std::vector<std::string> RemoveEngineFiles(const std::string& files, const std::string& engine) {
  try {
    if (!fs::exists(files)) return {};
    return RemoveRestlessFilesOf({{"engine", engine}}, files);
  } catch (const fs::filesystem_error& e) {
    throw Error::Io("remove", files, e.code().value());
  }
}

uint64_t BytesOfDatabase(const std::string& dir) {
  if (!ReadRecord(dir)) return 0;
  return DiskSizeOf(dir + "/" + kEngineFiles, [](const std::string&) { return false; }).total();
}

void RemoveDatabaseDirectory(const std::string& dir) {
  const std::optional<DirLock> lock = DirLock::Try(dir);
  if (!lock || !lock->Leads(dir)) return;
  try {
    if (RemoveDatabase(lock->held_path(), dir).empty()) ::rmdir(dir.c_str());
  } catch (const Error&) {
  }
}

std::string SomeNames(const std::vector<std::string>& names) {
  constexpr size_t kMost = 5;
  std::vector<std::string> listed;
  for (const std::string& name : names) {
    if (listed.size() < kMost) listed.push_back(OneLine(name));
  }
  const std::string text = fmt::format("{}", fmt::join(listed, ", "));
  return names.size() <= kMost ? text : fmt::format("{} and {} more", text, names.size() - kMost);
}

TemporaryDatabase::TemporaryDatabase(const std::string& parent) : dir_(parent) {
  try {
    // The record is written first: it marks the files that a killed run leaves as testbed's.
    WriteRecord(path(), {{"schema", kDatabaseSchema}, {"loaded", false}});
    MakeDirectories(engine_path());
  } catch (...) {
    RemoveDatabase(dir_.held_path(), path());
    throw;
  }
}

TemporaryDatabase::~TemporaryDatabase() {
  if (!dir_.IsOwner()) return;
  try {
    RemoveDatabase(dir_.held_path(), path());
  } catch (const Error&) {
  }
}

void TemporaryDatabase::Keep() {
  json record = ReadRecord(path()).value_or(json::object());
  record[kKept] = true;
  WriteRecord(path(), record);
  dir_.Keep();
}

std::vector<std::string> TemporaryDatabase::CleanLeftovers(const std::string& parent) {
  std::vector<std::string> done;
  for (const TemporaryDir& dir : TemporaryDir::Leftovers(parent)) {
    const std::string held = dir.held_path();
    const std::optional<json> record = ReadRecord(held);
    if (record && record->contains(kKept)) continue;
    try {
      if (!record) {
        // A directory without a record is removed only when a run was killed before it wrote the
        // record; otherwise no run made the directory.
        if (!HoldsNoDatabaseYet(held)) continue;
        RemoveUnfinishedRecords(held);
      }
      const std::vector<std::string> left = RemoveDatabase(held, dir.path());
      done.push_back(fmt::format(
          "removed {}, the database of a run that was killed{}", dir.path(),
          left.empty() ? ""
                       : fmt::format("; {} in it is not testbed's and stays", SomeNames(left))));
    } catch (const Error& e) {
      done.push_back(e.what());
    }
  }
  return done;
}

}  // namespace testbed

#include "tools/inspect/inspect_dir.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "device/error.h"
#include "tools/database/database_files.h"
#include "tools/output/json_text.h"
#include "tools/output/progress.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

[[noreturn]] void NoDatabase(const std::string& dir) {
  if (const std::optional<nlohmann::json> record = ReadRecord(dir)) {
    const std::string engine = record->value("engine", std::string("a database"));
    throw Error(Error::kUsage,
                record->value("loaded", false)
                    ? fmt::format("directory {} holds no database, though {}/{} says that {} was "
                                  "loaded there",
                                  dir, dir, kRecordFile, engine)
                    : fmt::format("directory {} holds no database: {}/{} says that a load or a "
                                  "backup of {} was begun there, and not finished",
                                  dir, dir, kRecordFile, engine));
  }
  std::vector<std::string> names;
  for (const EngineInfo& engine : Engines()) {
    if (engine.capabilities.persistent) names.push_back(engine.name);
  }
  throw Error(Error::kUsage,
              fmt::format("directory {} holds no database of {}; give the directory that a run had "
                          "as --dir",
                          dir, Joined(names)));
}

// Returns the directory that holds the record: `path`, or one of the two above it, since `path` may
// be DIR/db/0. Returns an empty string when none of them has a record. This function and the next
// two take a path of PathInRun.
std::string RunDirectory(fs::path path) {
  for (int up = 0; up < 3; ++up) {
    if (ReadRecord(path)) return path.string();
    path = path.parent_path();
  }
  return "";
}

// Returns whether `path` is the directory `run` of a run, or its db/.
bool HasAllDatabases(const fs::path& path, const std::string& run) {
  return path == run || path == fs::path(run) / kEngineFiles;
}

// Returns whether the record in `run` is about `path`: the run's directory, its db/, or a directory
// in db/.
bool IsOfRun(const fs::path& path, const std::string& run) {
  return HasAllDatabases(path, run) || path.parent_path() == fs::path(run) / kEngineFiles;
}

bool IsUnfinishedBackup(const nlohmann::json& record) {
  const nlohmann::json unfinished = record.value(kUnfinishedBackup, nlohmann::json());
  return unfinished.is_boolean() && unfinished.get<bool>();
}

// Returns the path of the record in `run` for a message: it begins with `dir` as the user gave it
// when this is the same directory.
std::string ShownRecord(const std::string& dir, const std::string& run) {
  return fmt::format("{}/{}", PlainPath(dir) == run ? dir : run, kRecordFile);
}

// Throws Error (kUsage) when a directory is missing of the databases that the record in `run`
// names. `dir` is the directory of the run, or its db/.
void CheckAllThere(const std::string& dir, const std::string& run, const nlohmann::json& record) {
  const nlohmann::json recorded = record.value("databases", nlohmann::json());
  const uint64_t databases = recorded.is_number_unsigned() ? recorded.get<uint64_t>() : 1;
  if (databases <= 1) return;  // the files of a single database are in db/ itself
  const std::string files = PlainPath(dir) == run ? dir + "/" + kEngineFiles : dir;
  const std::string engine = record.value("engine", std::string("an engine"));
  std::error_code none;
  for (uint64_t number = 0; number < databases; ++number) {
    const std::string path = fmt::format("{}/{}", files, number);
    if (fs::is_directory(path, none)) continue;
    throw Error(Error::kUsage,
                record.value("loaded", false)
                    ? fmt::format("directory {} is missing: {} says that {} databases of {} were "
                                  "loaded there; put it back, or give the directory of a single "
                                  "database that is there",
                                  path, ShownRecord(dir, run), databases, engine)
                    : fmt::format("directory {} is missing: {} says that a load or a backup of {} "
                                  "databases of {} was begun there, and not finished",
                                  path, ShownRecord(dir, run), databases, engine));
  }
}

// Throws Error (kUsage) when this user may not read one of the engine's files. The engine would
// take it for damaged.
void CheckFilesReadable(const InspectedDir::Database& database, const std::string& command) {
  std::error_code error;
  fs::recursive_directory_iterator at(database.path, fs::directory_options::skip_permission_denied,
                                      error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code unknown;
    const bool is_directory = at->is_directory(unknown);
    const std::string inside = at->path().lexically_relative(database.path);
    if (!IsEngineFile(*database.engine, inside, is_directory)) continue;
    const int needed = is_directory ? R_OK | X_OK : R_OK;
    if (::access(at->path().c_str(), needed) == 0 || errno != EACCES) continue;
    throw Error(Error::kUsage,
                fmt::format("{} cannot be read ({}): run testbed {} as a user who may read all "
                            "files of the database",
                            at->path().string(), std::strerror(EACCES), command));
  }
}

}  // namespace

void RefuseUnfinished(const std::string& dir, const std::string& run,
                      const nlohmann::json& record) {
  throw Error(
      Error::kUsage,
      fmt::format("directory {} holds no whole database: {} says that a load or a backup "
                  "of {} was begun there, and not finished",
                  dir, ShownRecord(dir, run), record.value("engine", std::string("a database"))));
}

InspectedDir::InspectedDir(const std::string& dir, const std::string& command, const Door& door) {
  std::string path = dir;
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  CheckReadable(path, "directory " + path);
  std::error_code none;
  if (!fs::exists(path, none)) {
    throw Error(Error::kUsage, fmt::format("directory {} does not exist", path));
  }
  if (!fs::is_directory(path, none)) {
    throw Error(Error::kUsage,
                fmt::format("{} is not a directory; give the directory of a database", path));
  }
  directories_.push_back(path);
  const std::string in_run = PathInRun(path);
  run_directory_ = RunDirectory(in_run);
  std::optional<nlohmann::json> record;  // if it is about `path`
  if (!run_directory_.empty()) {
    directories_.push_back(run_directory_);
    lock_ = DirLock(run_directory_, "directory");
    if (IsOfRun(in_run, run_directory_)) record = ReadRecord(run_directory_);
  }
  if (record && IsUnfinishedBackup(*record)) RefuseUnfinished(path, run_directory_, *record);
  const bool has_all = record && HasAllDatabases(in_run, run_directory_);
  if (!Find(path) && !Find(path + "/db") && !FindNumbered(path + "/db") && !FindNumbered(path)) {
    if (has_all && fs::is_directory(run_directory_ + "/" + kEngineFiles, none)) {
      CheckAllThere(path, run_directory_, *record);
    }
    NoDatabase(path);
  }
  for (const Database& database : databases_) {
    if (door(*database.engine)) continue;
    throw Error(Error::kUsage,
                fmt::format("directory {} holds a database of {}, which testbed {} does not know; "
                            "it knows those of {}",
                            database.path, database.engine->name, command, EnginesThrough(door)));
  }
  for (const Database& database : databases_) CheckFilesReadable(database, command);
  if (has_all) CheckAllThere(path, run_directory_, *record);
}

bool InspectedDir::Find(const std::string& dir) {
  for (const EngineInfo& engine : Engines()) {
    if (!engine.recognises(dir)) continue;
    databases_.push_back({dir, &engine});
    return true;
  }
  return false;
}

// Adds the databases DIR/0, DIR/1, ... (engines/databases.h) up to the first number without a
// directory. Returns false when DIR/0 is not a database; throws when a later directory is not.
bool InspectedDir::FindNumbered(const std::string& dir) {
  std::error_code none;
  if (!fs::is_directory(dir + "/0", none)) return false;
  for (int number = 0; fs::is_directory(fmt::format("{}/{}", dir, number), none); ++number) {
    const std::string path = fmt::format("{}/{}", dir, number);
    if (Find(path)) continue;
    if (number == 0) return false;
    NoDatabase(path);
  }
  return true;
}

std::string EnginesThrough(const InspectedDir::Door& door) {
  std::vector<std::string> names;
  for (const EngineInfo& engine : Engines()) {
    if (door(engine)) names.push_back(engine.name);
  }
  return names.empty() ? "no engine of this build" : Joined(names);
}

std::string PlainPath(const std::string& dir) {
  const fs::path path = fs::absolute(dir).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

std::string PathInRun(const std::string& dir) {
  const std::string plain = PlainPath(dir);
  if (IsOfRun(plain, RunDirectory(plain))) return plain;
  std::error_code none;
  const fs::path real = fs::canonical(dir, none);
  return !none && IsOfRun(real, RunDirectory(real)) ? real.string() : plain;
}

std::function<void(uint64_t done, uint64_t total)> InspectProgress(const std::string& what,
                                                                   bool quiet) {
  using Clock = std::chrono::steady_clock;
  struct State {
    State(const std::string& what, bool quiet) : line(what, {.quiet = quiet}) {}
    ProgressLine line;
    Clock::time_point begin = Clock::now(), next = begin + std::chrono::seconds(2);
  };
  auto state = std::make_shared<State>(what, quiet);
  return [state](uint64_t done, uint64_t total) {
    const Clock::time_point now = Clock::now();
    if (now < state->next || done == 0) return;
    state->next = now + std::chrono::seconds(1);
    const double seconds = std::chrono::duration<double>(now - state->begin).count();
    const double fraction =
        std::min(1.0, static_cast<double>(done) / static_cast<double>(std::max(total, done)));
    state->line.Say(fmt::format("{:.0f} s, {} of {}, {:.0f} %, {:.0f} s left", seconds, Count(done),
                                Counted(total, "page"), fraction * 100,
                                seconds * (1 - fraction) / fraction));
  };
}

nlohmann::json FaultJson(const Fault& fault) {
  nlohmann::json json = {{"file", fault.file}, {"what", fault.what}};
  if (fault.page) json["page"] = *fault.page;
  if (fault.byte) json["byte"] = *fault.byte;
  if (!fault.table.empty()) json["table"] = fault.table;
  if (!fault.expected.empty()) json["expected"] = fault.expected;
  if (!fault.found.empty()) json["found"] = fault.found;
  return json;
}

std::string DumpJson(const nlohmann::json& document) { return JsonText(document, 1) + "\n"; }

}  // namespace testbed

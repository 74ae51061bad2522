// Finds the databases in a directory that a user names for `testbed check`, `tree`, `backup` or
// `compact`: the --dir of a run, the engine's own directory inside it, or any directory that an
// engine recognises. A run with --databases has made several.
//
//   InspectedDir dir("d", "check", [](const EngineInfo& e) { return e.check != nullptr; });
//   for (const InspectedDir::Database& database : dir.databases()) ...
//
// The object creates and changes nothing. While it lives, it holds the lock of the directory that
// has the record of a run, if there is one, so that no run can use the directory.
#ifndef TESTBED_TOOLS_INSPECT_INSPECT_DIR_H_
#define TESTBED_TOOLS_INSPECT_INSPECT_DIR_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "device/os/dir_lock.h"
#include "engines/registry.h"

namespace testbed {

class InspectedDir {
 public:
  struct Database {
    std::string path;
    const EngineInfo* engine;
  };
  // Returns whether the command can be used on databases of the engine.
  using Door = std::function<bool(const EngineInfo&)>;

  // Throws Error (kUsage) when the directory does not exist, holds no database, holds a database of
  // an engine for which `door` returns false or one with files that this user may not read, is in
  // use by a run, or holds a backup that was not finished. For a run's directory or its db/ it also
  // throws when the directory of a database is missing that the record names. `command` is the name
  // of the subcommand, for the message.
  InspectedDir(const std::string& dir, const std::string& command, const Door& door);

  const std::vector<Database>& databases() const { return databases_; }
  // Returns the directory as it was given, and the one that holds the record of the run, if there
  // is a record. No output may lie in them (tools/output/output_file.h).
  const std::vector<std::string>& directories() const { return directories_; }
  // Returns the absolute path of the directory that holds the record; empty without a record.
  const std::string& run_directory() const { return run_directory_; }

 private:
  bool Find(const std::string& dir);
  bool FindNumbered(const std::string& dir);
  std::vector<Database> databases_;
  std::vector<std::string> directories_;
  std::string run_directory_;
  DirLock lock_;
};

// Throws Error (kUsage): the record in `run` says that the load or the backup in `dir` was not
// finished. `dir` is the same directory or lies in it.
[[noreturn]] void RefuseUnfinished(const std::string& dir, const std::string& run,
                                   const nlohmann::json& record);

// Returns the names of the engines for which `door` returns true, as messages list them.
std::string EnginesThrough(const InspectedDir::Door& door);

// Returns the directory as an absolute path without "." and "..", and without a slash at its end.
std::string PlainPath(const std::string& dir);

// Returns the path by which the directory lies in that of a run: PlainPath or, when the record of
// no run is about that path, the one without symbolic links, if a record is about it. A link may
// lead to the db/ of a run from anywhere.
std::string PathInRun(const std::string& dir);

// Returns a callback for InspectOptions::progress that shows the progress by a ProgressLine,
// beginning after two seconds. Destroying the callback clears the line.
std::function<void(uint64_t done, uint64_t total)> InspectProgress(const std::string& what,
                                                                   bool quiet);

// Returns a fault as JSON; fields that are empty are left out.
nlohmann::json FaultJson(const Fault& fault);

// Returns the text of a document for a file. Bytes that are not UTF-8 are escaped
// (tools/output/json_text.h).
std::string DumpJson(const nlohmann::json& document);

}  // namespace testbed

#endif  // TESTBED_TOOLS_INSPECT_INSPECT_DIR_H_

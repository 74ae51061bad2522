// The database that a user names for `testbed backup` or `testbed compact`, or all databases of a
// run with --databases, and the options to open each with. The options come from the record of the
// run that loaded the database (tools/database/database_files.h), and from its files.
//
//   DatabaseArguments arguments;
//   arguments.dir = "d";
//   const ClosedDatabase closed(arguments, "compact",
//                               [](const EngineInfo& e) { return e.compact != nullptr; });
//   for (const InspectedDir::Database& database : closed.databases()) {
//     CompactDatabase(*database.engine, database.path, closed.OptionsOf(database, true));
//   }
//
// While the object lives, no run can use the directory. Not thread-safe.
#ifndef TESTBED_TOOLS_MAINTENANCE_CLOSED_DATABASE_H_
#define TESTBED_TOOLS_MAINTENANCE_CLOSED_DATABASE_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/file/file.h"
#include "engines/engine.h"
#include "tools/inspect/inspect_dir.h"

namespace testbed {

// The user's arguments that describe the database.
struct DatabaseArguments {
  std::string dir, dir_option;             // the argument DIR, and the value of --dir; one is given
  std::string engine;                      // empty: the one that recognises the directory
  std::optional<IoMode> io;                // unset: the engine's default
  std::optional<std::string> compression;  // unset: the compression of the run that loaded it
  std::vector<std::string> settings;       // values of --engine-option
};

class ClosedDatabase {
 public:
  // Throws Error (kUsage) when InspectedDir refuses the directory, when the record of its run says
  // that the database is not loaded, when neither or both of DIR and --dir are given, when the
  // database is of another engine than the given one, and when another user could make root write
  // elsewhere by a link in the path. Creates and changes nothing.
  ClosedDatabase(const DatabaseArguments& arguments, const std::string& command,
                 const InspectedDir::Door& door);

  const std::vector<InspectedDir::Database>& databases() const { return inspected_.databases(); }
  // Returns the directories that belong to the database (InspectedDir::directories).
  const std::vector<std::string>& directories() const { return inspected_.directories(); }
  // Returns the record of the run, if the directory has all databases of that run.
  const nlohmann::json* whole_record() const { return is_whole_ ? &*record_ : nullptr; }
  // Returns the relative path of a database in the directory of its run or, without a run, in the
  // directory that the user named: "db", "db/0"; "." for this directory itself.
  std::string PlaceOf(const InspectedDir::Database& database) const;
  // Returns the options to open a database with; `create` is off. Throws Error (kUsage) for options
  // that the engine or this database does not accept. With `writes_pages` it also throws for a
  // database with compressed pages whose codec is not known. Throws Error (kCorruption, kIo) when
  // the files cannot be read.
  EngineOptions OptionsOf(const InspectedDir::Database& database, bool writes_pages) const;

 private:
  std::string CompressionOf(const InspectedDir::Database& database, bool writes_pages) const;

  const DatabaseArguments arguments_;
  const std::string dir_;
  InspectedDir inspected_;
  const std::filesystem::path path_;      // PathInRun of dir_
  std::optional<nlohmann::json> record_;  // record of the run that made the database
  bool is_whole_ = false;                 // dir_ is that run's
  std::string base_;                      // directory to which PlaceOf is relative
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_MAINTENANCE_CLOSED_DATABASE_H_

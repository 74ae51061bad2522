// The files that testbed puts into the directory of a database; it removes no others.
//
//   testbed.json   the record of what was loaded; its "schema" identifies it as testbed's
//   db/            the engine's files
//
// A directory without a record does not belong to testbed. In a directory with a record, only these
// two belong to testbed; all other files stay.
#ifndef TESTBED_TOOLS_DATABASE_DATABASE_FILES_H_
#define TESTBED_TOOLS_DATABASE_DATABASE_FILES_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/os/temporary_dir.h"

namespace testbed {

inline constexpr char kRecordFile[] = "testbed.json", kEngineFiles[] = "db";
inline constexpr char kDatabaseSchema[] = "testbed-database/1";

// Returns the record of the directory. Returns nothing when testbed.json is missing, is another
// program's file, or is a symbolic link.
std::optional<nlohmann::json> ReadRecord(const std::string& dir);
// Replaces the record atomically: after a power cut it is the old or the new one. Follows no
// symbolic link. Throws Error (kIo).
void WriteRecord(const std::string& dir, const nlohmann::json& record);
// Removes the database from a directory that has a record, and nothing from another directory.
// Returns the names of the files that stay. Throws Error (kUsage) when db/ is a symbolic link, and
// Error (kIo) when a file cannot be removed. Messages call the directory `shown`.
std::vector<std::string> RemoveDatabase(const std::string& dir, const std::string& shown);
// Removes the database in `dir`, and `dir` itself if nothing else lies in it. Does nothing when
// another process holds the directory's lock. Never throws: what cannot be removed stays.
void RemoveDatabaseDirectory(const std::string& dir);
// Returns at most five names, as in "a, b, c, d, e and 3 more".
std::string SomeNames(const std::vector<std::string>& names);

// A temporary directory with an empty database. The destructor removes both.
class TemporaryDatabase {
 public:
  explicit TemporaryDatabase(const std::string& parent);
  ~TemporaryDatabase();
  TemporaryDatabase(const TemporaryDatabase&) = delete;
  TemporaryDatabase& operator=(const TemporaryDatabase&) = delete;

  const std::string& path() const { return dir_.path(); }
  std::string held_path() const { return dir_.held_path(); }
  std::string engine_path() const { return path() + "/" + kEngineFiles; }
  // Leaves the directory to the user, who removes it.
  void Keep();

  // Removes the temporary databases that killed runs left in `parent`; returns a sentence for each.
  // A directory with such a name but without a record stays, unless it is empty.
  static std::vector<std::string> CleanLeftovers(const std::string& parent);

 private:
  TemporaryDir dir_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_DATABASE_DATABASE_FILES_H_

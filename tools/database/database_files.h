// What testbed puts into the directory of a database, and all that it removes from one:
//
//   testbed.json   the record of what was loaded; its "schema" tells it from other files of the name
//   db/            the engine's files
//
// A directory without a record is not testbed's. Of one that has it only these two are: what else
// lies there stays.
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

// Nothing where there is none: no such file, another file of that name, or a symbolic link.
std::optional<nlohmann::json> ReadRecord(const std::string& dir);
// Replaces it, so that after a power cut it is the old or the new one; follows no symbolic link.
// Throws Error.
void WriteRecord(const std::string& dir, const nlohmann::json& record);
// Removes the database of a directory that has a record, and nothing from another. Returns the names
// that stay. Throws Error (kUsage) when db/ is a symbolic link, (kIo) when it cannot be removed.
// `shown` is what messages call the directory.
std::vector<std::string> RemoveDatabase(const std::string& dir, const std::string& shown);
// Removes the directory `dir` of a database whose lock nobody holds, if nothing else lies in it.
// Never throws: what cannot be removed stays.
void RemoveDatabaseDirectory(const std::string& dir);
// "a, b and 3 more"
std::string SomeNames(const std::vector<std::string>& names);

// A temporary directory with an empty database, for as long as this lives.
class TemporaryDatabase {
 public:
  explicit TemporaryDatabase(const std::string& parent);
  ~TemporaryDatabase();
  TemporaryDatabase(const TemporaryDatabase&) = delete;
  TemporaryDatabase& operator=(const TemporaryDatabase&) = delete;

  const std::string& path() const { return dir_.path(); }
  std::string held_path() const { return dir_.held_path(); }
  std::string engine_path() const { return path() + "/" + kEngineFiles; }
  // Leaves it to the user, who removes it.
  void Keep();

  // Removes those of killed runs in `parent`; returns a sentence for each. A directory of such a
  // name without a record stays, unless it is empty.
  static std::vector<std::string> CleanLeftovers(const std::string& parent);

 private:
  TemporaryDir dir_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_DATABASE_DATABASE_FILES_H_

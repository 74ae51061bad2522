// The files that testbed puts into the directory of a database. It never removes any others.
//
//   testbed.json   the record of what was loaded; "schema" tells it from other files of that name
//   db/            the engine's files, which EngineInfo::files and table_files list
//
// A directory without a record is not testbed's, unless it holds nothing but a record that a crash
// left unfinished (UnfinishedRecords). In a directory with a record only the files above are
// testbed's; other files stay, even those in db/.
#ifndef TESTBED_TOOLS_DATABASE_DATABASE_FILES_H_
#define TESTBED_TOOLS_DATABASE_DATABASE_FILES_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device/os/temporary_dir.h"

namespace testbed {

inline constexpr char kRecordFile[] = "testbed.json", kEngineFiles[] = "db";
inline constexpr char kDatabaseSchema[] = "testbed-database/1";
inline constexpr char kTableFiles[] = "table_files";  // member of a record: RecordedTableFiles
// The member of a record, and of the results of a run on its database, for
// DatabaseDir::other_sizes.
inline constexpr char kOtherSizes[] = "other_sizes";
// The member of a record that is true while `testbed backup` fills the directory.
inline constexpr char kUnfinishedBackup[] = "unfinished_backup";

// Throws Error (kUsage), in which `named` names the directory ("--dir d"), when `dir` or its record
// may be there, but this user cannot read it. A directory that is not there is no error.
void CheckReadable(const std::string& dir, const std::string& named);

// Returns the record of `dir`; nothing when there is no such file, or it is a symbolic link or not
// a record. "engine" is a string in it and "loaded" a boolean, where they are present.
std::optional<nlohmann::json> ReadRecord(const std::string& dir);

// Returns the files of tables, relative to db/, that were there when the database was loaded; none
// when the record does not name them.
std::vector<std::string> RecordedTableFiles(const nlohmann::json& record);

// Returns whether the record, or the run of a results document, says that the mean size of the rows
// may differ from that of the data set's rows.
bool HasOtherSizes(const nlohmann::json& record);

// Replaces the record of `dir` durably: after a power cut it is the old record or the new one. Does
// not follow a symbolic link. Throws Error (kIo).
void WriteRecord(const std::string& dir, const nlohmann::json& record);
// Returns the names of the records in `dir` that a crash left unfinished: written, whole or in
// part, under a temporary name (ReplaceFile, tools/output/output_file.h), and not yet renamed. A
// file with such a name whose contents are neither a record nor the beginning of one is left out.
// Earlier versions wrote testbed.json.new, which is returned when it is the only file. Throws Error
// (kIo) when `dir` cannot be read.
std::vector<std::string> UnfinishedRecords(const std::string& dir);
// Returns whether a database may be made in `dir`: it holds nothing but UnfinishedRecords. Throws
// Error (kIo) when `dir` cannot be read.
bool HoldsNoDatabaseYet(const std::string& dir);
// Removes UnfinishedRecords of `dir`. Throws Error (kIo).
void RemoveUnfinishedRecords(const std::string& dir);
// Removes the database in `dir`: the engine's files in db/, and the record, which says before that
// the database is not loaded. Does nothing when `dir` has no record. Returns the names of the files
// that stay. Throws Error (kUsage) when db/ is a symbolic link or this build lacks the database's
// engine, and Error (kIo) when the database cannot be removed. Messages call the directory `shown`.
std::vector<std::string> RemoveDatabase(const std::string& dir, const std::string& shown);
// Returns the bytes on disk of the files in db/, which are about those that RemoveDatabase frees; 0
// when `dir` has no record. Files that this user cannot examine count 0 bytes.
uint64_t BytesOfDatabase(const std::string& dir);
// Removes the files that `engine` makes from the folder `files`, which is the db/ of some
// directory, and then the folder itself if it is empty. Returns the names of the files that stay.
// Throws Error (kIo).
std::vector<std::string> RemoveEngineFiles(const std::string& files, const std::string& engine);
// Removes the database in `dir`, and then `dir` itself if it is empty. Does nothing when another
// process holds the lock of `dir`. Never throws: files that cannot be removed stay.
void RemoveDatabaseDirectory(const std::string& dir);
// Returns the names as text on one line, such as "a, b and 3 more"; at most five are listed, with
// spaces in place of control characters.
std::string SomeNames(const std::vector<std::string>& names);

// A temporary directory with an empty database. The destructor removes it. Not thread-safe.
class TemporaryDatabase {
 public:
  // Makes the directory below `parent`. Throws Error (kIo).
  explicit TemporaryDatabase(const std::string& parent);
  ~TemporaryDatabase();
  TemporaryDatabase(const TemporaryDatabase&) = delete;
  TemporaryDatabase& operator=(const TemporaryDatabase&) = delete;

  const std::string& path() const { return dir_.path(); }
  // Returns a path to the directory that stays valid when the directory is renamed.
  std::string held_path() const { return dir_.held_path(); }
  std::string engine_path() const { return path() + "/" + kEngineFiles; }
  // Makes the destructor keep the directory, and marks its record so that CleanLeftovers keeps it,
  // too. The user removes it.
  void Keep();

  // Removes the temporary directories of killed runs below `parent`; returns a sentence for each. A
  // directory of such a name that has files but no record stays.
  static std::vector<std::string> CleanLeftovers(const std::string& parent);

 private:
  TemporaryDir dir_;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_DATABASE_DATABASE_FILES_H_

// The directory of a database that testbed made: its contents, and the rules for removing it.
//
// DIR/testbed.json records how the database was loaded (engine, page size, rows, seed, ...), so
// that a run that reuses the database can check it. DIR/db holds the engine's own files
// (database_files.h). testbed never writes into or removes a directory without that record, and in
// a directory with a record it leaves all other files alone. Without --dir the directory is
// temporary (temporary_dir.h).
#ifndef TESTBED_TOOLS_DATABASE_DATABASE_DIR_H_
#define TESTBED_TOOLS_DATABASE_DATABASE_DIR_H_

#include <optional>
#include <string>
#include <vector>

#include "device/os/dir_lock.h"
#include "tools/database/database_files.h"
#include "tools/options.h"

namespace testbed {

// Returns what identifies a database: the engine and the settings that its files depend on, the
// rows, and the workloads `loads` that load it. Two databases are the same when their identities
// are equal; the record of a directory, and the loads that an experiment shares, are compared by
// it. A file of keys is identified by its contents ("size", "hash"), not by its name.
nlohmann::json DatabaseIdentity(const RunOptions& options, const std::vector<std::string>& loads);

// One database directory. Not thread-safe.
class DatabaseDir {
 public:
  // Checks the directory against the options (--fresh, --reuse), and locks an existing one. Throws
  // Error (kUsage) before anything is created, written or removed. `options` must outlive the
  // object.
  explicit DatabaseDir(const RunOptions& options);
  DatabaseDir(const DatabaseDir&) = delete;
  DatabaseDir& operator=(const DatabaseDir&) = delete;

  // Makes an empty database directory, with a record that says that it is not loaded. Removes an
  // existing database where --fresh allows it. Throws Error.
  void Prepare();
  // Records durably that the database is loaded. Throws Error (kIo).
  void RecordLoaded();
  // Returns which rows the database holds according to the record (Population::ToJson in
  // workloads/population.h); null when they are not known.
  nlohmann::json population() const { return record_.value("population", nlohmann::json()); }
  // Records which rows the database holds, durably. Throws Error (kIo).
  void RecordPopulation(const nlohmann::json& population);
  // Releases the lock that keeps other runs out, since an open lock prevents unmounting. Only for a
  // directory on a scratch device, which no other run can reach.
  void Unlock() { lock_ = DirLock(); }
  // Keeps the directory after the run, even a temporary one.
  void Keep() {
    if (temporary_) temporary_->Keep();
  }

  // Returns the directory; for a temporary one, its future parent until Prepare.
  std::string path() const { return temporary_ ? temporary_->path() : path_; }
  std::string engine_path() const { return path() + "/" + kEngineFiles; }

 private:
  nlohmann::json Record() const;
  void CheckNew() const;
  void CheckReuse();
  void Take();
  void Remove();
  const RunOptions& options_;
  std::string path_;                            // as given by the user
  std::optional<TemporaryDatabase> temporary_;  // without --dir; created by Prepare
  DirLock lock_;                                // keeps other runs out
  bool told_what_stays_ = false;
  nlohmann::json record_ = nlohmann::json::object();  // contents of the directory's record
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_DATABASE_DATABASE_DIR_H_

// The directory of a database that testbed made: what it holds, and who may remove it.
//
// DIR/testbed.json records what loaded the database (engine, page size, rows, seed, ...), so that a
// run that reuses it can check that it is what it expects; DIR/db holds the engine's own files
// (database_files.h). A directory without that record is never written into or removed, and what
// else lies in one that has it stays. Without --dir it is a temporary one (temporary_dir.h).
#ifndef TESTBED_TOOLS_DATABASE_DATABASE_DIR_H_
#define TESTBED_TOOLS_DATABASE_DATABASE_DIR_H_

#include <optional>
#include <string>
#include <vector>

#include "device/os/dir_lock.h"
#include "tools/database/database_files.h"
#include "tools/options.h"

namespace testbed {

// What a database is: the engine and the settings that its files depend on, the rows, and the
// workloads that `loads` it. Two databases are the same when these are; the record of a directory
// and the loads that an experiment shares both go by it. Of a file of keys its contents count
// ("size", "hash"), not its name.
nlohmann::json DatabaseIdentity(const RunOptions& options, const std::vector<std::string>& loads);

class DatabaseDir {
 public:
  // Checks the directory against the options (--fresh, --reuse) and throws Error (kUsage) before
  // anything is created, written or removed.
  explicit DatabaseDir(const RunOptions& options);
  DatabaseDir(const DatabaseDir&) = delete;
  DatabaseDir& operator=(const DatabaseDir&) = delete;

  // Makes an empty database directory, removing what --fresh allows to, with a record that it is not
  // loaded.
  void Prepare();
  // Records that the database is loaded.
  void RecordLoaded();
  // Which rows the database holds, as the record says (workloads/population.h, ToJson); null when
  // nobody knows.
  nlohmann::json population() const { return record_.value("population", nlohmann::json()); }
  // Records it, durably.
  void RecordPopulation(const nlohmann::json& population);
  // Lets go of the lock that keeps other runs out: it would keep the file system from being
  // unmounted. For a directory on a scratch device, which nobody else can reach.
  void Unlock() { lock_ = DirLock(); }
  // Keeps the directory at the end, even a temporary one.
  void Keep() {
    if (temporary_) temporary_->Keep();
  }

  // DIR; of a temporary one where it will be, until Prepare.
  std::string path() const { return temporary_ ? temporary_->path() : path_; }
  std::string engine_path() const { return path() + "/" + kEngineFiles; }

 private:
  nlohmann::json Record() const;
  void CheckNew() const;
  void CheckReuse();
  void Take();
  void Remove();
  const RunOptions& options_;
  std::string path_;                            // as the user gave it
  std::optional<TemporaryDatabase> temporary_;  // without --dir, since Prepare
  DirLock lock_;                                // no other run may use it meanwhile
  bool told_what_stays_ = false;
  nlohmann::json record_ = nlohmann::json::object();  // what the directory's says
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_DATABASE_DATABASE_DIR_H_

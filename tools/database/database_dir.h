// The directory of a run's database (--dir): checks that the run may use it, records what it holds,
// and removes only what testbed made.
//
// DIR/testbed.json records the engine and the settings that loaded the database (page size, rows,
// seed, ...) and the files that tables are in, so that a run with --reuse can check that the
// database is the one it expects, and whole. DIR/db holds the engine's own files
// (database_files.h). A directory without a record is used only when it is empty, or holds nothing
// but a record that a crash left unfinished (UnfinishedRecords), or nothing but temporary databases
// of killed runs. Files that testbed did not make are never written or removed. Root makes no
// database where another user could replace it (device/os/foreign_directory.h). Without --dir the
// directory is a temporary one (temporary_dir.h).
//
//   DatabaseDir dir(options);          // throws when --dir, --fresh and --reuse do not fit
//   dir.Prepare();                     // an empty database directory, recorded as not loaded
//   ... the engine loads rows into dir.engine_path() ...
//   dir.RecordLoaded();
#ifndef TESTBED_TOOLS_DATABASE_DATABASE_DIR_H_
#define TESTBED_TOOLS_DATABASE_DATABASE_DIR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/os/dir_lock.h"
#include "tools/database/database_files.h"
#include "tools/options.h"

namespace testbed {

// Returns the identity of a database: the engine and the settings that its files depend on, the
// rows, and the workloads `loads` that load it. Two databases with equal identities are
// interchangeable; the record of a directory and the loads that an experiment shares rely on that.
// A file or a set of keys is identified by its contents ("size", "hash"), not by its name. Throws
// Error (kUsage) when the keys cannot be read.
nlohmann::json DatabaseIdentity(const RunOptions& options, const std::vector<std::string>& loads);

// Throws Error (kUsage), which names the workloads that fit, when the database in `dir`, whose
// record is `record`, was loaded by another loader than the one that `workload` needs, or when a
// replay has written rows to it that `workload` does not know.
void CheckWorkloadFits(const nlohmann::json& record, const std::string& workload,
                       const std::string& dir);

// One database directory. Not thread-safe.
class DatabaseDir {
 public:
  // Checks the directory against the options (--fresh, --reuse), and locks an existing one. Throws
  // Error (kUsage), and with --reuse Error (kCorruption) when a file is missing that the record
  // names, before anything is created, written or removed, but for temporary databases of killed
  // runs, where there is nothing else. `options` must outlive the object.
  explicit DatabaseDir(const RunOptions& options);
  DatabaseDir(const DatabaseDir&) = delete;
  DatabaseDir& operator=(const DatabaseDir&) = delete;

  // Makes an empty database directory and records that it is not loaded. Removes the database that
  // is in it, which --fresh or an earlier run of this process allows. Throws Error.
  void Prepare();
  // Records durably that the database is loaded. Throws Error (kIo).
  void RecordLoaded();
  // Records durably that the database is not loaded, before its files are replaced. Throws Error
  // (kIo).
  void RecordUnloaded();
  // Returns the rows that the database holds according to its record (workloads/population.h,
  // ToJson); null when they are not known.
  nlohmann::json population() const { return record_.value("population", nlohmann::json()); }
  // Returns the number of the phase that wrote to the database last (workloads/writing_phases.h),
  // according to its record; nothing when it is not known.
  std::optional<uint64_t> writing_phases() const;
  // Returns the workload that loads the database, or loaded it, according to its record.
  std::string loader() const { return record_.value("workload", std::string()); }
  // Returns whether the mean size of the database's rows may differ from that of the data set's
  // rows (Workload::changes_row_sizes), according to the record.
  bool other_sizes() const;
  // Writes to the record, durably, what other_sizes returns from then on. Throws Error (kIo).
  void RecordOtherSizes(bool other);
  // Writes the rows and the number of the last writing phase to the record, durably; null where
  // they are not known.
  void RecordContents(const nlohmann::json& population, const nlohmann::json& writing_phases);
  // Releases the lock that keeps other runs out of the directory, because it would keep the file
  // system from being unmounted. Only for a directory on a scratch device, which no other run can
  // reach.
  void Unlock() { lock_ = DirLock(); }
  // Makes the destructor keep the directory even when it is a temporary one.
  void Keep() {
    if (temporary_) temporary_->Keep();
  }

  // Returns the directory. Before Prepare makes a temporary directory, that is its parent.
  std::string path() const { return temporary_ ? temporary_->path() : path_; }
  std::string engine_path() const { return path() + "/" + kEngineFiles; }

 private:
  nlohmann::json Record() const;
  void CheckNew() const;
  void CheckReuse();
  void Take();
  void Remove();
  const RunOptions& options_;
  std::string path_;                            // --dir without trailing slashes; "." without --dir
  std::optional<TemporaryDatabase> temporary_;  // without --dir, set by Prepare
  DirLock lock_;                                // keeps other runs out of path_
  bool told_what_stays_ = false;
  nlohmann::json record_ = nlohmann::json::object();  // contents of the directory's record
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_DATABASE_DATABASE_DIR_H_

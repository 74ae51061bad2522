// The directory in which `testbed backup` makes its copy (--to). The copy of a run's directory is a
// run's directory, too: it has the record, by which --reuse recognises the database, and db/. Any
// other copy has only the engine's files, in the same places as the original.
//
//   BackupPlace place("copy", closed);     // checks
//   place.Begin();
//   for (const InspectedDir::Database& database : closed.databases()) {
//     ... the engine makes its backup in place.PathOf(database) ...
//   }
//   place.Finish();
//
// Until Finish the record says that nothing is loaded and that the backup is not finished, so that
// --reuse and the commands that take a database refuse what a killed backup leaves. Only the user
// removes it. Not thread-safe.
#ifndef TESTBED_TOOLS_MAINTENANCE_BACKUP_PLACE_H_
#define TESTBED_TOOLS_MAINTENANCE_BACKUP_PLACE_H_

#include <string>
#include <vector>

#include "device/os/dir_lock.h"
#include "tools/maintenance/closed_database.h"

namespace testbed {

class BackupPlace {
 public:
  // Throws Error (kUsage) unless `to` is new or an empty directory and lies outside of the
  // directories of the database, and when another user could make root write elsewhere by a link in
  // the path. Creates nothing. `closed` must outlive the object.
  BackupPlace(const std::string& to, const ClosedDatabase& closed);
  // Removes what the object has made, unless Finish has returned. Never throws.
  ~BackupPlace();
  BackupPlace(const BackupPlace&) = delete;
  BackupPlace& operator=(const BackupPlace&) = delete;

  // Makes and locks the directory, and writes the record. When the copy has neither a record nor a
  // subdirectory, the engine locks the directory instead. Throws Error: kUsage when another process
  // or another user has come first, kIo.
  void Begin();
  std::string PathOf(const InspectedDir::Database& database) const;
  // Records durably that the copy is whole. Throws Error (kIo).
  void Finish();

 private:
  void CheckEmpty() const;
  void Remove() const;

  const std::string to_;
  const ClosedDatabase& closed_;
  const std::vector<std::string> missing_;  // to_ and its parents that did not exist
  DirLock lock_;                            // on to_, which was empty when it was locked
  bool finished_ = false;
};

}  // namespace testbed

#endif  // TESTBED_TOOLS_MAINTENANCE_BACKUP_PLACE_H_

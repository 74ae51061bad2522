// TableNames has the names of the engine log's tables, by number. The records of the log have only
// these numbers, so a wrong or missing name would give the rows to another table.
//
//   DIR/append-log/tables = "testbed-log-tables 2 LOG CHECKSUM\n", then one line for each name
//
// LOG is the number of the log that the names belong to (Log::id), CHECKSUM the XXH3-64 of the
// names with LOG as seed; both have 16 hexadecimal digits. Table 0, "default", is not in the file,
// so that a run on that table writes only log bytes.
//
// The file is replaced as a whole for each new name: a crash leaves the old one or the new one.
#ifndef TESTBED_ENGINES_LOG_TABLE_NAMES_H_
#define TESTBED_ENGINES_LOG_TABLE_NAMES_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/error.h"
#include "device/os/mutex.h"
#include "engines/engine.h"

namespace testbed {
namespace append_log {

// Thread-safe.
class TableNames {
 public:
  static std::string Path(const std::string& directory);
  // Returns the path of the unfinished file, which is renamed to Path when it is complete. A crash
  // may leave it.
  static std::string UnfinishedPath(const std::string& directory);
  // Reads the names of the log in `directory` from the device. Changes nothing. Throws Error
  // (kCorruption) when the file is not as it was written, kIo when it cannot be read.
  explicit TableNames(const std::string& directory);
  // Makes the names of a new log, and makes their file durable. There must be no such file yet.
  TableNames(const std::string& directory, uint64_t log_id);

  // Returns the number of the table, and makes a new one if no table has this name. The name is
  // durable then. After a failed write, unless the disk was full, it takes no new name, as nobody
  // knows which file the device holds. Throws Error: kUsage for a name with a line break, kIo.
  TableId Open(const std::string& name);
  // Returns whether a table has this number.
  bool Has(TableId table) const { return table < count_.load(std::memory_order_acquire); }
  uint64_t log_id() const { return log_id_; }

 private:
  void Replace(const std::string& names);

  const std::string directory_;
  uint64_t log_id_ = 0;
  Mutex mutex_;
  std::vector<std::string> names_ GUARDED_BY(mutex_) = {"default"};
  std::atomic<uint32_t> count_{1};  // number of names in names_
  std::optional<Error> failure_ GUARDED_BY(mutex_);
};

}  // namespace append_log
}  // namespace testbed

#endif  // TESTBED_ENGINES_LOG_TABLE_NAMES_H_

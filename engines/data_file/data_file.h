// These functions are for engines whose database is one data file with a lock file beside it (lmdb,
// mdbx). Their libraries make a new database when the data file is absent or empty.
#ifndef TESTBED_ENGINES_DATA_FILE_DATA_FILE_H_
#define TESTBED_ENGINES_DATA_FILE_DATA_FILE_H_

#include <cstddef>
#include <string>

namespace testbed {

// Checks the files of a database before its library opens them. Throws Error (kCorruption) when the
// data file is empty, or is missing though the lock file is there: the rows may be in a place that
// is not mounted. Throws Error (kIo) when the system does not tell. Changes nothing.
void CheckDataFile(const std::string& data_file, const std::string& lock_file);

// A DataFileOpening is the opening of a database. If the opening fails, it leaves no file of a new
// database behind.
class DataFileOpening {
 public:
  // Throws the errors of CheckDataFile.
  DataFileOpening(std::string data_file, std::string lock_file);
  // Removes the files that were absent at the beginning, unless Done was called. The library must
  // have closed them.
  ~DataFileOpening();
  DataFileOpening(const DataFileOpening&) = delete;
  DataFileOpening& operator=(const DataFileOpening&) = delete;
  void Done() { is_done_ = true; }

 private:
  const std::string data_file_, lock_file_;
  const bool is_new_, had_lock_;  // is_new_: the data file was absent
  bool is_done_ = false;
};

// Registers the files, which the library opens itself, with the ledger. So the kernel account can
// count their block IO by kind of file.
void RegisterDataFile(const std::string& data_file, const std::string& lock_file);

// Throws Error (kUsage) for a name that no table of the library can have. `longest` is the greatest
// length of a key in bytes.
void CheckTableName(const std::string& engine, const std::string& table, size_t longest);

// Returns whether the file system has hardly any space. The libraries report a write for which
// there was too little space as an IO error, not as ENOSPC.
bool DeviceIsFull(const std::string& directory);

}  // namespace testbed

#endif  // TESTBED_ENGINES_DATA_FILE_DATA_FILE_H_

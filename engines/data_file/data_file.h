// Functions for engines whose database is one data file with a lock file beside it (lmdb, mdbx).
// Their libraries make a new database when the data file is absent or empty.
#ifndef TESTBED_ENGINES_DATA_FILE_DATA_FILE_H_
#define TESTBED_ENGINES_DATA_FILE_DATA_FILE_H_

#include <string>

namespace testbed {

// Throws Error (kCorruption) when the data file is empty, or is missing though the lock file is
// there: its rows may be in a place that is not mounted. Throws Error (kIo) when the system does
// not tell. Changes nothing.
void CheckDataFile(const std::string& data_file, const std::string& lock_file);

// Returns whether the file system has hardly any space. The libraries report a write for which
// there was too little space as an IO error, not as ENOSPC.
bool DeviceIsFull(const std::string& directory);

}  // namespace testbed

#endif  // TESTBED_ENGINES_DATA_FILE_DATA_FILE_H_

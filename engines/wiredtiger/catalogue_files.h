// This header has functions that inspect a WiredTiger database without opening it: which files its
// catalogue names, and whether they exist. Opening it would write, even if WiredTiger then found
// that a file is missing.
//
// The catalogue is the table WiredTiger.wt. Its pages are neither compressed nor encrypted, so its
// rows, which are text, can be found by their words. The file may contain old pages, too; as tables
// are never dropped, these name no other files. The row of a table that was made after the last
// checkpoint is only in the log, in the same words, as the engine takes a checkpoint when it makes
// a table beside a compressed log.
#ifndef TESTBED_ENGINES_WIREDTIGER_CATALOGUE_FILES_H_
#define TESTBED_ENGINES_WIREDTIGER_CATALOGUE_FILES_H_

#include <string>
#include <vector>

namespace testbed::wiredtiger {

// Returns the names of the tables' files by the catalogue and the logs in `dir`, in alphabetical
// order; none when there is no database. Throws Error (kIo) when a file cannot be read.
std::vector<std::string> TableFiles(const std::string& dir);

// Throws Error (kCorruption), which names the file, when `dir` has some of the files that a
// database must have, but not all. A creation that ended before it made the catalogue leaves none
// of these files. Throws Error (kIo) when a file cannot be examined.
void CheckFilesThere(const std::string& dir);

}  // namespace testbed::wiredtiger

#endif  // TESTBED_ENGINES_WIREDTIGER_CATALOGUE_FILES_H_

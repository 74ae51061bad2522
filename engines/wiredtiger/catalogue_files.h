// What can be told of a WiredTiger database without opening it: which files its catalogue names,
// and whether they are there. To open it would write, even if a file turned out to be missing.
//
// The catalogue is the table WiredTiger.wt. Its pages are neither compressed nor encrypted, so that
// its rows, which are text, are found by their words. Old pages may be in the file, too: tables are
// never dropped, so that they name nothing else. A table that was made after the last checkpoint is
// in the log alone, which has the row in the same words.
#ifndef TESTBED_ENGINES_WIREDTIGER_CATALOGUE_FILES_H_
#define TESTBED_ENGINES_WIREDTIGER_CATALOGUE_FILES_H_

#include <string>
#include <vector>

namespace testbed::wiredtiger {

// Returns the names of the tables' files by the catalogue and the logs in `dir`, in alphabetical
// order; none when there is no database. Throws Error (kIo) when a file cannot be read.
std::vector<std::string> TableFiles(const std::string& dir);

// Throws Error (kCorruption), which names the file, when `dir` has files of a database but not all
// that it must have. A creation that ended before the catalogue was made has left none of them.
// Throws Error (kIo) when a file cannot be examined.
void CheckFilesThere(const std::string& dir);

}  // namespace testbed::wiredtiger

#endif  // TESTBED_ENGINES_WIREDTIGER_CATALOGUE_FILES_H_

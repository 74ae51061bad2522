// Compact rewrites a database, so that its data file is as long as its rows need. FinishCompaction
// ends a compaction that was interrupted when it exchanged the files.
//
// The rows are copied in the order of their keys to a new database in the subdirectory
// btree.compact. When that is whole and durable, it gets the name btree.compacted: from then on it
// is the database. Its files then replace the old ones, each by a rename, and the subdirectory is
// removed. So a crash leaves either the old database, with a subdirectory that the next opening
// removes, or the new one. The next opening finds in the subdirectory those files of the new one
// that were not moved yet, and moves them to their places. A power cut leaves the same: a file
// system with a journal makes a rename from one directory to another durable in both directories or
// in neither.
#ifndef TESTBED_ENGINES_BTREE_STORE_COMPACT_H_
#define TESTBED_ENGINES_BTREE_STORE_COMPACT_H_

#include <string>

#include "engines/btree/store/store.h"

namespace testbed::btree {

// Compacts the database in `dir`, which must not be open. `options` are those to open it with. Two
// databases are open meanwhile, so it takes options.cache_bytes twice, and space for both. Throws
// what Store::Open throws; Error when the rows cannot be copied, and Stopped
// (device/os/signal_guard.h) when a signal asks for an end meanwhile: the database is as before
// then. After an Error (kIo) during the exchange of the files, the next opening completes it.
void Compact(const std::string& dir, const StoreOptions& options);

// Ends a compaction of `dir` that was interrupted: moves the files of the new database to their
// places if that database is whole, and otherwise removes it. Does nothing when no compaction was
// interrupted. The caller has locked `dir`. Throws Error (kIo), after which it may be called again.
void FinishCompaction(const std::string& dir);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_STORE_COMPACT_H_

// The engine "btree" is the page-based b-tree of this project. Every part of it is our own code, so
// that each knob exists and each block can be explained. store.h is the database behind it.
#ifndef TESTBED_ENGINES_BTREE_BTREE_ENGINE_H_
#define TESTBED_ENGINES_BTREE_BTREE_ENGINE_H_

#include <memory>
#include <string>

#include "engines/registry.h"

namespace testbed {

EngineInfo BtreeEngineInfo();

// Opens the database in `dir`, and creates it when there is none and options.create is set. A
// relative `dir` is looked up in the working directory of this call alone. Throws Error: kUsage for
// options that the engine cannot honour, for a database that is open already, and for one that does
// not exist; kCorruption for a damaged database; kIo when the system refuses. Thread-safe.
std::unique_ptr<Engine> OpenBtree(const std::string& dir, const EngineOptions& options);

// Rewrites the database in `dir`, which is not open, so that its files are as long as its rows
// need. Meanwhile it takes space for a second database, and options.cache_bytes twice. A crash
// leaves the old or the new database whole. The options must have the compression that the database
// is opened with: without it the new database has no compressed pages. Throws Error as OpenBtree
// does with options.create off. After an Error the rows are unchanged, and the next opening
// completes the compaction or removes what it has left.
void CompactBtree(const std::string& dir, const EngineOptions& options);

}  // namespace testbed

#endif  // TESTBED_ENGINES_BTREE_BTREE_ENGINE_H_

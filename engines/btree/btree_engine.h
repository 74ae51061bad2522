// Engine "btree": the page-based b-tree of this project, every part of it our own code, so that
// each knob exists and each block can be explained. store.h is the database behind it.
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
// need. It takes space for a second database meanwhile, and options.cache_bytes twice. A crash
// leaves the old or the new database whole. Give the compression that the database is opened with:
// without it the new one has no compressed pages. Throws Error as OpenBtree does, with
// options.create off; the rows are as they were then, and an opening ends what had begun.
void CompactBtree(const std::string& dir, const EngineOptions& options);

}  // namespace testbed

#endif  // TESTBED_ENGINES_BTREE_BTREE_ENGINE_H_

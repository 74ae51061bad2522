// LMDB as an engine of testbed: all tables in one b-tree file that is read through a mapping; pages
// are copied when they change, and there is no log. docs/lmdb.md is its page for users.
//
// Durability. sync: a commit writes its pages and syncs, then writes one of two root pages and
// syncs. lazy (MDB_NOMETASYNC): the second sync is left to the next commit or to a thread of ours,
// within lazy_interval_ms. none (MDB_NOSYNC): no sync, and a power cut can destroy the database.
// Flush, Checkpoint, Settle and the end sync what was committed; there is no other work to wait
// for.
//
// LMDB calls the operating system itself, so nothing of it is counted at the file level. Its files
// are made known to the ledger, so that the kernel level knows whose blocks they are.
//
// It has no cache: its pages are in the page cache, which has all of the memory budget. Beside it
// LMDB holds the changed pages of the transaction that writes, 3 MB of lists, and 25 KB for each
// transaction that reads.
#ifndef TESTBED_ENGINES_LMDB_LMDB_ENGINE_H_
#define TESTBED_ENGINES_LMDB_LMDB_ENGINE_H_

#include "engines/registry.h"

namespace testbed {

EngineInfo LmdbEngineInfo();

}  // namespace testbed

#endif  // TESTBED_ENGINES_LMDB_LMDB_ENGINE_H_

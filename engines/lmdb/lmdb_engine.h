// The lmdb engine implements Engine with LMDB: all tables are in one b-tree file that is read
// through a mapping. A page that changes is copied (copy on write), and there is no log.
// docs/engines/lmdb.md describes the engine for users.
//
// Durability: with sync, a commit writes its pages and syncs, then writes one of the two meta pages
// and syncs. With lazy (MDB_NOMETASYNC), a commit leaves the second sync to the next commit or to
// the engine's thread, within lazy_interval_ms. With none (MDB_NOSYNC) nothing is synced, and a
// power cut can destroy the database. Flush, Checkpoint, Settle and the destructor sync all
// commits, which with sync are durable already; LMDB has no other work to wait for. After a failed
// sync, and unless durability is none after a failed commit, the engine takes no more writes until
// it is opened again, although LMDB itself would.
//
// Counting: LMDB calls the operating system itself, so its IO is not counted at the file level. Its
// files are registered in the ledger, so that the kernel level can count their block IO.
//
// Memory: LMDB has no cache of its own; the page cache holds its pages and gets the whole memory
// budget. In addition LMDB has the changed pages of the write transaction, 3 MB of lists, and 25 KB
// for each read transaction.
#ifndef TESTBED_ENGINES_LMDB_LMDB_ENGINE_H_
#define TESTBED_ENGINES_LMDB_LMDB_ENGINE_H_

#include "engines/registry.h"

namespace testbed {

EngineInfo LmdbEngineInfo();

}  // namespace testbed

#endif  // TESTBED_ENGINES_LMDB_LMDB_ENGINE_H_

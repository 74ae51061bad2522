// The mdbx engine implements Engine with libmdbx, LMDB's successor: all tables are in one b-tree
// file that is read through a mapping. A page that changes is copied (copy on write), and there is
// no log. docs/engines/mdbx.md describes the engine for users.
//
// Durability: with sync, a commit is durable when it returns. With lazy (MDBX_SAFE_NOSYNC), the
// engine's thread syncs within lazy_interval_ms; until then libmdbx keeps the pages of the last
// synced commit. With none (MDBX_UTTERLY_NOSYNC) nothing is synced, and a power cut can destroy the
// database. Flush, Checkpoint, Settle and the destructor sync all commits.
//
// Counting: libmdbx calls the operating system itself, so its IO is not counted at the file level.
// Its files are registered in the ledger, so that the kernel level can count their block IO.
//
// Memory: libmdbx has no cache of its own; the page cache holds its pages and gets the whole memory
// budget.
#ifndef TESTBED_ENGINES_MDBX_MDBX_ENGINE_H_
#define TESTBED_ENGINES_MDBX_MDBX_ENGINE_H_

#include "engines/registry.h"

namespace testbed {

EngineInfo MdbxEngineInfo();

}  // namespace testbed

#endif  // TESTBED_ENGINES_MDBX_MDBX_ENGINE_H_

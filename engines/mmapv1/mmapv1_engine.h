// mmapv1: the heap plus b-tree in memory-mapped files that MongoDB 2.4 and 2.6 stored their data
// in, written by ourselves from a description. docs/engines/mmapv1.md is its page for users.
//
// Durability. sync (j:1): a commit waits for the group commit of the journal. lazy (j:0): it does
// not; the group commit comes within lazy_interval_ms. none (nojournal): there is no journal, data
// files are flushed each sync delay and at the end, and a database that was not closed is refused.
// Flush, Checkpoint and Settle do a group commit and a data flush.
//
// It has no cache: its pages are in the page cache, and private copies of those that change until
// the next remap are in the process. The kernel does the IO of data files, so the file level does
// not know of it; the journal goes through device/file/file.h.
#ifndef TESTBED_ENGINES_MMAPV1_MMAPV1_ENGINE_H_
#define TESTBED_ENGINES_MMAPV1_MMAPV1_ENGINE_H_

#include "engines/registry.h"

namespace testbed {

EngineInfo Mmapv1EngineInfo();

}  // namespace testbed

#endif  // TESTBED_ENGINES_MMAPV1_MMAPV1_ENGINE_H_

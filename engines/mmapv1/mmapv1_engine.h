// mmapv1 is the heap plus b-tree in memory-mapped files in which MongoDB 2.4 and 2.6 stored their
// data, written anew from a description. docs/engines/mmapv1.md is its page for users.
//
// Durability. sync (j:1): a commit waits for the group commit of the journal. lazy (j:0): a commit
// does not wait; the group commit comes within lazy_interval_ms. none (nojournal): there is no
// journal, data files are flushed each sync delay and at the close, and a database that was not
// closed is refused. Flush, Checkpoint and Settle do a group commit and a data flush.
//
// The engine has no cache. Its pages are in the page cache; private copies of changed pages are in
// the process's memory until the next remap. The kernel does the IO of data files, so the file
// level does not count it; the journal goes through device/file/file.h.
#ifndef TESTBED_ENGINES_MMAPV1_MMAPV1_ENGINE_H_
#define TESTBED_ENGINES_MMAPV1_MMAPV1_ENGINE_H_

#include "engines/registry.h"

namespace testbed {

EngineInfo Mmapv1EngineInfo();

}  // namespace testbed

#endif  // TESTBED_ENGINES_MMAPV1_MMAPV1_ENGINE_H_

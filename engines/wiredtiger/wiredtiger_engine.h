// WiredTiger as an engine of testbed: one b-tree file per table, all IO through device/file/file.h.
//
// Page size is leaf_page_max, and internal_page_max unless the extra option says otherwise. A
// WiredTiger page is written in one block as long as its content needs, a multiple of
// allocation_size up to the page size (after compression), at whatever offset is free: so a read is
// one request of at most the page size, mostly of all of it, and in direct mode aligned to 4 KiB.
//
// Durability. sync: the log is synced at each commit (WiredTiger lets commits share one sync).
// lazy: commits write the log, a thread of ours syncs it every lazy_interval_ms. none: no log, what
// was committed is durable after a checkpoint. Checkpoints are taken by a thread of ours
// (checkpoint_interval_s, checkpoint_log_bytes) and at close.
//
// Settle takes checkpoints until no page is dirty (three at most: the first one's own bookkeeping
// may dirty the catalogue or the history store again). WiredTiger has no other pending work then;
// file space that it freed is reused, not given back.
//
// The cache (cache_size) holds pages; beside it WiredTiger has log buffers of up to 32 MB and a
// few KB per session.
#ifndef TESTBED_ENGINES_WIREDTIGER_WIREDTIGER_ENGINE_H_
#define TESTBED_ENGINES_WIREDTIGER_WIREDTIGER_ENGINE_H_

#include "engines/registry.h"

namespace testbed {

EngineInfo WiredtigerEngineInfo();

}  // namespace testbed

#endif  // TESTBED_ENGINES_WIREDTIGER_WIREDTIGER_ENGINE_H_

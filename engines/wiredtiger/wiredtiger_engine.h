// The wiredtiger engine implements Engine with WiredTiger: one b-tree file per table, all IO
// through device/file/file.h.
//
// Page size: --page-size sets leaf_page_max and, without the extra option, internal_page_max.
// WiredTiger writes a page as one block at any free offset. The block is as long as the compressed
// content, rounded up to allocation_size, and at most the page size. So a page read is one request
// of at most, and mostly exactly, the page size; in direct mode it is aligned to 4 KiB.
//
// Durability: with sync, a commit syncs the log (group commit: commits share a sync). With lazy, a
// commit leaves its record in a log buffer of WiredTiger, and a thread of the engine writes and
// syncs the log within lazy_interval_ms, so that a killed process may lose younger commits. With
// none there is no log: a committed transaction is durable after the next checkpoint. A thread of
// the engine takes checkpoints (checkpoint_interval_s, checkpoint_log_bytes), and so does the
// close.
//
// Settle takes checkpoints until no page is dirty, three at most, since a checkpoint may itself
// dirty the catalogue or the history store. WiredTiger has no other pending work then. The space
// that it freed within a file stays there for later pages.
//
// Memory: the cache (cache_size) holds pages. In addition WiredTiger has log buffers of up to 32 MB
// and a few KB per session.
#ifndef TESTBED_ENGINES_WIREDTIGER_WIREDTIGER_ENGINE_H_
#define TESTBED_ENGINES_WIREDTIGER_WIREDTIGER_ENGINE_H_

#include "engines/registry.h"

namespace testbed {

EngineInfo WiredtigerEngineInfo();

}  // namespace testbed

#endif  // TESTBED_ENGINES_WIREDTIGER_WIREDTIGER_ENGINE_H_

// BackUp copies an open database to another directory, while clients read and commit.
//
//   BackUp(store, "/backups/monday");   // from then on a database of its own
//
// The copy is what a crash leaves, and its first opening recovers it: a checkpoint, each page in
// use at that checkpoint as the data file has it at some moment later, and the log from the
// checkpoint on to an end that is taken after the last page was read. Recovery brings such pages
// forward whatever their ages, as it does after a crash: none is older than the checkpoint, and the
// log has every record of which a page has the change. So the copy is the database as it was at
// that end, with all commits that were made before the call and none in part. (The fuzzy image
// copies of Mohan et al., "ARIES", TODS 17(1), 1992, section 8.)
//
// Later checkpoints go on, but the log since the first one stays until it was copied. The time that
// a backup takes is bounded by the pages and by the log of the time in which they are copied,
// however fast commits come.
// docs/engines/btree.md has the argument ("Backup").
#ifndef TESTBED_ENGINES_BTREE_STORE_BACKUP_H_
#define TESTBED_ENGINES_BTREE_STORE_BACKUP_H_

#include <string>

#include "engines/btree/store/store.h"

namespace testbed::btree {

// Makes a durable copy of the database in the directory `to`, which is new or empty. A backup that
// was killed is no database: opening it is refused. Throws Error, and leaves `to` and the
// directories above it as they were: kUsage when `to` is not empty, or lies in the database's own
// directory; kIo when the system refuses, a full disk included; kCorruption for a page that is
// damaged; Stopped (device/os/signal_guard.h) when a signal asks for an end. Other threads may use
// the store, but only one at a time may call this.
void BackUp(Store* store, const std::string& to);

}  // namespace testbed::btree

#endif  // TESTBED_ENGINES_BTREE_STORE_BACKUP_H_

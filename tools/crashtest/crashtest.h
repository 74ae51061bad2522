// `testbed crashtest` tests whether an engine keeps its promise of durability.
//
// Clients commit transactions over several tables and indexes (crash_model.h) and record each
// acknowledgement in memory that survives them. Then comes a crash of one of three kinds: the
// clients are killed (SIGKILL); the file system below them loses power (it is shut down on a
// scratch device without flushing its log, and mounted again); or the disk below it loses power
// (device/machine/fault_disk.h: of the unflushed sectors only some survive). The crash comes while
// the clients commit, while they commit during checkpoints or compactions, in a clean close, or
// while the database is created; and sometimes again while the database recovers.
//
// Afterwards the engine's own check must find no fault. Point reads, and scans in both directions,
// must find in every table and index exactly the rows that the acknowledged transactions made. A
// client's transaction that was in flight may exist as a whole or not at all. With lazy commits,
// the transactions must exist that were acknowledged at least a lazy interval before the last ones;
// of the younger ones, those up to some point of each client may exist.
//
// docs/crash-testing.md says what the test finds and what it cannot see.
#ifndef TESTBED_TOOLS_CRASHTEST_CRASHTEST_H_
#define TESTBED_TOOLS_CRASHTEST_CRASHTEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tools/options.h"

namespace testbed {

struct CrashtestOptions {
  RunOptions run;  // engine, page size, cache, directory, scratch
  int kills = 20;
  int power_cuts = 0;   // power cuts of the file system; need root and a scratch device
  int disk_cuts = 0;    // power cuts of the disk; need FUSE too
  int disk_errors = 0;  // rounds in which the disk refuses writes; needs FUSE too
  // After a failure, continue with a new database, to count how often failures happen.
  bool go_on = false;
  int crashes_per_database = 50;  // then a new database, so that reading all rows stays short
  int writers = 4;
  uint32_t rows_per_transaction = 5;
  uint32_t longest_ms = 400;  // upper bound of the random time before a crash
  // A crash of clients waits until this many transactions of its round are acknowledged; a round
  // with fewer does not count.
  uint64_t least_commits = 5;
};

struct CrashtestResult {
  uint64_t kills = 0, power_cuts = 0, disk_cuts = 0, disk_errors = 0;
  // Of the disk errors: those that a client was told of, and those that made the engine end its
  // process. The others came too late in their round to be noticed, or were not noticed.
  uint64_t errors_told = 0, errors_ended = 0;
  uint64_t commits_acknowledged = 0;
  uint64_t commits_found_unacknowledged = 0;  // in flight at a crash and found as a whole, which is
                                              // allowed
  uint64_t rows_read = 0;
  // Of the crashes: those during a checkpoint, in a clean close, and in the creation of a database;
  // and the additional ones during the recovery from a crash.
  uint64_t in_checkpoint = 0, in_close = 0, in_creation = 0, in_recovery = 0;
  uint64_t not_created = 0;           // unfinished creations that were refused, which is allowed
  uint64_t void_rounds = 0;           // rounds with too few commits, not counted as crashes
  bool stopped = false;               // a signal ended the test early
  std::vector<std::string> failures;  // one sentence each; empty: the promise held
};

// Runs the test with a progress line. Throws Error (kUsage) when the options cannot be honoured,
// before any file is created.
CrashtestResult RunCrashtest(const CrashtestOptions& options);

}  // namespace testbed

#endif  // TESTBED_TOOLS_CRASHTEST_CRASHTEST_H_
